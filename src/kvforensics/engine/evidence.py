"""What do engine logs hold, read once?

Time statistics, answers (request logs and metrics exports) and events each have a table of their own, as they have little
in common and are millions; what starts of nodes told is kept beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import polars as pl
from msgspec import Struct

from kvforensics.engine.answers import AnswerReader
from kvforensics.engine.bare_lines import Lane
from kvforensics.engine.lines import SourceReport, read_lines
from kvforensics.engine.packed import Packed
from kvforensics.engine.records import SCHEMA, WANTED, RecordReader
from kvforensics.engine.startup import WANTED as START_WANTED
from kvforensics.engine.startup import NodeStart, StartReader
from kvforensics.source import Source, find_sources
from kvforensics.workers import PARALLEL_FROM, count, pool

REPEATED = ("source", "node", "kind", "role", "finish", "host", "tenant")
"""Columns of few different texts."""
ANSWERS = ("finish", "export")
_KINDS: dict[str, tuple[str, ...]] = {
    "stats": (
        "source", "line", "node", "local_us", "utc_us", "dp", "tp", "kind", "role", "rid", "room", "prompt_tokens",
        "cached_tokens", "output_tokens", "entry_us", "bootstrap_us", "wait_us", "transfer_us", "queue_us", "forward_us",
        "transfer_bytes", "tenant",
    ),
    "answers": (
        "source", "line", "node", "local_us", "utc_us", "dp", "kind", "rid", "room", "prompt_tokens", "cached_tokens",
        "output_tokens", "finish", "finish_length", "status", "received_us", "answered_us", "finished_us", "host", "tenant",
    ),
    "events": tuple(SCHEMA),
}  # fmt: skip
_TYPES = {name: pl.Categorical() if name in REPEATED else kind for name, kind in SCHEMA.items()}
_WANTED = re.compile(WANTED.pattern + b"|" + START_WANTED.pattern)


class Evidence(Struct, frozen=True):
    """All rows, source by source, what starts told, and what was read. Columns are those of `records.SCHEMA`."""

    stats: Packed
    answers: Packed
    events: Packed
    starts: tuple[NodeStart, ...]
    inputs: tuple[SourceReport, ...]

    def records(self, rooms: pl.DataFrame | None = None) -> pl.DataFrame:
        """All rows in one table; with `rooms`, only those of requests whose room is among these."""
        if rooms is None:
            tables = [t.whole() for t in (self.stats, self.answers, self.events)]
        else:
            tables = [p.join(rooms, on="room", how="semi") for t in (self.stats, self.answers) for p in t.pieces()]
        return pl.concat([pl.DataFrame(schema=_TYPES), *tables], how="diagonal")


class _Tables:
    """Collects rows by kind."""

    def __init__(self) -> None:
        self.tables = {name: Packed({c: _TYPES[c] for c in columns}) for name, columns in _KINDS.items()}

    def take(self, rows: pl.DataFrame) -> None:
        """Keep rows that may be of any kind, and may lack columns of it."""
        kind = pl.col("kind")
        for name, here in (("stats", kind == "stats"), ("answers", kind.is_in(ANSWERS))):
            self._add(name, rows.filter(here))
        self._add("events", rows.filter((kind != "stats") & ~kind.is_in(ANSWERS)))

    def _add(self, name: str, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            return
        self.tables[name].add(rows.select(
            (pl.col(c) if c in rows.columns else pl.lit(None)).cast(_TYPES[c], strict=False).alias(c) for c in _KINDS[name]
        ))  # fmt: skip


class _Read(Struct, frozen=True):
    starts: list[NodeStart]
    report: SourceReport


def read_evidence(paths: tuple[str, ...], tenant_by: str | None, workers: int = 1) -> Evidence:
    """Read engine logs. Raises `UsageError` for a path that cannot be read."""
    rows = _Tables()
    read = list(_read_all(find_sources(paths), tenant_by, workers, rows))
    starts = tuple(start for one in read for start in one.starts)
    return Evidence(**rows.tables, starts=starts, inputs=tuple(one.report for one in read))


def _read_all(sources: Sequence[Source], tenant_by: str | None, workers: int, rows: _Tables) -> Iterator[_Read]:
    large = sum(s.size or 0 for s in sources) >= PARALLEL_FROM
    if count(workers) < 2 or not large:
        yield from (_read(s, tenant_by, None, rows) for s in sources)
        return
    with pool(count(workers)) as processes:
        yield from (_read(s, tenant_by, processes, rows) for s in sources)


def _read(source: Source, tenant_by: str | None, processes: ProcessPoolExecutor | None, rows: _Tables) -> _Read:
    report, starts = SourceReport(source.name), StartReader()
    records = RecordReader(AnswerReader(tenant_by))
    for line in read_lines(source, _WANTED, report, Lane(source.name, tenant_by, rows.take, processes)):
        text = line.text.encode("utf-8", "replace")
        if WANTED.search(text):
            records.take(line)
        # A gateway is no node.
        if START_WANTED.search(text) and "http_request" not in line.text:
            starts.take(line)
        if records.is_full:
            rows.take(records.rows())
    rows.take(records.rows())
    return _Read(starts.starts, report)
