"""How many may there be, when only some were seen?

Pure arithmetic: totals behind a sample, distinct tenants, two sources, sums of requests. Nothing here guesses a rate: what
is not documented cannot be estimated.

| question | method |
|---|---|
| total behind an independent sample | Horvitz-Thompson; interval by inverting the exact binomial distribution |
| several rates | the same in each stratum at level 1 - alpha/k, ends added up (Bonferroni): wide enough |
| distinct tenants, sampled by request | seen is a hard lower bound; Chao (1984), an estimated lower bound |
| two sources of the same traffic | Lincoln-Petersen with Chapman's correction, hypergeometric inversion |
| sums of several requests | a sum of T tokens holds at most T // (threshold + 1) prompts over the threshold |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from kvforensics.binomial import MAX_TOTAL, first_from, largest_total, smallest_total

LEVEL = 0.95
Z = 1.959963984540054
"""The 97.5 % point of the normal distribution, for intervals that only an approximation gives."""


class Number(Struct, frozen=True):
    """One number, and how it came about.

    `lower` and `upper` are its bounds; None is *no bound*. `method` and `assumption` are sentences for the reader,
    `assumption` None where nothing is assumed. `estimated` is false for what was counted.
    """

    value: float | None
    lower: float | None
    upper: float | None
    method: str
    assumption: str | None = None
    estimated: bool = False


class Stratum(Struct, frozen=True):
    """What was seen of a part of the traffic that was logged at one rate: `sure` for certain, `flagged` at the most."""

    rate: float
    sure: int
    flagged: int


class Total(Struct, frozen=True):
    """A total behind a sample: Horvitz-Thompson `value`, and the ends of its interval."""

    value: float
    lower: int
    upper: int


def total(stratum: Stratum, alpha: float = 1 - LEVEL) -> Total:
    """The total behind one stratum.

    The lower end rests on what is sure, the upper end on everything that is flagged, so the interval holds the truth wherever
    between the two the truth about the sample lies.
    """
    if stratum.rate >= 1:
        return Total(stratum.sure, stratum.sure, stratum.flagged)
    return Total(
        stratum.sure / stratum.rate,
        smallest_total(stratum.sure, stratum.rate, alpha / 2),
        largest_total(stratum.flagged, stratum.rate, alpha / 2),
    )


def totals(strata: Sequence[Stratum], alpha: float = 1 - LEVEL) -> Total:
    """The total behind several strata. A stratum that was logged whole has no chance in it and costs no level."""
    chancy = sum(s.rate < 1 for s in strata)
    parts = [total(s, alpha / max(chancy, 1)) for s in strata]
    return Total(sum(p.value for p in parts), sum(p.lower for p in parts), sum(p.upper for p in parts))


def none_seen(rate: float, alpha: float = 1 - LEVEL) -> int:
    """The largest total that a sample without a single hit leaves believable, one-sided."""
    return largest_total(0, rate, alpha)


def chao1(counts: Sequence[int]) -> tuple[float, float, float]:
    """Chao's estimated lower bound of the number of kinds, and its interval.

    `counts` says how often each kind was seen. The classic form where some kinds were seen twice, else the bias-corrected one.
    """
    seen = sum(c > 0 for c in counts)
    once, twice = float(sum(c == 1 for c in counts)), float(sum(c == 2 for c in counts))
    if once and twice:
        value = seen + once**2 / (2 * twice)
        ratio = once / twice
        variance = twice * (ratio**4 / 4 + ratio**3 + ratio**2 / 2)
    else:
        value = seen + once * (once - 1) / (2 * (twice + 1))
        if once and not twice:
            variance = once * (once - 1) / 2 + once * (2 * once - 1) ** 2 / 4 - once**4 / (4 * value)
        else:
            # Every kind was seen more than once: the variance of what single sightings would have told.
            several = sum(counts)
            share = math.exp(-several / seen) if seen else 0.0
            variance = seen * share * (1 - share)
            spread = Z * math.sqrt(variance)
            centre = seen / (1 - share) if share < 1 else float(seen)
            return value, max(float(seen), centre - spread / (1 - share)), centre + spread / (1 - share)
    beyond = value - seen
    if beyond <= 0:
        return value, value, value
    factor = math.exp(Z * math.sqrt(math.log1p(variance / beyond**2)))
    return value, seen + beyond / factor, seen + beyond * factor


def chapman(first: int, second: int, both: int, alpha: float = 1 - LEVEL) -> tuple[float, float, float]:
    """Chapman's estimate of a total that two independent sources saw parts of, and its interval.

    `first` and `second` count what each saw, `both` what both did. The ends are where the overlap becomes too large or too
    small to believe: the hypergeometric distribution, inverted. Where nothing is in both there is no upper end but `MAX_TOTAL`.
    """
    value = (first + 1) * (second + 1) / (both + 1) - 1
    seen = first + second - both
    low = first_from(seen, lambda n: 1 - overlap_at_least(both + 1, n, first, second) > alpha / 2)
    high = MAX_TOTAL
    if both:
        high = first_from(max(seen, low) + 1, lambda n: overlap_at_least(both, n, first, second) <= alpha / 2) - 1
    return value, low, high


def overlap_at_least(both: int, total_: int, first: int, second: int) -> float:
    """The probability that `first` and `second` of `total_`, drawn independently, have at least `both` in common."""
    least, most = max(0, first + second - total_), min(first, second)
    if both <= least:
        return 1.0
    if both > most:
        return 0.0
    if both <= (first + 1) * (second + 1) // (total_ + 2):
        # Below the mode terms grow upwards, so what is missing is added up instead, downwards.
        return 1.0 - _run(both - 1, least, -1, total_, first, second)
    return _run(both, most, 1, total_, first, second)


def _run(both: int, until: int, step: int, total_: int, first: int, second: int) -> float:
    """The sum of the probabilities of overlaps from `both` away from the mode."""
    neither = total_ - first - second
    term = math.exp(_choose(first, both) + _choose(total_ - first, second - both) - _choose(total_, second))
    found, x = term, both
    while x != until and term > found * 1e-17:
        if step > 0:
            term *= (first - x) * (second - x) / ((x + 1) * (neither + x + 1))
        else:
            term *= x * (neither + x) / ((first - x + 1) * (second - x + 1))
        found += term
        x += step
    return min(found, 1.0)


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def most_in_sum(tokens: int | None, over: int, requests: int | None = None) -> int | None:
    """How many prompts over `over` tokens a sum can hold at the most; None where the sum is not known."""
    bounds = [b for b in (None if tokens is None else tokens // (over + 1), requests) if b is not None]
    return min(bounds) if bounds else None


def most_in_sampled_sum(tokens: int, over: int, interval: float, alpha: float = 1 - LEVEL) -> int:
    """The same for a sum that was extrapolated from a sample of one in `interval`: an upper end, not a bound."""
    seen = int(tokens / interval) // (over + 1)
    return largest_total(seen, 1 / interval, alpha / 2)


def told(number: Number) -> dict[str, float | str | None]:
    """A number as the summary shows it; fractions to three decimals."""
    return {
        "value": _shown(number.value),
        "lower": _shown(number.lower),
        "upper": _shown(number.upper),
        "kind": "estimated" if number.estimated else "actual",
        "method": number.method,
        "assumption": number.assumption,
    }


def _shown(value: float | None) -> float | None:
    if value is None:
        return None
    rounded = round(value, 3)
    return int(rounded) if float(rounded).is_integer() else rounded
