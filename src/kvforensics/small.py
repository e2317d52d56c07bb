"""Is the prompt of a row plainly below a count, whatever else the record says?

Understands only whole numbers. With a plain prompt count the highest bound is that count and both parts of the cache, or
what a total leaves for the prompt: `tokens` comes to no higher one under any of its rules, but where cached counts may be
missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from kvforensics.clashes import FAILED, ON_MODEL, OVER, REPLAY, UNTOLD_REPLAY
from kvforensics.reading import Field, Reading
from kvforensics.slot_text import LONGEST, UNITS, microseconds, slot_text
from kvforensics.value_reading import matcher

_WHOLE_UNITS = {unit: int(us) for unit, us in UNITS.items() if us >= 1}
_CLIENT_CLOSED = 499
"""nginx's status of a request whose client went away, so that nobody knows what was sent."""
_NO_WORDS = {bool, type(None)}
CACHED = frozenset(("true", "1", "hit", "yes", "semantic hit", "semantic_hit"))
"""What a log says of an answer out of its cache; see `normalise`."""


def values(own: Sequence[Any], field: Field, slot: str = "") -> list[Any]:
    """The values of rows, as their texts where the path takes a part of them; durations in microseconds."""
    found = list(map(field.get, own))
    unit = field.unit
    if not unit:
        return found
    if slot == "duration" and unit in _WHOLE_UNITS and set(map(type, found)) == {int}:
        size = _WHOLE_UNITS[unit]
        if min(found) >= 0 and max(found) * size <= LONGEST:
            return [v * size for v in found]
    if unit[0] == "/":
        read = matcher(unit)
    else:
        read = partial(microseconds, unit=unit) if slot == "duration" else partial(slot_text, slot, unit=unit)
    return [None if v is None else read(v) for v in found]


def are_small(reading: Reading, own: Sequence[Any], below: int) -> list[bool]:
    """Of each row whether its prompt is plainly below, and whether it is plainly no replay."""
    slots, fmt = reading.slots, reading.format
    prompt = slots["prompt"]
    counts = [slots["cache_read"], slots["cache_write"], slots["request_bytes"]]
    hides = not fmt.cache_visible
    if not prompt or any(f.unit for fs in (prompt, *(c[:1] for c in counts)) for f in fs):
        return [False] * len(own)
    if hides and (fmt.cache_rule == "exclusive" or fmt.cache_rules):
        return [False] * len(own)
    read, write, size = (list(map(fs[0].get, own)) if fs else [0] * len(own) for fs in counts)
    sized = bool(counts[2])
    small = [
        type(p) is int and type(r) is int and type(w) is int and type(s) is int and p > 0 and r >= 0 and w >= 0
        and p + r + w < below and not (hides and r + w) and (not sized or s == 0 or p + r + w <= s)
        for p, r, w, s in zip(map(prompt[0].get, own), read, write, size, strict=True)
    ]  # fmt: skip
    if not counts[0] and not counts[1]:
        small = [a and told for a, told in zip(small, _tell_cache(reading, own), strict=True)]
    for f in prompt[1:]:
        # A count of the same prompt by another name may be the right one.
        found = list(map(f.get, own))
        small = [a and type(n) is int and 0 <= n < below for a, n in zip(small, found, strict=True)]
    if slots["total"] and slots["completion"]:
        sums = zip(map(slots["total"][0].get, own), map(slots["completion"][0].get, own), strict=True)
        small = [a and type(t) is int and type(c) is int and t - c < below for a, (t, c) in zip(small, sums, strict=True)]
    return _are_no_replays(reading, own, small)


