"""Is a range whose ends may be unknown over a threshold, or inside a window?

Ends are inclusive; None is an end that nobody knows. The answer is True, False, or None where the evidence does not say.
Queries ask the same two questions in SQL, and their tests compare the answers with these.
"""

from __future__ import annotations


def over(low: int | None, high: int | None, threshold: int, uncertain_from: int) -> bool | None:
    """Whether a count in [low, high] is strictly over the threshold; from `uncertain_from` up to it, nobody can say."""
    if low is not None and low > threshold:
        return True
    if high is not None and high < uncertain_from:
        return False
    return None


def inside(earliest: int | None, latest: int | None, start: int, end: int, uncertain_until: int) -> bool | None:
    """Whether an instant in [earliest, latest] lies in [start, end); from `end` to `uncertain_until`, nobody can say."""
    if earliest is not None and latest is not None and earliest >= start and latest < end:
        return True
    if latest is not None and latest < start:
        return False
    if earliest is not None and earliest >= uncertain_until:
        return False
    return None
