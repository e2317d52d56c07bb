"""Can a hidden count be had back from what is published?"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.suppression import Line, published, suppress


def test_a_small_count_takes_the_smallest_other_with_it() -> None:
    assert suppress([3, 20, 15, 0], 11) == Line((None, 20, None, 0), 38)


def test_zero_and_large_counts_are_told() -> None:
    assert suppress([0, 11, 40], 11) == Line((0, 11, 40), 51)


def test_hidden_counts_that_together_stay_small_take_more_with_them() -> None:
    assert suppress([1, 2, 30, 0], 11) == Line((None, None, None, 0), 33)


@pytest.mark.parametrize("cells", [[3], [3, 0, 0], [4, 5]])
def test_a_sum_that_is_small_hides_the_whole_line(cells: list[int]) -> None:
    assert suppress(cells, 11) == Line(tuple(None for _ in cells), None)


def test_a_line_whose_sum_is_hidden_tells_nothing() -> None:
    assert suppress([20, 30], 11, total_is_known=False) == Line((None, None), None)


def test_a_count_alone_is_told_from_the_limit_on() -> None:
    assert [published(n, 11) for n in (0, 1, 10, 11)] == [0, None, None, 11]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=4), st.integers(2, 5))
def test_no_hidden_count_follows_from_the_line(cells: list[int], limit: int) -> None:
    """Every line that could look like this one is tried: none of its hidden counts may be the same in all of them."""
    line = suppress(cells, limit)
    hidden = [at for at, told in enumerate(line.cells) if told is None]
    assert all(not 0 < told < limit for told in line.cells if told is not None)
    if not hidden or line.total is None:
        return
    rest = line.total - sum(told for told in line.cells if told is not None)
    possible = [p for p in product(range(rest + 1), repeat=len(hidden)) if sum(p) == rest]
    for place in range(len(hidden)):
        assert len({p[place] for p in possible}) > 1
