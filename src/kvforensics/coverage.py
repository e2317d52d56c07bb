"""Which part of the window does the evidence cover?

Pure. A log is the files of one format under one argument. It covers the window if it has records before its start and
after its end, is never silent for too long in between, and would have kept a record of the kind that is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
from msgspec import Struct

from kvforensics.spans import intersect, subtract, union

MINUTE_US = 60_000_000
Gap = tuple[int, int]


class LogCoverage(Struct, frozen=True):
    """What was seen of one log.

    `minutes` are the minutes since 1970 in which it has a record of any kind, sorted, without repeats; `first_us` and
    `last_us` its first and last instant. `blind` are the codes of what it cannot show of a very long prompt.
    """

    log: str
    minutes: pa.Array
    first_us: int | None
    last_us: int | None
    sampled: bool
    blind: tuple[str, ...]
    lines: int
    rejected: int
    members: tuple[str, ...] = ()
    """The sources of the log."""

    @property
    def too_many_rejects(self) -> bool:
        """Whether more than one line in a hundred was no record."""
        return self.rejected * 100 > self.lines


class LogJudgement(Struct, frozen=True):
    """What one log covers, and if not the window, why.

    Shortcomings are `no_records_before`, `no_records_after`, `silence`, `sampled`, `too_many_rejects`, `blind:CODE`. Gaps are
    in microseconds, within the window.
    """

    log: str
    first_us: int | None
    last_us: int | None
    covers_window: bool
    gaps: tuple[Gap, ...]
    shortcomings: tuple[str, ...]


class Coverage(Struct, frozen=True):
    """All logs together.

    `gaps` are the times of the window that no log covers; `assumed` says that completeness is the user's word; `unbounded`
    that a sampled log covers a part of the window that no complete log covers.
    """

    first_us: int | None
    last_us: int | None
    window_covered: bool
    assumed: bool
    unbounded: bool
    gaps: tuple[Gap, ...]
    logs: tuple[LogJudgement, ...]


def cover(
    logs: Sequence[LogCoverage],
    *,
    start_us: int,
    until_us: int,
    max_gap_us: int,
    assume_complete: bool = False,
    cleared: Sequence[Gap] = (),
) -> Coverage:
    """Judge all logs against the window from `start_us` to `until_us` (the end of its uncertain tail).

    `cleared` are times in which sums over all requests prove that none was affected: they stand in for records there.
    """
    judged = tuple(_judge(log, start_us, until_us, max_gap_us) for log in logs)
    proved = union(cleared)
    window = ((start_us, until_us),)
    covered = (
        assume_complete
        or any(j.covers_window or _filled(j, proved) for j in judged)
        or not subtract(window, proved)
    )
    gaps: tuple[Gap, ...] = ()
    if not covered:
        gaps = window
        for j in judged:
            gaps = intersect(gaps, j.gaps)
        gaps = subtract(gaps, proved)
    return Coverage(
        first_us=min((j.first_us for j in judged if j.first_us is not None), default=None),
        last_us=max((j.last_us for j in judged if j.last_us is not None), default=None),
        window_covered=covered,
        assumed=assume_complete,
        unbounded=any(_unbounded(log, logs, start_us, until_us, max_gap_us) for log in logs if log.sampled),
        gaps=gaps,
        logs=judged,
    )


def _judge(log: LogCoverage, start_us: int, until_us: int, max_gap_us: int) -> LogJudgement:
    gaps = _gaps(log, start_us, until_us, max_gap_us)
    short = []
    if log.first_us is None or log.first_us >= start_us:
        short.append("no_records_before")
    if log.last_us is None or log.last_us < until_us:
        short.append("no_records_after")
    if _silences(log, start_us, until_us, max_gap_us):
        short.append("silence")
    if log.sampled:
        short.append("sampled")
    if log.too_many_rejects:
        short.append("too_many_rejects")
    short += [f"blind:{code}" for code in log.blind]
    return LogJudgement(log.log, log.first_us, log.last_us, not short, gaps, tuple(short))


def _filled(judged: LogJudgement, cleared: Sequence[Gap]) -> bool:
    """Whether sums clear all that a log lacks, where it lacks nothing but time."""
    lacks_time_only = set(judged.shortcomings) <= {"no_records_before", "no_records_after", "silence"}
    return bool(cleared) and lacks_time_only and bool(judged.gaps) and not subtract(judged.gaps, cleared)


def _silences(log: LogCoverage, from_us: int, to_us: int, max_gap_us: int) -> tuple[Gap, ...]:
    """Silences between two records that are longer than allowed and reach into the time, cut to it. To the minute."""
    minutes = pl.DataFrame({"from": pl.Series(log.minutes, dtype=pl.Int64) * MINUTE_US})
    long = minutes.with_columns(pl.col("from").shift(-1).alias("to")).filter(pl.col("to") - pl.col("from") > max_gap_us)
    found: list[Gap] = list(long.iter_rows())
    return tuple((max(a, from_us), min(b, to_us)) for a, b in found if a < to_us and b > from_us)


def _gaps(log: LogCoverage, start_us: int, until_us: int, max_gap_us: int) -> tuple[Gap, ...]:
    if log.first_us is None or log.last_us is None or log.first_us >= until_us or log.last_us < start_us:
        return ((start_us, until_us),)
    before = ((start_us, log.first_us),) if log.first_us > start_us else ()
    after = ((log.last_us, until_us),) if log.last_us < until_us else ()
    return (*before, *_silences(log, start_us, until_us, max_gap_us), *after)


def _unbounded(
    sampled: LogCoverage, logs: Sequence[LogCoverage], start_us: int, until_us: int, max_gap_us: int
) -> bool:
    """Whether no complete log covers the part of the window that a sampled log has records of."""
    if sampled.first_us is None or sampled.last_us is None:
        return True
    from_us, to_us = max(sampled.first_us, start_us), min(sampled.last_us, until_us)
    if from_us > to_us:
        return False
    return not any(
        log.first_us is not None and log.first_us <= from_us
        and log.last_us is not None and log.last_us >= to_us
        and not log.sampled and not log.blind and not log.too_many_rejects
        and not _silences(log, from_us, to_us, max_gap_us)
        for log in logs
    )  # fmt: skip
