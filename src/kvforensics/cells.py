"""What do the cells of a column say as texts, and which could hold more than they show?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any

import polars as pl
from msgspec import Struct

from kvforensics.arrow_types import ENTRY
from kvforensics.masks import Mask, some
from kvforensics.paths import fold, text_of
from kvforensics.raw import SPECIAL, TIMES
from kvforensics.slot_text import LONGEST, TICKS, UNITS, slot_text
from kvforensics.value_reading import READINGS

_OPENS = r"^[\s\x1c-\x1f]*[{\[]|data:"
"""What a text that may be opened looks like; `paths.embedded` opens no other."""
_PLAIN_TIMES = (946_684_800, 4_102_444_799)
"""The first and last second of the years that every log writes in the same form."""
_YEARS = (-62_135_596_800, 253_402_300_799)
"""The first and last second of the years 1 to 9999."""
_YEAR_DAYS = (_YEARS[0] // 86_400, _YEARS[1] // 86_400)
_SECONDS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_TEXT = pl.String
_WHOLE_UNITS = {unit: int(us) for unit, us in UNITS.items() if us >= 1}
COUNTS = ("prompt", "cache_read", "cache_write", "completion", "total", "request_bytes")
_FITTING = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


class Cell(Struct, frozen=True):
    """Where a path leads in a table: a column (None for none), whether it goes on inside, and what to look for there."""

    column: str | None
    deep: bool = False
    anywhere: bool = False
    inside: str | None = None
    """An expression that the text of a cell must match for the path to lead anywhere in it, None for any text."""


class Batch:
    """One table, and what was found out about its columns."""

    def __init__(self, frame: pl.DataFrame, wanted: Mapping[str, str | None]) -> None:
        """`wanted`: for each column an expression that every text matches in which a path may lead anywhere."""
        self.frame = frame
        self._known = {n for n, nulls in zip(frame.columns, frame.null_count().row(0), strict=True) if nulls < frame.height}
        self._wanted = wanted
        self._opens: dict[str, pl.Series | None] = {}

    def get(self, name: str | None) -> pl.Series | None:
        """A column, None where it holds nothing."""
        return self.frame[name] if name is not None and name in self._known else None

    def may_hold(self, name: str, inside: str | None) -> Mask:
        """Which cells of a column are texts that may be opened and may have a wanted key inside; None where none is."""
        if name not in self._opens:
            held = self.get(name)
            self._opens[name] = None if held is None else holding(held, self._wanted.get(name))
        found = self._opens[name]
        if found is None or inside is None:
            return found
        return some(found & self.frame[name].str.contains(inside).fill_null(value=False))


def plain_columns(frame: pl.DataFrame, *, times: bool = True) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The frame with values as JSON would say them, times, spans and bytes as text, and the names of columns of other values.

    Without `times`, times stay as they are until `told` tells them.
    """
    plain = []
    nested = []
    for name, kind in frame.schema.items():
        held = pl.col(name)
        if isinstance(kind, pl.Datetime):
            plain += [_time_text(held, kind)] if times else []
        elif kind == pl.Date:
            days = pl.when(held.to_physical().is_between(*_YEAR_DAYS)).then(held)
            plain.append(pl.coalesce(days.cast(_TEXT), held.to_physical().cast(_TEXT)).alias(name))
        elif isinstance(kind, pl.Duration):
            plain.append(pl.format("{}us", held.dt.total_microseconds()).alias(name))
        elif kind in (pl.Time, pl.Decimal):
            plain.append(held.cast(_TEXT))
        elif kind == pl.Binary:
            plain.append(held.map_elements(_text, return_dtype=_TEXT))
        elif not (kind == _TEXT or kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            nested.append(name)
    return frame.with_columns(plain), tuple(nested)


def records(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of plain columns, with what is inside of nested values as JSON would say it too."""
    nested = {name: kind for name, kind in frame.schema.items() if kind.is_nested()}
    for row in frame.iter_rows(named=True):
        for name, kind in nested.items():
            row[name] = _plain(row[name], kind)
        yield row


def _plain(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, pl.Struct):
        return {f.name: _plain(value[f.name], f.dtype) for f in kind.fields}
    if isinstance(kind, pl.List | pl.Array):
        held = [_plain(element, kind.inner) for element in value]
        return _mapped(held) if isinstance(kind.inner, pl.Struct) and (*kind.inner.to_schema(),) == ENTRY else held
    read = _INSIDE.get(type(value))
    return value if read is None else read(value)


def _mapped(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The entries of a map as an object; the value of a key that is given twice with different ones is unknown."""
    found: dict[str, Any] = {}
    for key, value in map(itemgetter(*ENTRY), entries):
        name = text_of(key) or ""
        found[name] = value if found.get(name, value) == value else None
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z" if at.tzinfo else at.isoformat()


_INSIDE: dict[type, Callable[[Any], str]] = {
    bytes: _text, Decimal: str, datetime: _instant, date: date.isoformat, time: time.isoformat,
    timedelta: lambda lasted: f"{lasted // timedelta(microseconds=1)}us",
}  # fmt: skip
"""How values that JSON does not have are written, as `plain_columns` writes them."""


def _time_text(name: pl.Expr, kind: pl.Datetime) -> pl.Expr:
    """Times as RFC 3339, the number where the year has no four figures."""
    local = name.dt.convert_time_zone("UTC") if kind.time_zone else name
    known = pl.when(local.dt.epoch("s").is_between(*_YEARS)).then(local)
    text = known.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f" + ("Z" if kind.time_zone else ""))
    return pl.coalesce(text, name.to_physical().cast(_TEXT))


def as_it_is(slot: str, held: pl.Series, unit: str) -> pl.Series | None:
    """A column of counts, times in UTC or durations without a detour through texts, None where `told` has to tell it."""
    kind = held.dtype
    if slot == "duration":
        return _lasted(held, unit)
    if unit == TICKS or unit[:1] in READINGS:
        return None
    if slot in COUNTS and kind in _FITTING:
        return held.cast(pl.Int64)
    if slot in TIMES and isinstance(kind, pl.Datetime) and kind.time_zone:
        second = _SECONDS[kind.time_unit]
        at = held.to_physical()
        low, high = pl.DataFrame({"at": at}).select(low=pl.col("at").min(), high=pl.col("at").max()).row(0)
        plain = low is None or (_PLAIN_TIMES[0] * second <= low and high < (_PLAIN_TIMES[1] + 1) * second)
        return held.dt.convert_time_zone("UTC").dt.cast_time_unit("us") if plain else None
    return None


def _lasted(held: pl.Series, unit: str) -> pl.Series | None:
    """Durations in microseconds, None where they are no plain numbers."""
    if unit not in _WHOLE_UNITS or not _is_whole(held):
        return None
    lasted = held.cast(pl.Int64) * _WHOLE_UNITS[unit]
    return lasted.set((lasted < 0) | (lasted > LONGEST), None)


def told(slot: str, held: pl.Series, unit: str) -> pl.Series:
    """The texts of a column of scalars, as `slot_text` has each."""
    if isinstance(held.dtype, pl.Datetime):
        held = held.to_frame().select(_time_text(pl.first(), held.dtype)).to_series()
    if slot in ("duration", "first_token") and (lasted := _lasted(held, unit)) is not None:
        return lasted.cast(_TEXT)
    if slot in SPECIAL or unit == TICKS or unit[:1] in READINGS:
        return _each(held, lambda v: slot_text(slot, v, unit))
    if held.dtype == _TEXT:
        return held.replace([""], [None]) if held.str.len_bytes().min() == 0 else held
    if held.dtype == pl.Boolean and not held.null_count() and held.n_unique() == 1:
        return held[:1].cast(_TEXT).new_from_index(0, len(held))
    if held.dtype.is_integer() or held.dtype == pl.Boolean:
        return held.cast(_TEXT)
    return _each(held, text_of)


def _is_whole(held: pl.Series) -> bool:
    """Whether all values are whole numbers that are not too large for a product with a unit."""
    if held.dtype == _TEXT:
        return bool(held.str.contains(r"^[0-9]{1,9}$").all())
    # A narrow type cannot be held against a number that it has not.
    return held.dtype in _FITTING and bool(held.cast(pl.Int64).is_between(0, 10**9).all())


def _each(held: pl.Series, read: Callable[[Any], str | None]) -> pl.Series:
    if held.dtype != _TEXT:
        return pl.Series([None if v is None else read(v) for v in held.to_list()], dtype=_TEXT)
    known: dict[str | None, str | None] = {None: None}
    values = held.to_list()
    known |= {value: read(value) for value in set(values) if value is not None}
    return pl.Series([known[v] for v in values], dtype=_TEXT)


def holding(held: pl.Series, inside: str | None) -> Mask:
    """Which cells are texts that may be opened and match an expression."""
    if held.dtype != _TEXT:
        return None
    found = some(held.str.contains(_OPENS).fill_null(value=False))
    if found is None or inside is None:
        return found
    return some(found & held.str.contains(inside).fill_null(value=False))


def key_pattern(step: str) -> str | None:
    """What JSON has in it where it has the key of a step; None where the step is no key."""
    if step[0] in "[*":
        return None
    if step[0] != "~":
        return either_pattern(re.escape(step), r"\\u")
    return either_pattern("(?i)" + "[-_ ]*".join(re.escape(c) for c in fold(step[1:])), r"\\u")


def either_pattern(one: str | None, other: str | None) -> str | None:
    """What matches where one of two does, None where one is None and so takes all."""
    return None if one is None or other is None else f"(?:{one})|(?:{other})"
