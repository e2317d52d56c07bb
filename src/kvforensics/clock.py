"""When did this happen, in UTC, and how do we know?

Every time that a log prints, text or number, becomes an interval of instants and the basis of that reading. Instants are
microseconds since 1970-01-01T00:00:00Z, both ends inclusive; what a text leaves open stays open in the interval.

| basis | said by the text | interval |
|---|---|---|
| `offset` | an offset, or the format's documentation says UTC (zone `UTC`) | its precision |
| `epoch` | a number since 1970 | its precision; from microseconds on a point |
| `assumed:ZONE` | local time; the zone was stated | its precision |
| `ambiguous:ZONE` | a local time that came twice there | from the first to the second |
| `nonexistent:ZONE` | a local time that was skipped there | from the one to the other reading (offset before or after) |
| `any-offset` | local time, no zone stated, or one by name alone | over all offsets in use, -12:00 to +14:00 |
| `date-only` | a day | the whole day there; over all offsets where no zone is stated |
| `missing` | nothing, or nothing readable (then `problem` says why) | none |
"""

from __future__ import annotations

from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from kvforensics.clock_columns import Decoded, decode
from kvforensics.clock_text import DAY, DAY_OR_MONTH, HOUR, MINUTE, UNKNOWN_ZONE_NAME, UNREADABLE, Told, read_text
from kvforensics.clock_zone import check_zone, day_bounds, local_offsets, stretches

__all__ = ["Reading", "check_zone", "coverage_instant", "read_instant", "read_instants", "telling"]

_FURTHEST_EAST: Final = 14 * HOUR
_FURTHEST_WEST: Final = -12 * HOUR
_COVERAGE_WIDTH: Final = 2 * HOUR
_SAYS_ITS_OFFSET: Final = r"(?:[Zz]|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\s*$|^\s*[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?\s*$"
_UTC_TEXT: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$"
_MINUTE_TEXT: Final = 16
_SCHEMA: Final = {"earliest": pl.Int64, "latest": pl.Int64, "basis": pl.String, "problem": pl.String}


class Reading(Struct, frozen=True):
    """The interval that a time covers (inclusive microseconds), its basis, and the code of what kept it from being read."""

    earliest: int | None
    latest: int | None
    basis: str
    problem: str | None = None


_MISSING: Final = Reading(None, None, "missing")


def read_instant(text: str | None, zone: str | None) -> Reading:
    """What a time text says. `zone` is the IANA zone of times without an offset, None where nobody told.

    Never raises for a text; raises `UsageError` for an unknown zone.
    """
    if zone is not None and zone != "UTC":
        check_zone(zone)
    stripped = text.strip() if text is not None else ""
    if not stripped:
        return _MISSING
    told = read_text(stripped)
    if isinstance(told, str):
        return Reading(None, None, "missing", told)
    read = _place(told, zone)
    return read if told.other is None else _either(read, _place(replace(told, local=told.other), zone))


def _either(one: Reading, other: Reading) -> Reading:
    """What holds whichever of two readings is right; one that is no time is not."""
    if one.earliest is None or one.latest is None:
        return other
    if other.earliest is None or other.latest is None:
        return one
    return Reading(min(one.earliest, other.earliest), max(one.latest, other.latest), one.basis, DAY_OR_MONTH)


def _place(told: Told, zone: str | None) -> Reading:
    """The interval in UTC of what a text says. The zone that was stated is for times that name none."""
    if told.named:
        zone = None
    offset = 0 if told.offset is None and zone == "UTC" else told.offset
    if told.kind == "date":
        if offset is None and zone is not None:
            return Reading(*day_bounds(told.local, zone), "date-only")
        east, west = (offset, offset) if offset is not None else (_FURTHEST_EAST, _FURTHEST_WEST)
        basis = "date-only"
    elif offset is not None:
        east, west, basis = offset, offset, "epoch" if told.kind == "epoch" else "offset"
    elif zone is None:
        east, west, basis = _FURTHEST_EAST, _FURTHEST_WEST, "any-offset"
    else:
        kind, east, west = local_offsets(told.local, zone)
        basis = f"{kind}:{zone}"
    if told.leap and not _may_be_leap(told.local + 1, east, west, basis):
        return Reading(None, None, "missing", UNREADABLE)
    problem = UNKNOWN_ZONE_NAME if told.named else None
    return Reading(told.local - east, told.local - west + told.precision - 1, basis, problem)


def _may_be_leap(end: int, east: int, west: int, basis: str) -> bool:
    """Whether a leap second may begin at a local time: leap seconds are put before midnight in UTC."""
    if basis == "any-offset":
        return end % (15 * MINUTE) == 0
    return (end - east) % DAY == 0 or (end - west) % DAY == 0


