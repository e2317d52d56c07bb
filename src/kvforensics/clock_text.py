"""What does a time text say, before any zone is applied?

The grammar is strict: a text that no rule reads whole is unreadable, never repaired. Times are microseconds since
1970-01-01T00:00:00 on the clock the text was written by; precision is the width of the interval that the text covers.

Choices that a reader may want to know:

* `24:00` is refused. A second `60` is read as the interval from the last microsecond of second 59 to the end of the
  following second; the caller checks that it is a leap second (the last second of a UTC day).
* Numbers are epochs, their unit told by magnitude (`UNITS`). Magnitudes that are as well .NET ticks or a compact
  calendar date (`20260901101530`) are refused as ambiguous.
* A lone `.0` is how floats print whole numbers, so it says nothing about precision.
* Years before 1973 and 9999 are what machines write for "never" (Go's and .NET's zero time, epoch 0), so they are
  refused as implausible rather than read as far away.
* An offset in figures is believed, a zone's short name is not: `CST` is three zones, so any offset is possible. After
  figures the name is ignored, unless it is UTC and contradicts them.
* Which of two figures before a year is the day is told by dots (no locale of CLDR puts the month first there) or by a
  figure over 12; elsewhere both readings stand. Names of months and days are English.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
FIRST_YEAR: Final = 1973
LAST_YEAR: Final = 9998

UNREADABLE: Final = "time_unreadable"
AMBIGUOUS_UNIT: Final = "time_unit_ambiguous"
UNKNOWN_ZONE_NAME: Final = "time_zone_name_unknown"
IMPLAUSIBLE: Final = "time_implausible"
DAY_OR_MONTH: Final = "time_day_or_month"

SMALLEST_EPOCH: Final = 10**8
LARGEST_EPOCH: Final = 5 * 10**18
UNITS: Final = ((10**11, 0), (10**14, 3), (10**17, 6), (LARGEST_EPOCH + 1, 9))
"""Exclusive upper bound of a number and the decimal places of a second that its last digit counts."""
AMBIGUOUS: Final = (
    (2_000 * 10**8, 2_100 * 10**8),  # YYYYMMDDhhmm
    (2_000 * 10**10, 2_100 * 10**10),  # YYYYMMDDhhmmss
    (2_000 * 10**13, 2_100 * 10**13),  # YYYYMMDDhhmmssmmm
    (63 * 10**16, 65 * 10**16),  # .NET ticks of 1997 to 2060
)
"""Half-open ranges of numbers whose unit the magnitude does not tell."""

_MONTH_NAMES: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
MONTHS: Final = {m[:3]: i for i, m in enumerate(_MONTH_NAMES, 1)}
_LONG_MONTHS: Final = MONTHS | {m: i for i, m in enumerate(_MONTH_NAMES, 1)} | {"sept": 9}
_DAY_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS: Final = {name: i for i, d in enumerate(_DAY_NAMES) for name in (d, d[:3])}
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_LONGEST: Final = 128

_TIME = r"(?P<h>[0-9]{2}):(?P<mi>[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
_COMPACT_TIME = r"(?P<h>[0-9]{2})(?P<mi>[0-9]{2})(?:(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
_FIGURES = r"(?P<sign>[+-])(?P<oh>[0-9]{2})(?::?(?P<om>[0-9]{2}))?"
_UTC = r"(?P<utc>[Zz]|UTC|GMT)"
_NAME = r"(?P<name>(?![AaPp]\.?[Mm]\.?$)\[?[A-Za-z][A-Za-z0-9_+/-]*\]?)"
# After figures: JavaScript's "(Central European Summer Time)", Go's "CEST" or "+03" and "m=+1.5", Java's
# "[Europe/Paris]".
_AFTER = r"(?:[ ]?\([^()]*\)|[ ](?P<also>[A-Z]{1,5}|[+-][0-9]{2,4})|\[[A-Za-z0-9_+/-]+\])?(?:[ ]m=[+-][0-9.]+)?"
_ZONE = rf"(?:[ ]?(?:(?:GMT|UTC)?{_FIGURES}{_AFTER}|{_UTC}(?:[ ]?\([^()]*\)|\[[A-Za-z0-9_+/-]+\])?|{_NAME}))?"
_DAY_NAME = r"(?P<wd>[A-Za-z]{3})"
_MONTH = r"(?P<mon>[A-Za-z]{3})"
_LONG_DAY_NAME = r"(?:(?P<wd>[A-Za-z]{3,9}),?[ ])?"
_LONG_MONTH = r"(?P<mon>[A-Za-z]{3,9})\.?"
# The narrow space before AM and PM is that of CLDR.
_CLOCK = (
    r"(?P<h>[0-9]{1,2}):(?P<mi>[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"(?:[ \u00a0\u202f]?(?P<half>[AaPp])\.?[ \u00a0]?[Mm](?:\.|\b))?"
)
_AND_CLOCK = rf"(?:(?:,|[ ]at)?[ ]{_CLOCK}{_ZONE})?"
_PATTERNS: Final = tuple(
    re.compile(p)
    for p in (
        rf"(?P<y>[0-9]{{4}})(?P<sep>[-/])(?P<m>[0-9]{{2}})(?P=sep)(?P<d>[0-9]{{2}})(?:(?:[Tt]|[ ]){_TIME}{_ZONE})?",
        rf"(?P<y>[0-9]{{4}})(?P<m>[0-9]{{2}})(?P<d>[0-9]{{2}})[Tt]{_COMPACT_TIME}{_ZONE}",
        rf"(?P<open>\[)?(?P<d>[0-9]{{2}})/{_MONTH}/(?P<y>[0-9]{{4}}):{_TIME}{_ZONE}(?(open)\])",
        rf"(?:{_DAY_NAME},?[ ])?(?P<d>[0-9]{{1,2}})[ -]{_MONTH}[ -](?P<y>[0-9]{{4}})[ ]{_TIME}{_ZONE}",
        rf"{_DAY_NAME}[ ]{_MONTH}[ ](?P<d>[0-9]{{2}})[ ](?P<y>[0-9]{{4}})[ ]{_TIME}{_ZONE}",
        rf"{_DAY_NAME}[ ]{_MONTH}[ ]{{1,2}}(?P<d>[0-9]{{1,2}})[ ]{_TIME}{_ZONE}[ ](?P<y>[0-9]{{4}})",
        # As people's own pages and spreadsheets write times.
        rf"(?P<a>[0-9]{{1,2}})(?P<sep>[-/])(?P<b>[0-9]{{1,2}})(?P=sep)(?P<y>[0-9]{{4}}){_AND_CLOCK}",
        rf"(?P<d>[0-9]{{1,2}})\.[ ]?(?P<m>[0-9]{{1,2}})\.[ ]?(?P<y>[0-9]{{4}}){_AND_CLOCK}",
        rf"(?P<y>[0-9]{{4}})(?P<sep>[-/.])(?P<m>[0-9]{{1,2}})(?P=sep)(?P<d>[0-9]{{1,2}}),?[ ]{_CLOCK}{_ZONE}",
        rf"{_LONG_DAY_NAME}{_LONG_MONTH}[ ](?P<d>[0-9]{{1,2}}),?[ ](?P<y>[0-9]{{4}}){_AND_CLOCK}",
        rf"{_LONG_DAY_NAME}(?P<d>[0-9]{{1,2}})\.?[ ]{_LONG_MONTH},?[ ](?P<y>[0-9]{{4}}){_AND_CLOCK}",
    )
)
_NUMBER: Final = re.compile(r"(-?)([0-9]{1,40})(?:\.([0-9]{1,40}))?(?:[eE]([+-]?[0-9]{1,2}))?")


class Told(Struct, frozen=True):
    """What a text says: a time on its own clock, the offset of that clock if told, and how wide the time is.

    `kind` is "clock", "date" or "epoch" (`offset` is 0 for epochs); all times in microseconds. `leap` marks a second 60,
    `named` a zone that is told by a name which is not believed, `other` the same time with day and month exchanged.
    """

    kind: Literal["clock", "date", "epoch"]
    local: int
    precision: int
    offset: int | None = None
    leap: bool = False
    named: bool = False
    other: int | None = None


def read_text(text: str) -> Told | str:
    """What a stripped, non-empty text says, or the code of the problem that keeps it from being read."""
    if len(text) > _LONGEST:
        return UNREADABLE
    if number := _NUMBER.fullmatch(text):
        return _epoch(*number.groups())
    for pattern in _PATTERNS:
        if found := pattern.fullmatch(text):
            part = found.groupdict()
            return _calendar(part) if "a" not in part else _either_way(part)
    return UNREADABLE


def _either_way(part: dict[str, str | None]) -> Told | str:
    """A day and a month in either order: the one reading that is a date, else the first with the other beside it."""
    day_first, month_first = (_calendar(part | {"d": part[d], "m": part[m]}) for d, m in (("a", "b"), ("b", "a")))
    if isinstance(day_first, str) or isinstance(month_first, str):
        return month_first if isinstance(day_first, str) else day_first
    return day_first if day_first == month_first else replace(day_first, other=month_first.local)


def _epoch(sign: str, whole: str, decimals: str | None, exponent: str | None) -> Told | str:
    if sign:
        return IMPLAUSIBLE
    if exponent:
        plain = format(Decimal(f"{whole}.{decimals or 0}e{exponent}"), "f")
        whole, _, decimals = plain.partition(".")
        decimals = decimals.rstrip("0")
    decimals = "" if decimals is None or decimals == "0" else decimals
    value = int(whole)
    if not SMALLEST_EPOCH <= value <= LARGEST_EPOCH:
        return IMPLAUSIBLE
    if any(low <= value < high for low, high in AMBIGUOUS):
        return AMBIGUOUS_UNIT
    places = next(places for bound, places in UNITS if value < bound)
    told = places + len(decimals)
    digits = int(f"{value}{decimals}")
    local = digits * 10 ** (6 - told) if told < 6 else digits // 10 ** (told - 6)
    return Told("epoch", local, 10 ** max(0, 6 - told), 0)


def _calendar(part: dict[str, str | None]) -> Told | str:
    year = int(part["y"] or "")
    month = int(part["m"] or 0) if part.get("m") else _LONG_MONTHS.get((part.get("mon") or "").lower(), 0)
    try:
        day = date(year, month, int(part["d"] or ""))
    except ValueError:
        return UNREADABLE
    weekday = (part.get("wd") or "").lower()
    if weekday and _WEEKDAYS.get(weekday) != day.weekday():
        return UNREADABLE
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return IMPLAUSIBLE
    midnight = (day.toordinal() - _EPOCH_ORDINAL) * DAY
    if part["h"] is None:
        return Told("date", midnight, DAY)
    hour, minute, second = int(part["h"]), int(part["mi"] or ""), int(part["s"] or 0)
    if part.get("half"):
        if not 1 <= hour <= 12:
            return UNREADABLE
        hour = hour % 12 + (12 if (part["half"] or "") in "Pp" else 0)
    if hour > 23 or minute > 59 or second > 60:
        return UNREADABLE
    offset = _offset(part)
    if isinstance(offset, str):
        return offset
    named = bool(part.get("name"))
    local = midnight + hour * HOUR + minute * MINUTE
    if second == 60:
        return Told("clock", local + MINUTE - 1, SECOND + 1, offset, leap=True, named=named)
    fraction = part["f"] or ""
    precision = MINUTE if part["s"] is None else 10 ** max(0, 6 - len(fraction))
    return Told("clock", local + second * SECOND + int(f"{fraction:0<6}"[:6]), precision, offset, named=named)


def _offset(part: dict[str, str | None]) -> int | str | None:
    """The offset in microseconds east of UTC, None where the text has none, or a problem."""
    if part["utc"]:
        return 0
    if part["sign"] is None:
        return None
    hours, minutes = int(part["oh"] or ""), int(part["om"] or 0)
    if hours > 23 or minutes > 59:
        return UNREADABLE
    east = (hours * HOUR + minutes * MINUTE) * (-1 if part["sign"] == "-" else 1)
    contradicted = part["also"] in ("UTC", "GMT", "Z") and east != 0
    return UNREADABLE if contradicted else east
