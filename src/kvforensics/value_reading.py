"""What does a path take of the value that it leads to, where it does not take the whole of it?

What stands behind the bar of a path in a `Format`:

    request_id|/^(.+)_cache_hit[0-9.]+$/    the first group of an expression, nothing where it does not match
    cancelled|/^true$/=cancelled            a word of ours where the expression matches, nothing elsewhere
    usageDetails|+input_* !input_tokens     the sum of the members whose names match, without those behind a `!`
    span.traceState|~adjusted_count         what a function by that name makes of the text
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from kvforensics.paths import embedded, text_of
from kvforensics.trace_state import adjusted_count

READINGS = ("/", "+", "~")
_NAMED = {"~adjusted_count": adjusted_count}
LONGEST_TEXT = 4096
_SUMMAND = re.compile(r"[0-9]{1,18}(?:\.0+)?")


def read_value(value: Any, reading: str) -> str | None:
    """The text that a reading takes of a value, None where it takes nothing."""
    if reading[0] == "~":
        return _NAMED[reading](value) if type(value) is str else None
    return _sum(value, reading) if reading[0] == "+" else matcher(reading)(value)


@lru_cache(maxsize=256)
def matcher(reading: str) -> Callable[[Any], str | None]:
    """`read_value` for many values of one reading by an expression."""
    pattern, word = _expression(reading)
    search = pattern.search

    def read(value: Any) -> str | None:
        text = value if type(value) is str else text_of(value) or ""
        found = search(text[:LONGEST_TEXT]) if text else None
        return None if found is None else word or found[1] or None

    return read


@lru_cache(maxsize=256)
def _expression(reading: str) -> tuple[re.Pattern[str], str]:
    expression, _, word = reading[1:].rpartition("/")
    return re.compile(expression, re.ASCII), word.removeprefix("=")


def _sum(value: Any, reading: str) -> str | None:
    """A member that is no count makes the sum unreadable: its own text is given, so that it is told what is wrong."""
    members = embedded(value) if type(value) is str else value
    if not isinstance(members, Mapping):
        return None
    total: int | None = None
    for name in sorted(members):
        text = text_of(members[name]) if _counts(name, reading) else None
        if text is None:
            continue
        if not _SUMMAND.fullmatch(text):
            return text
        total = (total or 0) + int(text.split(".")[0])
    return None if total is None else str(total)


@lru_cache(maxsize=4096)
def _counts(name: str, reading: str) -> bool:
    globs = reading[1:].split()
    left_out = any(fnmatchcase(name, g[1:]) for g in globs if g[0] == "!")
    return not left_out and any(fnmatchcase(name, g) for g in globs if g[0] != "!")