def are_failed(reading: Reading, own: Sequence[Any]) -> list[bool]:
    """Of each row whether `settled.is_failed` plainly holds: not answered, with no count of its prompt, and no replay."""
    slots, fmt = reading.slots, reading.format
    status = slots.get("http_status", ())
    # What a span says of itself is not the last word.
    if fmt.view or not reading.hinted or len(status) != 1 or status[0].unit:
        return [False] * len(own)
    failed = [type(s) is int and 100 <= s <= 999 and s // 100 != 2 and s != _CLIENT_CLOSED for s in map(status[0].get, own)]
    if True not in failed:
        return failed
    for slot in ("prompt", "cache_read", "cache_write", "completion", "total", "request_bytes"):
        for f in slots[slot]:
            failed = [a and (n is None or (type(n) is int and n == 0)) for a, n in zip(failed, values(own, f), strict=True)]
    for f in slots["state"]:
        states = values(own, f)
        failed = [a and (t is None or _is_state(t, fmt.aborted_states)) for a, t in zip(failed, states, strict=True)]
    for f in slots["output"]:
        outputs = (slot_text("output", f.get(row), f.unit) for row in own)
        failed = [a and o is None for a, o in zip(failed, outputs, strict=True)]
    return _are_no_replays(reading, own, failed)


def _is_state(text: Any, aborted: Sequence[str]) -> bool:
    return type(text) is str and text.isascii() and text.lower() not in aborted


def _are_no_replays(reading: Reading, own: Sequence[Any], found: list[bool]) -> list[bool]:
    """Those rows that are plainly no replay."""
    for f in reading.slots["from_cache"]:
        said = values(own, f)
        if not _say_nothing(said):
            found = [a and not _says_cached(v) for a, v in zip(found, said, strict=True)]
    for f in reading.slots["replay_of"]:
        said = values(own, f)
        if not _say_nothing(said):
            found = [a and (v is None or v == "") for a, v in zip(found, said, strict=True)]
    return found


def tags_of_others(reading: Reading, own: Sequence[Any], over: int, *, told: bool) -> bytes:
    """Of each row of another model what it may contradict, see `clashes`. `over` is exceeded strictly.

    `told` says whether nothing but what is read tells about a prompt and about a replay.
    """
    if not told:
        return bytes([OVER | REPLAY]) * len(own)
    slots = reading.slots
    counts = {slot: [values(own, f, slot) for f in slots[slot]] for slot in ("prompt", "cache_read", "cache_write", "total")}
    most = {slot: max(map(_most, columns), default=0) for slot, columns in counts.items()}
    parts = most["prompt"] + most["cache_read"] + most["cache_write"]
    large: set[int] = set()
    for slot, columns in counts.items():
        # What the other parts of a prompt come to at most leaves so much to this one.
        bar = over if slot == "total" else over - (parts - most[slot])
        if most[slot] > bar:
            large.update(i for column in columns for i, v in enumerate(column) if type(v) is not int or v > bar)
    tags = bytearray(len(own))
    for i in large:
        amounts = {slot: max((_amount(c[i]) for c in columns), default=0) for slot, columns in counts.items()}
        total = amounts.pop("total")
        tags[i] = OVER if total > over or sum(amounts.values()) > over else 0
    for slot in ("from_cache", "replay_of"):
        for column in (values(own, f) for f in slots[slot]):
            if not _say_nothing(column):
                says = _says_cached if slot == "from_cache" else bool
                for i, v in enumerate(column):
                    if says(v):
                        tags[i] |= REPLAY
    return bytes(tags)


def tags_of_settled(reading: Reading, own: Sequence[Any], failed: Sequence[bool]) -> bytes:
    """The same of each row on the model whose prompt is plainly below, or that `failed`."""
    tags = _tags_of_small(reading, own)
    return bytes(FAILED if f else t for t, f in zip(tags, failed, strict=True)) if True in failed else tags


def _tags_of_small(reading: Reading, own: Sequence[Any]) -> bytes:
    fields = reading.slots["from_cache"]
    if not fields:
        return bytes([ON_MODEL | UNTOLD_REPLAY]) * len(own)
    found = values(own, fields[0])
    if set(map(type, found)) == {bool} and True not in found:
        return bytes([ON_MODEL]) * len(own)
    return bytes(ON_MODEL if v is False else ON_MODEL | UNTOLD_REPLAY for v in found)


def _most(column: Sequence[Any]) -> float:
    """No count of the column is higher."""
    try:
        most = max(column)
    except (TypeError, ValueError):
        most = None
    return most if type(most) is int else max(map(_amount, column), default=0)


def _amount(value: Any) -> float:
    """What a value counts at most; one that is no number counts nothing."""
    if value is None or isinstance(value, bool):
        return 0
    if not isinstance(value, int | float | str):
        return math.inf
    try:
        return max(float(value), 0)
    except (ValueError, OverflowError):
        return 0 if isinstance(value, str) else math.inf


def _tell_cache(reading: Reading, own: Sequence[Any]) -> list[bool]:
    """Of each row without cached counts whether that says that there are none."""
    rules = [values(own, f) for f in reading.slots["cache_rule"]]
    if reading.format.cache_always_told or not rules:
        return [not reading.format.cache_always_told] * len(own)
    return [next((rule for rule in told if rule is not None), None) != "unproven" for told in zip(*rules, strict=True)]


def _says_cached(value: Any) -> bool:
    return bool(value) and (type(value) is not str or value.lower() in CACHED)


def _say_nothing(column: Sequence[Any]) -> bool:
    """Whether no value of a column can name a cache."""
    return set(map(type, column)) <= _NO_WORDS and True not in column


def are_times(column: Sequence[Any], nothing: Sequence[str]) -> bool:
    """Whether all values are texts or numbers that times may be."""
    return bool not in set(map(type, column)) and {"", *nothing}.isdisjoint(column)
