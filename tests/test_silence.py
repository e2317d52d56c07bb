"""Are silences found that a source's own habit does not explain, with their edges to the minute, and no others?"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest

from kvforensics.silence import MINUTE_US, Presence, gaps, hours_with_evidence, silences, together

DAY, WEEK = 1440, 7 * 1440
MONDAY = 4 * DAY  # 5 January 1970, in minutes


def present(minutes: Iterable[int], name: str = "s") -> Presence:
    kept = sorted(set(minutes))
    first, last = (kept[0] * MINUTE_US, kept[-1] * MINUTE_US) if kept else (None, None)
    return Presence(name, pa.array(kept, type=pa.int64()), len(kept), first, last)


def simulated(weeks: int, rate: Callable[[int], float], seed: int) -> list[int]:
    """Minutes with records; `rate` is the chance of one in each minute."""
    chance = random.Random(seed)
    return [m for m in range(MONDAY, MONDAY + weeks * WEEK) if chance.random() < rate(m)]


def office(minute: int) -> float:
    """Busy from 9 to 17 on weekdays, nothing else."""
    return 0.6 if (minute - MONDAY) // DAY % 7 < 5 and 9 * 60 <= minute % DAY < 17 * 60 else 0.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rate", [office, lambda _: 1.0, lambda _: 0.5, lambda _: 1 / 60, lambda _: 1 / 600])
def test_a_source_that_keeps_its_habit_has_no_silence(rate: Callable[[int], float], seed: int) -> None:
    assert silences(present(simulated(3, rate, seed)).minutes) == ()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("rate", "length"), [(lambda _: 1.0, 2), (lambda _: 0.5, 60), (office, 90), (lambda _: 1 / 20, 600)]
)
def test_a_removed_time_is_found_between_the_records_around_it(
    rate: Callable[[int], float], length: int, seed: int
) -> None:
    start = MONDAY + WEEK + 10 * 60 + 7
    kept = [m for m in simulated(3, rate, seed) if not start <= m < start + length]
    before, after = max(m for m in kept if m < start), min(m for m in kept if m >= start + length)
    (gap,) = silences(present(kept).minutes)
    assert (gap.start_us, gap.until_us) == ((before + 1) * MINUTE_US, after * MINUTE_US)
    assert gap.detector == "silence"


def test_gaps_are_cut_to_the_window_and_say_where_a_source_starts_late_or_ends_early() -> None:
    minutes = [m for m in range(1000, 2000) if not 1400 <= m < 1460]
    found = gaps(present(minutes), 900 * MINUTE_US, 2100 * MINUTE_US)
    assert [(g.start_us // MINUTE_US, g.until_us // MINUTE_US, g.detector) for g in found] == [
        (900, 1000, "before"), (1400, 1460, "silence"), (2000, 2100, "after"),
    ]  # fmt: skip
    inside = gaps(present(minutes), 1410 * MINUTE_US, 1420 * MINUTE_US)
    assert [(g.start_us // MINUTE_US, g.until_us // MINUTE_US) for g in inside] == [(1410, 1420)]


def test_a_source_without_a_time_covers_nothing_and_one_outside_leaves_one_gap() -> None:
    (gap,) = gaps(present([]), 0, 60 * MINUTE_US)
    assert (gap.start_us, gap.until_us) == (0, 60 * MINUTE_US)
    assert [g.detector for g in gaps(present(range(500, 600)), 0, 60 * MINUTE_US)] == ["before"]
    assert [g.detector for g in gaps(present(range(10)), 50 * MINUTE_US, 60 * MINUTE_US)] == ["after"]


def test_parts_of_one_log_fill_each_other() -> None:
    whole = together("s", [present(range(10)), present(range(5, 20)), present([])])
    assert whole.minutes.to_pylist() == list(range(20))
    assert (whole.files, whole.first_us, whole.last_us) == (3, 0, 19 * MINUTE_US)


def test_hours_are_counted_from_the_start_of_the_window() -> None:
    start = 30 * MINUTE_US
    assert hours_with_evidence([29, 30, 89, 90, 200], start, 150 * MINUTE_US) == 2
