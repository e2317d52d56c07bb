"""What does one value say in a slot?"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from kvforensics.paths import embedded, text_of
from kvforensics.value_reading import READINGS, read_value

UNITS = {
    "h": 3_600_000_000.0, "m": 60_000_000.0, "s": 1_000_000.0, "ms": 1_000.0, "us": 1.0, "\u00b5s": 1.0, "\u03bcs": 1.0,
    "ns": 0.001,
}  # fmt: skip
"""Microseconds of each unit of a duration."""
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(h|ms|m|s|us|\u00b5s|\u03bcs|ns)", re.ASCII)
_WITH_UNITS = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
LONGEST = 86_400_000_000.0
"""No call takes longer than a day; what seems to is in another unit than is said."""
TICKS = "ticks"
"""The unit of times that are .NET ticks, told by the path because the magnitude of the number does not tell it."""
_EPOCH_TICKS, _LAST_TICKS = 621_355_968_000_000_000, 3_155_378_975_999_999_999
_NAMED_STATUS = re.compile(r"(?<![\d.])([1-5]\d\d)(?![\d.])")
_NOTHING = ("", "null", "none", "None", "[]", "{}", "false", "False", "0", '""')
_NO_OUTPUT: tuple[Any, ...] = (None, 0, "", [], {}, False, "null", "{}", "[]", '""')


def slot_text(slot: str, value: Any, unit: str) -> str | None:
    """The text of a value; `unit` is that of a duration or time, or a reading (see `value_reading`)."""
    if unit[:1] in READINGS:
        value = read_value(value, unit)
    if slot == "output":
        return "true" if value not in _NO_OUTPUT else None
    if slot == "error":
        return named_error(value)
    if slot in ("duration", "first_token"):
        return microseconds(value, unit)
    if unit == TICKS:
        return instant_of_ticks(value)
    return tags(value) if slot == "tag" else text_of(value)


def named_error(value: Any) -> str | None:
    """The HTTP status that an error names, else `error`; None where there is no error."""
    text = text_of(value)
    if text is None or text in _NOTHING:
        return None
    found = _NAMED_STATUS.search(text[:2000])
    return found.group(1) if found else "error"


def microseconds(value: Any, unit: str) -> str | None:
    """A duration as whole microseconds, None where it is negative, longer than a day, or no duration.

    A number is in the unit; a text may bring its own units, as Go writes it (`1m2.5s`, `350ms`).
    """
    if type(value) is bool:
        return None
    try:
        number = float(value) * UNITS[unit]
    except (TypeError, ValueError):
        told = _WITH_UNITS.fullmatch(value) if type(value) is str and len(value) <= 64 else None
        if told is None:
            return None
        number = sum(float(n) * UNITS[u] for n, u in _PART.findall(told[0]))
    return str(round(number)) if 0 <= number <= LONGEST else None


def instant_of_ticks(value: Any) -> str | None:
    """.NET ticks (100 ns since the year 1, in UTC) as RFC 3339; what is no such number stays as it is, to be refused."""
    text = text_of(value)
    if text is None or not text.isascii() or not text.isdigit() or not _EPOCH_TICKS <= int(text) <= _LAST_TICKS:
        return text
    seconds, rest = divmod(int(text) - _EPOCH_TICKS, 10_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:07}Z"


def tags(value: Any) -> str | None:
    """Tags joined by a unit separator."""
    opened = embedded(value) if type(value) is str else value
    items = opened if type(opened) is list else [value]
    texts = [t for t in (text_of(i) for i in items) if t]
    return "\x1f".join(texts) or None
