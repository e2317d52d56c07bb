"""Is the arithmetic of estimates right: against other libraries, at its edges, and over thousands of simulated samples?"""

from __future__ import annotations

import math
import random
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics.binomial import at_least, at_most, density, largest_total, share_interval, smallest_total
from kvforensics.estimate import (
    MAX_TOTAL,
    Number,
    Stratum,
    Z,
    chao1,
    chapman,
    most_in_sampled_sum,
    most_in_sum,
    none_seen,
    overlap_at_least,
    told,
    total,
    totals,
)

RUNS = 2_000
TRUTHS = (5, 20, 155, 2_000)
RATES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0)


def test_binomial_tails_equal_those_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats")
    chance, worst = random.Random(1), 0.0
    for _ in range(3_000):
        n = int(10 ** chance.uniform(0, 6))
        p = 10 ** chance.uniform(-6, 0) if chance.random() < 0.5 else chance.random()
        x = min(n, max(0, round(n * p + chance.gauss(0, 3) * math.sqrt(n * p * (1 - p)))))
        worst = max(
            worst,
            abs(at_most(x, n, p) - scipy.binom.cdf(x, n, p)),
            abs(at_least(x, n, p) - scipy.binom.sf(x - 1, n, p)),
            abs(density(x, n, p) - scipy.binom.pmf(x, n, p)),
        )
    assert worst < 1e-9


def test_the_interval_of_a_share_equals_that_of_statsmodels() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proportion = pytest.importorskip("statsmodels.stats.proportion")
    chance = random.Random(2)
    for _ in range(200):
        of = chance.randrange(1, 5_000)
        seen = chance.randrange(of + 1)
        expected = proportion.proportion_confint(seen, of, 0.05, "beta")
        assert share_interval(seen, of, 0.05) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("counts", [[1, 1, 1, 2, 2, 3], [1, 1, 1, 1], [2, 3, 5, 8], [1], [1, 1, 2, 2, 2, 9, 14], [4]])