def read_instants(texts: pl.Series, zone: str | None) -> pl.DataFrame:
    """`read_instant` for a whole column: `earliest`, `latest`, `basis`, `problem`, one row for each text, in order.

    Instants that are none of text have microseconds.
    """
    if zone is not None:
        check_zone(zone)
    if texts.dtype.is_temporal():
        at = texts.dt.epoch("us")
        basis = pl.Series(["offset"]).new_from_index(0, len(texts))
        told = {"earliest": at, "latest": at, "basis": basis.set(at.is_null(), "missing") if at.null_count() else basis}
        return pl.DataFrame(told | {"problem": pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))})
    texts = texts.cast(pl.String)
    parts = [_column(found, zone) for found in decode(texts)]
    if len(parts) == 1 and parts[0].height == texts.len():
        return parts[0].drop("row")
    rows = pl.DataFrame({"row": pl.int_range(texts.len(), dtype=pl.UInt32, eager=True), "t": texts})
    if parts:
        rest = rows.filter(~_seen(parts, texts.len()))
        parts.append(_one_by_one(rest, zone))
        return pl.concat(parts).sort("row").drop("row")
    return _one_by_one(rows, zone).drop("row")


def _seen(parts: list[pl.DataFrame], height: int) -> pl.Series:
    seen = pl.repeat(value=False, n=height, dtype=pl.Boolean, eager=True)
    for part in parts:
        seen = seen.scatter(part["row"], values=True)
    return seen


def _one_by_one(rows: pl.DataFrame, zone: str | None) -> pl.DataFrame:
    """The texts that have no common layout, each distinct one read once."""
    distinct = rows["t"].unique()
    read = [read_instant(t, zone) for t in distinct]
    table = pl.DataFrame(
        {
            "t": distinct,
            "earliest": [r.earliest for r in read],
            "latest": [r.latest for r in read],
            "basis": [r.basis for r in read],
            "problem": [r.problem for r in read],
        },
        schema={"t": pl.String, **_SCHEMA},
    )
    return rows.join(table, on="t", how="left", nulls_equal=True, maintain_order="left").drop("t")


def _column(found: Decoded, zone: str | None) -> pl.DataFrame:
    """The intervals of rows of one layout."""
    local, last = pl.col("local"), found.precision - 1
    if found.offset:
        return _intervals(found.frame, local - pl.col("offset"), local - pl.col("offset") + last, pl.lit("offset"))
    if found.offset is None or zone == "UTC":
        return _intervals(found.frame, local, local + last, pl.lit("epoch" if found.offset is None else "offset"))
    if zone is None:
        return _intervals(found.frame, local - _FURTHEST_EAST, local - _FURTHEST_WEST + last, pl.lit("any-offset"))
    days = found.frame.select(first=local.min() // DAY, last=local.max() // DAY).row(0)
    if days[0] is None:
        return _intervals(found.frame, local, local, pl.lit("offset"))
    table = stretches(*days, zone)
    starts = pl.Series([s.start for s in table], dtype=pl.Int64)
    if len(table) == 1:
        east, west, kind = pl.lit(table[0].east), pl.lit(table[0].west), pl.lit(f"{table[0].kind}:{zone}")
        return _intervals(found.frame, local - east, local - west + last, kind)
    at = starts.search_sorted(found.frame["local"], side="right") - 1
    frame = found.frame.with_columns(
        east=pl.Series([s.east for s in table], dtype=pl.Int64).gather(at),
        west=pl.Series([s.west for s in table], dtype=pl.Int64).gather(at),
        kind=pl.Series([f"{s.kind}:{zone}" for s in table], dtype=pl.String).gather(at),
    )
    return _intervals(frame, local - pl.col("east"), local - pl.col("west") + last, pl.col("kind"))


def _intervals(frame: pl.DataFrame, earliest: pl.Expr, latest: pl.Expr, basis: pl.Expr) -> pl.DataFrame:
    return frame.select(
        pl.col("row").cast(pl.UInt32), earliest.alias("earliest"), latest.alias("latest"), basis.alias("basis"),
        pl.lit(None, pl.String).alias("problem"),
    )  # fmt: skip


def coverage_instant(texts: pl.Series, zone: str | None) -> pl.Series:
    """The earliest instant of each text, null where it is unreadable or its interval is wider than two hours.

    Good enough to see when a log was written; not for judging a record.
    """
    read = read_instants(texts, zone)
    narrow = (pl.col("latest") - pl.col("earliest")) <= _COVERAGE_WIDTH
    return read.select(pl.when(narrow).then("earliest").alias("instant"))["instant"]


def telling(texts: pl.Series) -> tuple[pl.Series, bool | None]:
    """Texts that cover the same minutes, with the same first and last, as all of them; and whether each says its offset.

    None where there is no text. Most logs write one form of UTC, in which text order is time order, so that a few of many
    times tell it all.
    """
    texts = texts.drop_nulls()
    if texts.is_empty():
        return texts, None
    if texts.dtype.is_temporal():
        minutes = texts.dt.epoch("us") // MINUTE
        new = (minutes != minutes.shift(1)).fill_null(value=True)
        return pl.concat([texts.filter(new), pl.Series([texts.min(), texts.max()], dtype=texts.dtype)]), True
    one_form = texts.str.len_bytes().n_unique() == 1 and texts.str.contains(_UTC_TEXT).all()
    if not one_form:
        return texts, bool(texts.str.contains(_SAYS_ITS_OFFSET).all())
    minute = texts.str.slice(0, _MINUTE_TEXT)
    new = (minute != minute.shift(1)).fill_null(value=True)
    return pl.concat([texts.filter(new), pl.Series([texts.min(), texts.max()], dtype=pl.String)]), True
