"""What do engine logs hold, read once?

Time statistics, answers (request logs and metrics exports) and events each have a table of their own, as they have little
in common and are millions; what starts of nodes told is kept beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import polars as pl

from kvforensics.engine.answers import AnswerReader
from kvforensics.engine.bare_lines import Lane
from kvforensics.engine.lines import SourceReport, read_lines
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
_FRAMES = 256
"""Small tables that are put together to a larger one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All rows, source by source, what starts told, and what was read. Columns are those of `records.SCHEMA`."""

    stats: pl.DataFrame
    answers: pl.DataFrame
    events: pl.DataFrame
    starts: tuple[NodeStart, ...]
    inputs: tuple[SourceReport, ...]

    def records(self, rooms: pl.DataFrame | None = None) -> pl.DataFrame:
        """All rows in one table; with `rooms`, only those of requests whose room is among these."""
        if rooms is None:
            tables = [self.stats, self.answers, self.events]
        else:
            tables = [t.join(rooms, on="room", how="semi") for t in (self.stats, self.answers)]
        return pl.concat([pl.DataFrame(schema=_TYPES), *tables], how="diagonal")


@dataclass(slots=True)
class _Tables:
    """Collects rows by kind."""

    tables: dict[str, list[pl.DataFrame]] = field(default_factory=lambda: {name: [] for name in _KINDS})

    def take(self, rows: pl.DataFrame) -> None:
        """Keep rows that may be of any kind, and may lack columns of it."""
        kind = pl.col("kind")
        for name, here in (("stats", kind == "stats"), ("answers", kind.is_in(ANSWERS))):
            self._add(name, rows.filter(here))
        self._add("events", rows.filter((kind != "stats") & ~kind.is_in(ANSWERS)))

    def _add(self, name: str, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            return
        wanted = [
            (pl.col(c) if c in rows.columns else pl.lit(None)).cast(_TYPES[c], strict=False).alias(c) for c in _KINDS[name]
        ]
        kept = self.tables[name]
        kept.append(rows.select(wanted))
        if len(kept) > _FRAMES:
            kept[:] = [*kept[:-_FRAMES], pl.concat(kept[-_FRAMES:], rechunk=True)]

    def whole(self) -> dict[str, pl.DataFrame]:
        """One table a kind. The order is nearly that of the lines, and the same each time; sorting would need a copy."""
        return {
            name: pl.concat([pl.DataFrame(schema={c: _TYPES[c] for c in columns}), *self.tables.pop(name)])
            for name, columns in _KINDS.items()
        }


@dataclass(frozen=True, slots=True)
class _Read:
    tables: dict[str, pl.DataFrame]
    starts: list[NodeStart]
    report: SourceReport


def read_evidence(paths: tuple[str, ...], tenant_by: str | None, workers: int = 1) -> Evidence:
    """Read engine logs. Raises `UsageError` for a path that cannot be read."""
    read = list(_read_all(find_sources(paths), tenant_by, workers))
    tables = {
        name: pl.concat([pl.DataFrame(schema={c: _TYPES[c] for c in columns}), *(one.tables[name] for one in read)])
        for name, columns in _KINDS.items()
    }
    starts = tuple(start for one in read for start in one.starts)
    return Evidence(**tables, starts=starts, inputs=tuple(one.report for one in read))


def _read_all(sources: Sequence[Source], tenant_by: str | None, workers: int) -> Iterator[_Read]:
    large = sum(s.size or 0 for s in sources) >= PARALLEL_FROM
    if count(workers) < 2 or not large:
        yield from (_read(s, tenant_by, None) for s in sources)
        return
    with pool(count(workers)) as processes:
        yield from (_read(s, tenant_by, processes) for s in sources)


def _read(source: Source, tenant_by: str | None, processes: ProcessPoolExecutor | None) -> _Read:
    report, tables, starts = SourceReport(source.name), _Tables(), StartReader()
    records = RecordReader(AnswerReader(tenant_by))
    for line in read_lines(source, _WANTED, report, Lane(source.name, tenant_by, tables.take, processes)):
        text = line.text.encode("utf-8", "replace")
        if WANTED.search(text):
            records.take(line)
        # A gateway is no node.
        if START_WANTED.search(text) and "http_request" not in line.text:
            starts.take(line)
        if records.is_full:
            tables.take(records.rows())
    tables.take(records.rows())
    return _Read(tables.whole(), starts.starts, report)