def test_chao_1_equals_that_of_scikit_bio(counts: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("skbio.diversity.alpha._chao1")
    value, low, high = chao1(counts)
    assert value == pytest.approx(module.chao1(counts, bias_corrected=False), abs=1e-9)
    once, twice = counts.count(1), counts.count(2)
    if once and twice:
        # Its variance has 0.24 where Chao (1987) has 1/4; its interval is right for the right variance.
        ratio = once / twice
        variance = twice * (ratio**4 / 4 + ratio**3 + ratio**2 / 2)
        expected = module._chao_confidence_with_singletons(value, len(counts), variance, Z)
    else:
        expected = module.chao1_ci(np.array(counts), bias_corrected=False, zscore=Z)
    assert (low, high) == pytest.approx(tuple(expected), abs=1e-9)


@settings(max_examples=cases(100), deadline=None)
@given(st.integers(0, 300), st.floats(0.001, 0.999), st.sampled_from([0.05, 0.025, 0.005]))
def test_the_ends_of_a_total_are_where_its_tails_cross_the_level(seen: int, rate: float, alpha: float) -> None:
    low, high = smallest_total(seen, rate, alpha), largest_total(seen, rate, alpha)
    assert seen <= low <= high
    assert at_least(seen, low, rate) > alpha
    assert at_most(seen, high, rate) > alpha >= at_most(seen, high + 1, rate)
    if low > seen:
        assert at_least(seen, low - 1, rate) <= alpha


def test_nothing_seen_has_an_upper_end_and_is_never_none() -> None:
    rates = (0.01, 0.05, 0.1, 0.5)
    assert [largest_total(0, rate, 0.025) for rate in rates] == [367, 71, 35, 5]
    assert [none_seen(rate) for rate in rates] == [298, 58, 28, 4]
    assert total(Stratum(0.01, 0, 0)).upper == 367


def test_a_log_that_kept_everything_has_no_chance_in_it() -> None:
    found = totals([Stratum(1.0, 3, 7)])
    assert (found.value, found.lower, found.upper) == (3, 3, 7)
    assert largest_total(5, 1.0, 0.025) == smallest_total(5, 1.0, 0.025) == 5


def test_strata_add_up_and_a_complete_one_costs_no_level() -> None:
    alone, both = total(Stratum(0.1, 4, 4)), totals([Stratum(0.1, 4, 4), Stratum(1.0, 2, 2)])
    assert (both.value, both.lower, both.upper) == (alone.value + 2, alone.lower + 2, alone.upper + 2)


@cache
def ends(seen: int, rate: float, alpha: float) -> tuple[int, int]:
    found = total(Stratum(rate, seen, seen), alpha)
    return found.lower, found.upper


def coverage(parts: list[tuple[int, float]], seed: int) -> float:
    """The share of simulated samples whose interval holds the truth; `parts` are true totals with their rates."""
    dice = np.random.default_rng(seed)
    chancy = max(1, sum(rate < 1 for _, rate in parts))
    low, high = np.zeros(RUNS), np.zeros(RUNS)
    for truth, rate in parts:
        found = [ends(int(x), rate, 0.05 / chancy) for x in dice.binomial(truth, rate, RUNS)]
        low += [a for a, _ in found]
        high += [b for _, b in found]
    truth = sum(n for n, _ in parts)
    return float(np.mean((low <= truth) & (truth <= high)))


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_interval_of_one_stratum_holds_the_truth(truth: int, rate: float) -> None:
    assert coverage([(truth, rate)], seed=truth) >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_interval_of_several_strata_holds_the_truth(truth: int, rate: float) -> None:
    third = truth // 3
    parts = [(third, rate), (third, 0.1), (truth - 2 * third, min(1.0, 2 * rate))]
    assert coverage(parts, seed=truth + 1) >= 0.94


def test_two_independent_sources_give_the_truth_on_average_and_dependent_ones_give_less() -> None:
    dice, truth = np.random.default_rng(3), 155
    independent, dependent = [], []
    for _ in range(RUNS):
        first, second = dice.random(truth) < 0.9, dice.random(truth) < 0.8
        independent.append(chapman(int(first.sum()), int(second.sum()), int((first & second).sum())))
        hidden = dice.random(truth) < 0.2
        a, b = first & ~hidden, second & ~hidden
        dependent.append(chapman(int(a.sum()), int(b.sum()), int((a & b).sum())))
    assert np.mean([v for v, _, _ in independent]) == pytest.approx(truth, abs=1)
    assert np.mean([low <= truth <= high for _, low, high in independent]) >= 0.94
    assert np.mean([v for v, _, _ in dependent]) < 0.85 * truth


def test_overlaps_equal_those_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats")
    chance = random.Random(4)
    for _ in range(500):
        every = chance.randrange(1, 3_000)
        first, second = chance.randrange(every + 1), chance.randrange(every + 1)
        both = chance.randrange(min(first, second) + 1)
        expected = scipy.hypergeom.sf(both - 1, every, first, second)
        assert overlap_at_least(both, every, first, second) == pytest.approx(expected, abs=1e-9)


def test_chapman_on_equal_and_on_disjoint_sources() -> None:
    assert chapman(155, 155, 155) == (155, 155, 155)
    assert chapman(7, 7, 7)[1:] == (7, 9)
    value, low, high = chapman(3, 4, 0)
    assert value == 19
    assert 7 <= low < value < high == MAX_TOTAL


def test_a_sum_holds_at_most_its_tokens_by_the_smallest_prompt_over_the_threshold() -> None:
    assert most_in_sum(681_280, 681_280) == 0
    assert most_in_sum(681_281, 681_280) == 1
    assert most_in_sum(10 * 681_281, 681_280, requests=3) == 3
    assert most_in_sum(None, 681_280) is None
    assert most_in_sum(None, 681_280, requests=2) == 2
    # Extrapolated from one in ten: 68,128 tokens were seen, so no long prompt, which leaves an upper end all the same.
    assert most_in_sampled_sum(681_281, 681_280, 10) == largest_total(0, 0.1, 0.025) == 35


def test_a_number_says_what_it_is() -> None:
    assert told(Number(2.0, 1.23456, None, "by hand", "nothing", estimated=True)) == {
        "value": 2, "lower": 1.235, "upper": None, "kind": "estimated", "method": "by hand", "assumption": "nothing",
    }  # fmt: skip
