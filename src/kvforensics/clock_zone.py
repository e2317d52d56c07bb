"""When is a local time in a time zone?

The zone rules come from the `tzdata` package alone, not from the machine, so that the same evidence reads the same
everywhere. Times and offsets are integers in microseconds; offsets count east of UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct

from kvforensics.clock_text import DAY, SECOND
from kvforensics.errors import UsageError

Kind = Literal["assumed", "ambiguous", "nonexistent"]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_MICROSECOND: Final = timedelta(microseconds=1)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    # "Factory" is what a machine is set to before anyone chose a zone.
    return frozenset((files("tzdata") / "zones").read_text(encoding="ascii").split()) - {"Factory"}


def check_zone(name: str) -> None:
    """Refuse a name that is no IANA time zone; raises `UsageError` with the nearest known name."""
    if name not in _names():
        raise UsageError(f"{name!r} is not a known time zone", where="timezone", advice=_advice(name))


def _advice(name: str) -> str:
    spellings = {n.rsplit("/", 1)[-1].lower(): n for n in sorted(_names(), reverse=True) if not n.startswith("Etc/")}
    spellings |= {n.lower(): n for n in _names()}
    folded = name.strip().lower().replace(" ", "_")
    # Abbreviations all look alike: CEST is not nearly EST.
    near = get_close_matches(folded, spellings, n=1, cutoff=0.75 if len(folded) > 5 else 1.0)
    if near:
        return f"did you mean {spellings[near[0]]!r}?"
    return "use an IANA name such as 'Europe/Amsterdam'; a fixed UTC+02:00 is 'Etc/GMT-2' (its sign is turned round)"


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    check_zone(name)
    with files("tzdata.zoneinfo").joinpath(*name.split("/")).open("rb") as stream:
        return ZoneInfo.from_file(stream, key=name)


def local_offsets(local: int, name: str) -> tuple[Kind, int, int]:
    """How a local time reads in a zone: its kind, and the offsets of its earliest and its latest reading."""
    zone, naive = _zone(name), _EPOCH + timedelta(microseconds=local)
    first, second = (_east(naive.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    kind: Kind = "assumed" if first == second else "ambiguous" if first > second else "nonexistent"
    return kind, max(first, second), min(first, second)


def _east(moment: datetime) -> int:
    return (moment.utcoffset() or timedelta()) // _MICROSECOND


def _east_at(instant: int, zone: ZoneInfo) -> int:
    return _east((_EPOCH + timedelta(microseconds=instant)).replace(tzinfo=UTC).astimezone(zone))


def _transition(before: int, after: int, zone: ZoneInfo) -> int:
    """The first second in (before, after], both instants, at which the offset of `after` holds."""
    new = _east_at(after, zone)
    low, high = before // SECOND, after // SECOND
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _east_at(middle * SECOND, zone) == new else (middle, high)
    return high * SECOND


@lru_cache(maxsize=4096)
def day_bounds(midnight: int, name: str) -> tuple[int, int]:
    """First and last instant of the local day that starts at a local midnight.

    A midnight in a gap is the moment of the change; one that comes twice starts a day the first time and ends the day
    before it the second time.
    """
    starts = []
    for local, late in ((midnight, False), (midnight + DAY, True)):
        kind, east, west = local_offsets(local, name)
        if kind == "nonexistent":
            starts.append(_transition(local - east - SECOND, local - west, _zone(name)))
        else:
            starts.append(local - (west if late else east))
    start, end = starts
    if start < end:
        return start, end - 1
    # The whole day was skipped (Samoa, 2011-12-30): the hull of its readings.
    _, east, west = local_offsets(midnight, name)
    return midnight - east, midnight - west + DAY - 1


class Stretch(Struct, frozen=True):
    """Local times from `start` on, until the next stretch, and how they read."""

    start: int
    kind: Kind
    east: int
    west: int


@lru_cache(maxsize=64)
def stretches(first_day: int, last_day: int, name: str) -> tuple[Stretch, ...]:
    """How all local times from one to another day number (since 1970) read, in order."""
    zone = _zone(name)
    # Offsets reach one day at most, so two days of margin hold every change that these local days can see.
    moments = range((first_day - 2) * DAY, (last_day + 4) * DAY, DAY)
    east = _east_at(moments[0], zone)
    found = [Stretch(moments[0], "assumed", east, east)]
    for before, after in pairwise(moments):
        new = _east_at(after, zone)
        if new != east:
            at = _transition(before, after, zone)
            high, low = max(east, new), min(east, new)
            found.append(Stretch(at + low, "ambiguous" if new < east else "nonexistent", high, low))
            found.append(Stretch(at + high, "assumed", new, new))
            east = new
    return tuple(found)
