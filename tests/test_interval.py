"""Do comparisons of open-ended ranges answer "unknown" exactly where some value says yes and another no?"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics.interval import inside, over

END = st.one_of(st.none(), st.integers(-3, 14))


def _points(low: int | None, high: int | None) -> range:
    return range(-5 if low is None else low, (16 if high is None else high) + 1)


def _folded(answers: set[bool | None]) -> bool | None:
    return answers.pop() if len(answers) == 1 else None


@settings(derandomize=True, deadline=None)
@given(low=END, high=END, threshold=st.integers(0, 10), band=st.integers(0, 3))
def test_over_is_what_every_possible_count_agrees_on(
    low: int | None, high: int | None, threshold: int, band: int
) -> None:
    if low is not None and high is not None and low > high:
        return
    uncertain_from = threshold + 1 - band
    each: set[bool | None] = {
        True if n > threshold else False if n < uncertain_from else None for n in _points(low, high)
    }
    assert over(low, high, threshold, uncertain_from) == _folded(each)


@settings(derandomize=True, deadline=None)
@given(earliest=END, latest=END, start=st.integers(0, 5), length=st.integers(1, 4), tail=st.integers(0, 3))
def test_inside_is_what_every_possible_instant_agrees_on(
    earliest: int | None, latest: int | None, start: int, length: int, tail: int
) -> None:
    if earliest is not None and latest is not None and earliest > latest:
        return
    end, until = start + length, start + length + tail
    each: set[bool | None] = {
        True if start <= t < end else False if t < start or t >= until else None for t in _points(earliest, latest)
    }
    # A range that covers only "before" and "after" is not possible, as it would cover the window too.
    assert inside(earliest, latest, start, end, until) == _folded(each)


def test_the_edges_are_half_open_and_the_band_is_unknown() -> None:
    assert inside(10, 10, 10, 20, 25) is True
    assert inside(9, 9, 10, 20, 25) is False
    assert inside(20, 20, 10, 20, 25) is None
    assert inside(25, 25, 10, 20, 25) is False
    assert inside(None, None, 10, 20, 25) is None
    assert [over(n, n, 681280, 681274) for n in (681273, 681274, 681280, 681281)] == [False, None, None, True]
