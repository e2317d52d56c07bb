"""Do all the pieces add up?

Adds what the scanners found to the ledger of each source, gives every record its absolute line, and hands all of it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field
from msgspec.structs import replace

from kvforensics.bucket import joined
from kvforensics.child_status import add_statuses
from kvforensics.counts import Settled
from kvforensics.coverage import LogCoverage
from kvforensics.families import settle
from kvforensics.formats import all_formats
from kvforensics.observed import InputReport, Seen, activity_of, coverage_of, presence_of
from kvforensics.piece import EMPTY
from kvforensics.plan import Plan
from kvforensics.plural import counted
from kvforensics.scanned import MOST_INTERVALS, Scanned, Tally
from kvforensics.sealed import WRONG_KEY
from kvforensics.silence import Presence
from kvforensics.source import Source
from kvforensics.spooled import RAW_SCHEMA, Spool
from kvforensics.sums import SumLog
from kvforensics.ties import LeftOut

_SAMPLED_SPOTS = ("sampled", "sample_rate", "sampling")

_LEFT_OUT = ("off_model_dropped", *(f"settled_{part}" for part in Settled._fields))


class Ingested(Struct, frozen=True):
    """Everything that the later stages need."""

    inputs: tuple[InputReport, ...]
    records: pa.Table
    spool: Spool
    off_model_dropped: int
    settled: Settled
    coverage: tuple[LogCoverage, ...]
    activity: pa.Table
    """In which minutes of an hour each source has a record of any kind; hours without one have no row."""
    warnings: tuple[tuple[str, str], ...]
    presence: tuple[Presence, ...] = ()
    sums: tuple[SumLog, ...] = ()
    seen: tuple[Seen, ...] = ()

    def raw(self, records: pa.Table) -> Iterator[bytes]:
        """The bytes of records that may be flagged, given by `source` and `line`; Parquet has none."""
        for report in self.inputs:
            here = records.filter(pc.equal(records["source"], report.source))["line"]
            for batch in self.spool.raw.of(report.source) if len(here) else ():
                yield from batch.filter(pc.is_in(batch["line"], value_set=here.cast(pa.int64())))["raw"].to_pylist()

    def rejected(self) -> Iterator[pa.RecordBatch]:
        """Everything that was rejected, by source in their order and line; see `spooled.REJECT_SCHEMA`."""
        for report in self.inputs:
            yield from self.spool.rejects.of(report.source)


class SourceState(Struct):
    """A source while it is being read."""

    source: Source
    left_out: LeftOut
    spool: Spool
    plan: Plan | None = None
    tally: Tally = field(default_factory=Tally)
    minutes: set[int] = field(default_factory=set)
    buckets: list[pl.DataFrame] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: bool = False
    sha256: str | None = None
    bytes: int = 0
    zone: str | None = None
    mentions: bool = False
    statuses: dict[tuple[str, str], int] = field(default_factory=dict)


def add_piece(state: SourceState, piece: Scanned) -> None:
    """Add a piece: its lines are counted from its own start, so they move by the lines before it."""
    before, tally = state.tally.lines, state.tally
    t = piece.tally
    if piece.records is not None:
        records = _moved(piece.records, before)
        state.tables.append(records.drop_columns(["raw"]))
        state.spool.raw.add(state.source.name, records.select(RAW_SCHEMA.names).filter(pc.is_valid(records["raw"])))
    if piece.rejects is not None:
        state.spool.rejects.add(state.source.name, _moved(piece.rejects, before))
    for key in ("lines", "records", "rejected", "blank", "framing", "bytes", "stumps", *_LEFT_OUT):
        setattr(tally, key, getattr(tally, key) + getattr(t, key))
    tally.problem = tally.problem or t.problem
    tally.mentions |= t.mentions
    tally.sampled |= t.sampled
    tally.intervals = sorted({*tally.intervals, *t.intervals}, reverse=True)[:MOST_INTERVALS]
    for counts, more in ((tally.formats, t.formats), (tally.framing_by, t.framing_by)):
        for known, count in more.items():
            counts[known] = counts.get(known, 0) + count
    tally.sealed.add(t.sealed)
    if t.says_offset is not None:
        tally.says_offset = t.says_offset and tally.says_offset is not False
    if t.first_us is not None and t.last_us is not None:
        tally.first_us = t.first_us if tally.first_us is None else min(tally.first_us, t.first_us)
        tally.last_us = t.last_us if tally.last_us is None else max(tally.last_us, t.last_us)
    state.minutes.update(piece.minutes)
    state.left_out.add(piece.left_out)
    add_statuses(state.statuses, piece.statuses)
    if piece.buckets is not None:
        state.buckets = [joined([*state.buckets, piece.buckets])]


def _moved(table: pa.Table, lines: int) -> pa.Table:
    """The table with each of its lines so many lines further down."""
    at = table.schema.get_field_index("line")
    return table.set_column(at, "line", pc.add(table.column(at), lines)) if lines else table


def gather(states: Sequence[SourceState], spool: Spool) -> Ingested:
    """All sources together; a ledger that does not add up makes its source broken evidence."""
    inputs, warnings = [], []
    # A layer that is a log of its own has a format of its name, also where all of its units turned out to be calls.
    known = {f.name: f for f in (*all_formats(), *(f for s in states if s.plan for f in s.plan.formats))}
    for state in states:
        t, source = state.tally, state.source
        if t.problem:
            state.problems.append(t.problem)
            state.broken = True
        state.problems += t.sealed.problems()
        main = state.plan.main_format if state.plan else None
        fmt = main.name if main else state.plan.main if state.plan else None
        if t.lines != t.records + t.rejected + t.blank + t.framing:
            state.problems.append("ledger_does_not_add_up")
            state.broken = True
        if t.formats:
            fmt = max(t.formats, key=lambda n: (t.formats[n], n))
        spots = known[fmt].blind_spots if fmt in known else ()
        if state.plan and fmt:
            inner, fmt = fmt, state.plan.shown(fmt)
            layers = {w.name: w.blind_spots for w in state.plan.wrappers} | {n: f.blind_spots for n, f in known.items()}
            around = [spot for n in fmt.split(" > ") if n != inner for spot in layers.get(n, ())]
            if inner in known and not known[inner].holds_prompts:
                around = [replace(spot, hides_long=False) for spot in around]
            spots = (*spots, *around)
        blind = tuple(s.code for s in spots if s.hides_long)
        if t.sealed.no_key:
            told = f"{counted(t.sealed.no_key, 'record')} of {source.name} with encrypted fields; --private-key FILE opens them"
            warnings.append(("encrypted_fields", told))
        if t.sealed.wrong_key:
            told = f"{t.sealed.wrong_key:,} of {t.sealed.records:,} encrypted records of {source.name}"
            warnings.append((WRONG_KEY, f"{told} were made for another key than the private key given"))
        if state.mentions:
            warnings.append(("not_understood_mentions_model", f"{source.name} was not understood but names the model"))
        inputs.append(
            InputReport(
                source.name, source.argument_index, fmt, state.sha256, state.bytes, t.lines, t.records, t.rejected,
                t.blank, t.framing, state.zone or "any-offset", tuple(state.problems), state.broken,
                state.plan is not None, t.mentions or state.mentions, t.sampled, blind, tuple(sorted(t.formats.items())),
                tuple(sorted(t.framing_by.items())), t.says_offset is True, t.stumps, bool(state.buckets),
                tuple(t.intervals), any(s.code in _SAMPLED_SPOTS for s in spots),
            )
        )  # fmt: skip
    records = [table for s in states for table in s.tables]
    seen = tuple(
        Seen(report, pa.array(sorted(s.minutes), type=pa.int64()), s.tally.first_us, s.tally.last_us)
        for s, report in zip(states, inputs, strict=True)
    )
    table = pa.concat_tables(records) if records else EMPTY.drop_columns(["raw"])
    statuses: dict[tuple[str, str], int] = {}
    for state in states:
        add_statuses(statuses, state.statuses)
    table = settle(table, statuses)
    return Ingested(
        tuple(inputs), table, spool,
        sum(s.tally.off_model_dropped for s in states),
        Settled(*(sum(getattr(s.tally, f"settled_{part}") for s in states) for part in Settled._fields)),
        coverage_of(seen), activity_of(seen), tuple(warnings), presence_of(seen), tuple(_sums(states)), seen,
    )  # fmt: skip


def _sums(states: Sequence[SourceState]) -> Iterator[SumLog]:
    """The logs of sums: the files of one format under one argument, as for coverage."""
    logs: dict[tuple[int, str], list[SourceState]] = {}
    for state in states:
        if state.buckets and state.plan:
            logs.setdefault((state.source.argument_index, state.plan.main), []).append(state)
    for (_, name), members in logs.items():
        names = ", ".join(m.source.name for m in members[:3]) + (" ..." if len(members) > 3 else "")
        yield SumLog(f"{name}: {names}", joined([b for m in members for b in m.buckets]))
