"""Does a log cover the window only where it really can?"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kvforensics.coverage import Coverage, LogCoverage, cover

MIN = 60_000_000
START, UNTIL, GAP = 1000 * MIN, 5000 * MIN, 600 * MIN


def log(minutes: Any, **more: Any) -> LogCoverage:
    seen = list(minutes)
    values: dict[str, Any] = {
        "log": "x", "minutes": pa.array(seen, pa.int64()), "first_us": seen[0] * MIN if seen else None,
        "last_us": seen[-1] * MIN + 1 if seen else None, "sampled": False, "blind": (), "lines": 1000, "rejected": 0,
    }  # fmt: skip
    return LogCoverage(**(values | more))


def covered(*logs: LogCoverage, **more: Any) -> Coverage:
    return cover(logs, start_us=START, until_us=UNTIL, max_gap_us=GAP, **more)


WHOLE = range(900, 5101, 100)


def test_a_steady_log_around_the_window_covers_it() -> None:
    result = covered(log(WHOLE))
    assert result.window_covered
    assert result.gaps == ()
    assert (result.first_us, result.last_us) == (900 * MIN, 5100 * MIN + 1)
    assert result.logs[0].shortcomings == ()


SHORT: list[tuple[LogCoverage, str]] = [
    (log(range(1000, 5101, 100)), "no_records_before"),
    (log(range(900, 4901, 100)), "no_records_after"),
    (log([*range(900, 2001, 100), *range(2601, 5200, 100)]), "silence"),
    (log([300, *range(1001, 5200, 100)]), "silence"),
    (log(WHOLE, sampled=True), "sampled"),
    (log(WHOLE, rejected=11), "too_many_rejects"),
    (log(WHOLE, blind=("size_cap",)), "blind:size_cap"),
]


@pytest.mark.parametrize(("short", "code"), SHORT)
def test_a_log_that_falls_short_says_why(short: LogCoverage, code: str) -> None:
    result = covered(short)
    assert not result.window_covered
    assert result.logs[0].shortcomings == (code,)
    assert covered(short, log(WHOLE)).window_covered


def test_a_silence_as_long_as_allowed_is_none() -> None:
    assert covered(log([*range(900, 2001, 100), *range(2600, 5200, 100)])).window_covered


def test_one_reject_in_a_hundred_is_allowed() -> None:
    assert covered(log(WHOLE, rejected=10)).window_covered


def test_a_silence_outside_the_window_does_not_matter() -> None:
    assert covered(log([1, *WHOLE, 99_999])).window_covered


def test_gaps_are_what_no_log_covers_cut_to_the_window() -> None:
    early, late = log(range(900, 2001, 100)), log(range(3000, 5101, 100))
    result = covered(early, late)
    assert result.gaps == ((2000 * MIN + 1, 3000 * MIN),)
    assert covered(early).gaps == ((2000 * MIN + 1, UNTIL),)
    assert covered().gaps == ((START, UNTIL),)
    assert covered(log([])).gaps == ((START, UNTIL),)
    assert covered(log([1, 2])).gaps == ((START, UNTIL),)
    assert covered(log(WHOLE, sampled=True)).gaps == ()


def test_completeness_can_be_asserted_and_is_marked_so() -> None:
    result = covered(assume_complete=True)
    assert (result.window_covered, result.assumed, result.gaps) == (True, True, ())


def test_a_sampled_log_leaves_no_bound_unless_a_complete_one_covers_its_part() -> None:
    sampled = log(range(2000, 3001, 100), sampled=True)
    assert covered(sampled).unbounded
    assert covered(sampled, log(WHOLE)).unbounded is False
    assert covered(sampled, log(range(1900, 3201, 100))).unbounded is False
    assert covered(sampled, log(range(2200, 5101, 100))).unbounded
    assert covered(sampled, log(WHOLE, blind=("size_cap",))).unbounded
    assert covered(log([1, 2], sampled=True)).unbounded is False
    assert covered(log(WHOLE)).unbounded is False
