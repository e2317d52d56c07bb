"""How likely is a count of independent successes, and what does it say about the total behind it?

Pure. Tails of the binomial distribution through the incomplete beta function (continued fraction after Lentz) with
Loader's saddle-point form of the density, which keeps its accuracy where logarithms of factorials lose it: C. Loader, "Fast
and Accurate Computation of Binomial Probabilities" (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable

_TINY = 1e-300
_CLOSE = 1e-16
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188)
MAX_TOTAL = 10**15


def density(x: float, n: float, p: float) -> float:
    """The probability of exactly `x` successes in `n` trials, each with probability `p`; real `x` and `n` are allowed."""
    if p <= 0:
        return 1.0 if x == 0 else 0.0
    if p >= 1:
        return 1.0 if x == n else 0.0
    if x < 0 or x > n:
        return 0.0
    if x == 0:
        return math.exp(n * math.log1p(-p))
    if x == n:
        return math.exp(n * math.log(p))
    log = _stirling_error(n) - _stirling_error(x) - _stirling_error(n - x)
    log -= _deviance(x, n * p) + _deviance(n - x, n * (1 - p))
    return math.exp(log) * math.sqrt(n / (2 * math.pi * x * (n - x)))


def _stirling_error(n: float) -> float:
    """What Stirling's formula leaves out of log n!."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
    s = _STIRLING
    n2 = n * n
    return (s[0] - (s[1] - (s[2] - (s[3] - s[4] / n2) / n2) / n2) / n2) / n


def _deviance(x: float, mean: float) -> float:
    """`x log(x / mean) + mean - x`, also where the two are close."""
    if abs(x - mean) >= 0.1 * (x + mean):
        return x * math.log(x / mean) + mean - x
    v = (x - mean) / (x + mean)
    total, term, j = (x - mean) * v, 2 * x * v, 1
    while True:
        term *= v * v
        j += 2
        more = total + term / j
        if more == total:
            return total
        total = more


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = (1 - x) * density(a, a + b - 1, x)
    return front * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    h, m = d, 0
    while True:
        m += 1
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + numerator / c
            c = c if abs(c) > _TINY else _TINY
            step = d * c
            h *= step
        if abs(step - 1) < 4 * _CLOSE:
            return h


def at_most(x: int, n: int, p: float) -> float:
    """The probability of `x` successes or fewer in `n` trials."""
    if x < 0:
        return 0.0
    if x >= n:
        return 1.0
    return _beta(1 - p, n - x, x + 1)


def at_least(x: int, n: int, p: float) -> float:
    """The probability of `x` successes or more in `n` trials."""
    if x <= 0:
        return 1.0
    if x > n:
        return 0.0
    return _beta(p, x, n - x + 1)


def smallest_total(seen: int, rate: float, alpha: float) -> int:
    """The smallest total of which seeing `seen` or more has a probability over `alpha`."""
    if seen == 0 or rate >= 1:
        return seen
    return first_from(seen, lambda n: at_least(seen, n, rate) > alpha)


def largest_total(seen: int, rate: float, alpha: float) -> int:
    """The largest total of which seeing `seen` or fewer has a probability over `alpha`."""
    if rate >= 1:
        return seen
    return first_from(seen + 1, lambda n: at_most(seen, n, rate) <= alpha) - 1


def first_from(start: int, holds: Callable[[int], bool]) -> int:
    """The first whole number from `start` up where a condition holds that stays true once it is."""
    low, step = start, 1
    while not holds(low + step - 1):
        low += step
        step *= 2
        if low > MAX_TOTAL:
            return MAX_TOTAL
    high = low + step - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def share_interval(seen: int, of: int, alpha: float) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a share, at level 1 - alpha."""
    low = 0.0 if seen == 0 else _root(lambda p: at_least(seen, of, p) > alpha / 2)
    high = 1.0 if seen == of else _root(lambda p: at_most(seen, of, p) <= alpha / 2)
    return low, high


def _root(holds: Callable[[float], bool]) -> float:
    """The number between 0 and 1 from which on a condition holds."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
