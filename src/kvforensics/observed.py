"""What did each input show when it was read, and in which minutes has it records?

From this follow the logs that coverage is about and the presence of each source, also long after the inputs themselves are
gone: a case keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from msgspec import Struct

from kvforensics.coverage import LogCoverage
from kvforensics.silence import Presence

HOUR_US = 3_600_000_000
ACTIVITY_SCHEMA = pa.schema(
    [("source", pa.string()), ("hour", pa.timestamp("us", "UTC")), ("minutes", pa.int64()), ("mask", pa.int64())]
)
"""`minutes` counts the minutes of the hour with a record, `mask` has a bit for each of them, the first minute the lowest."""
_KEPT = ("argument_index", "broken", "understood", "mentions_model_in_rejects", "sampled", "stumps", "aggregates",
         "may_be_sampled")  # fmt: skip
Json = Mapping[str, Any]


class InputReport(Struct, frozen=True):
    """The ledger line of one source."""

    source: str
    argument_index: int
    format: str | None
    sha256: str | None
    bytes: int
    lines: int
    records: int
    rejected: int
    blank: int
    framing: int
    timezone: str
    problems: tuple[str, ...]
    broken: bool
    understood: bool
    mentions_model_in_rejects: bool
    sampled: bool
    blind: tuple[str, ...]
    formats: tuple[tuple[str, int], ...] = ()
    """How many records each format had."""
    framing_by: tuple[tuple[str, int], ...] = ()
    """How many lines are framing for which reason, where there is one to tell."""
    says_offset: bool = False
    """Whether every time of a record says its offset."""
    stumps: int = 0
    """How many units are of no format but look like what damage leaves of a record."""
    aggregates: bool = False
    intervals: tuple[float, ...] = ()
    """How many requests a record that may be on the model stands for, where that is more than one; largest first."""
    may_be_sampled: bool = False
    """Whether the format says that such a log can be a sample."""


class Seen(Struct, frozen=True):
    """An input with the minutes since 1970 in which it has a record of any kind, and its first and last instant."""

    report: InputReport
    minutes: pa.Array
    first_us: int | None
    last_us: int | None


def coverage_of(seen: Sequence[Seen]) -> tuple[LogCoverage, ...]:
    """The logs: the files of one format under one argument."""
    logs: dict[tuple[int, str], list[Seen]] = {}
    for one in seen:
        if one.report.format:
            logs.setdefault((one.report.argument_index, one.report.format), []).append(one)
    return tuple(_log(name, members) for (_, name), members in logs.items())


def _log(name: str, members: Sequence[Seen]) -> LogCoverage:
    reports = [m.report for m in members]
    names = ", ".join(r.source for r in reports[:3])
    minutes = pl.concat([_column(m.minutes) for m in members]).unique().sort()
    return LogCoverage(
        log=f"{name}: {names}{' ...' if len(members) > 3 else ''}",
        minutes=minutes.to_arrow(),
        first_us=min((m.first_us for m in members if m.first_us is not None), default=None),
        last_us=max((m.last_us for m in members if m.last_us is not None), default=None),
        sampled=any(r.sampled for r in reports),
        blind=tuple(sorted({b for r in reports for b in r.blind})),
        lines=sum(r.lines for r in reports),
        rejected=sum(r.rejected for r in reports),
        members=tuple(r.source for r in reports),
    )


def _column(minutes: pa.Array) -> pl.Series:
    return pl.Series(minutes, dtype=pl.Int64)


def presence_of(seen: Sequence[Seen]) -> tuple[Presence, ...]:
    """When each source has records; sums are no presence."""
    return tuple(
        Presence(s.report.source, s.minutes, s.report.records, s.first_us, s.last_us)
        for s in seen
        if s.report.format and not s.report.aggregates
    )


def activity_of(seen: Sequence[Seen]) -> pa.Table:
    """The minutes of all inputs as a table, `ACTIVITY_SCHEMA`."""
    minute = pl.col("minute")
    tables = []
    for one in seen:
        hours = pl.DataFrame({"minute": _column(one.minutes)}).group_by((minute // 60).alias("hour"), maintain_order=True).agg(
            pl.len().alias("minutes"), pl.lit(2, pl.Int64).pow(minute % 60).bitwise_or().alias("mask")
        )  # fmt: skip
        table = hours.select(pl.lit(one.report.source).alias("source"), pl.col("hour") * HOUR_US, "minutes", "mask")
        tables.append(table.to_arrow().cast(ACTIVITY_SCHEMA))
    return pa.concat_tables(tables) if tables else ACTIVITY_SCHEMA.empty_table()


def told(seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """What a case keeps of the inputs beside their ledger and their minutes, in the order of the inputs."""
    return [
        {
            **{key: getattr(one.report, key) for key in _KEPT},
            "blind": list(one.report.blind), "intervals": list(one.report.intervals),
            "first_us": one.first_us, "last_us": one.last_us,
        }
        for one in seen
    ]  # fmt: skip


def retold(inputs: Sequence[Json], kept: Sequence[Json], activity: pa.Table) -> tuple[Seen, ...]:
    """The inputs as they were seen, from the ledger, from what `told` kept, and from their minutes."""
    minutes = _minutes(activity)
    return tuple(
        Seen(_report(i, k), pa.array(minutes.get(i["source"], ()), type=pa.int64()), k["first_us"], k["last_us"])
        for i, k in zip(inputs, kept, strict=True)
    )


def _report(entry: Json, kept: Json) -> InputReport:
    ledger = ("source", "format", "sha256", "bytes", "lines", "records", "rejected", "blank", "framing", "timezone")
    return InputReport(
        **{key: entry[key] for key in ledger}, **{key: kept[key] for key in _KEPT}, problems=tuple(entry["problems"]),
        blind=tuple(kept["blind"]), intervals=tuple(kept["intervals"]), says_offset=entry["timezone"] == "offset",
    )  # fmt: skip


def _minutes(activity: pa.Table) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for source, hour_us, mask in _rows(activity):
        first = hour_us // HOUR_US * 60
        found.setdefault(source, []).extend(first + bit for bit in range(60) if mask >> bit & 1)
    return found


def _rows(activity: pa.Table) -> Iterator[tuple[str, int, int]]:
    columns = (activity["source"], activity["hour"].cast(pa.int64()), activity["mask"])
    return zip(*(column.to_pylist() for column in columns), strict=True)
