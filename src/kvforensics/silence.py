"""When was a source silent for longer than its own habits explain?

Pure. A source's habit is the share of minutes in which it has a record, for each hour of the week, leaning on the same hour
of the other days and then on all hours where a week tells too little. A silence is a gap where that habit makes it less
likely than one false alarm in a thousand sources. Every edge is exact to the minute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import polars as pl
import pyarrow as pa
from msgspec import Struct

MINUTE_US = 60_000_000
HOUR_MINUTES, DAY_MINUTES, WEEK_HOURS = 60, 1440, 168
FALSE_ALARMS = 1e-3
"""Expected number of false gaps in the whole life of one source."""
WEIGHT = 1.0
"""Minutes of the broader habit that stand beside those seen at an hour of the week: it speaks where nothing was seen."""
MOST_HOLES = 300
"""Only the longest holes of a source are weighed: where there are more, short ones are its habit."""


class Presence(Struct, frozen=True):
    """The minutes since 1970 in which a source, or several that belong together, has a record of any kind.

    `minutes` are sorted, without repeats; `first_us` and `last_us` its first and last instant; `files` how many sources.
    """

    name: str
    minutes: pa.Array
    records: int
    first_us: int | None
    last_us: int | None
    files: int = 1


class Gap(Struct, frozen=True):
    """A time without evidence of logging, half-open, in microseconds, and what found it."""

    start_us: int
    until_us: int
    detector: str
    detail: str


def together(name: str, members: Sequence[Presence]) -> Presence:
    """Several sources as one, such as the daily files of one node."""
    minutes = set().union(*(m.minutes.to_pylist() for m in members))
    return Presence(
        name=name,
        minutes=pa.array(sorted(minutes), type=pa.int64()),
        records=sum(m.records for m in members),
        first_us=min((m.first_us for m in members if m.first_us is not None), default=None),
        last_us=max((m.last_us for m in members if m.last_us is not None), default=None),
        files=len(members),
    )


def gaps(presence: Presence, start_us: int, until_us: int) -> tuple[Gap, ...]:
    """Every gap of a source that reaches into the window, cut to it."""
    if presence.first_us is None or presence.last_us is None or not len(presence.minutes):
        return (Gap(start_us, until_us, "before", "no record with a time"),)
    first, last = presence.minutes[0].as_py() * MINUTE_US, (presence.minutes[-1].as_py() + 1) * MINUTE_US
    found = []
    if first > start_us:
        found.append(Gap(start_us, min(first, until_us), "before", "its first record is later"))
    found += [
        Gap(max(g.start_us, start_us), min(g.until_us, until_us), g.detector, g.detail)
        for g in silences(presence.minutes)
        if g.start_us < until_us and g.until_us > start_us
    ]
    if last < until_us:
        found.append(Gap(max(last, start_us), until_us, "after", "its last record is earlier"))
    return tuple(found)


def silences(minutes: pa.Array) -> tuple[Gap, ...]:
    """The silences between the first and the last minute that are too long for this source at that time of the week."""
    seen = pl.Series(minutes, dtype=pl.Int64)
    if len(seen) < 3:
        return ()
    first, last = int(seen[0]), int(seen[-1])
    habit = _habit(seen, first, last)
    limit = math.log(FALSE_ALARMS / (last - first + 1))
    holes = pl.DataFrame({"from": seen + 1, "until": seen.shift(-1)}).drop_nulls()
    long = holes.filter(pl.col("until") - pl.col("from") >= 2)
    longest = long.sort(pl.col("until") - pl.col("from"), descending=True).head(MOST_HOLES).sort("from")
    found = []
    for start, end in longest.iter_rows():
        chance, expected = _chance(start, end, habit)
        if chance < limit:
            detail = f"about {expected:.0f} minutes with records expected at these hours of the week"
            found.append(Gap(start * MINUTE_US, end * MINUTE_US, "silence", detail))
    return tuple(found)


class _Habit(Struct, frozen=True):
    """For each hour of the week, the minutes with a record and the minutes watched; and the former of every single hour."""

    active: tuple[float, ...]
    watched: tuple[float, ...]
    single: Mapping[int, int]


def _habit(seen: pl.Series, first: int, last: int) -> _Habit:
    active = [0.0] * WEEK_HOURS
    single = dict((seen // HOUR_MINUTES).value_counts().iter_rows())
    for hour, count in single.items():
        active[hour % WEEK_HOURS] += count
    return _Habit(tuple(active), tuple(_minutes_of(first, last + 1)), single)


def _minutes_of(start: int, end: int) -> list[float]:
    """How many minutes of each hour of the week lie in a time."""
    weeks, rest = divmod(end - start, WEEK_HOURS * HOUR_MINUTES)
    found = [float(weeks * HOUR_MINUTES)] * WEEK_HOURS
    minute = start
    while rest > 0:
        step = min(rest, HOUR_MINUTES - minute % HOUR_MINUTES)
        found[(minute // HOUR_MINUTES) % WEEK_HOURS] += step
        minute += step
        rest -= step
    return found


def _chance(start: int, end: int, habit: _Habit) -> tuple[float, float]:
    """The logarithm of the chance of this silence, and how many minutes with records it should have had.

    The hours that it touches are left out of the habit that it is held against.
    """
    silent = _minutes_of(start, end)
    begun, done = start // HOUR_MINUTES, (end - 1) // HOUR_MINUTES
    touched = _minutes_of(begun * HOUR_MINUTES, (done + 1) * HOUR_MINUTES)
    watched = [max(0.0, w - t) for w, t in zip(habit.watched, touched, strict=True)]
    active = list(habit.active)
    for hour in {begun, done}:
        active[hour % WEEK_HOURS] -= habit.single.get(hour, 0)
    whole = sum(watched)
    overall = sum(active) / whole if whole else 0.0
    chance = expected = 0.0
    for hour, minutes in enumerate(silent):
        if not minutes:
            continue
        same = range(hour % 24, WEEK_HOURS, 24)
        daily = _leaning(sum(active[h] for h in same), sum(watched[h] for h in same), overall)
        # However steady a source is, one more minute could have been the first silent one.
        share = min(_leaning(active[hour], watched[hour], daily), 1 - 1 / (whole + 2))
        chance += minutes * math.log1p(-share)
        expected += minutes * share
    return chance, expected


def _leaning(active: float, watched: float, broader: float) -> float:
    return (active + WEIGHT * broader) / (watched + WEIGHT)


def hours_with_evidence(minutes: Iterable[int], start_us: int, until_us: int) -> int:
    """How many hours of the window, counted from its start, have at least one record."""
    start, until = start_us // MINUTE_US, -(-until_us // MINUTE_US)
    return len({(m - start) // HOUR_MINUTES for m in minutes if start <= m < until})
