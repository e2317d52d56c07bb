"""Which counts may be published without giving a small one away?

A count below the limit is hidden (zero is not). Where the sum of a line is published, a hidden count could be had by
subtraction, so more counts are hidden until at least two are, and until what they add up to reaches the limit. Where that
cannot be, the sum is hidden too, and every count of the line with it. Rule and wording follow the CMS cell suppression
policy (https://resdac.org/node/1506).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

LIMIT = 11
"""Counts from one to one less than this are hidden unless another limit is asked for."""


class Line(Struct, frozen=True):
    """Counts that may be published with their sum; None is hidden."""

    cells: tuple[int | None, ...]
    total: int | None


def small(count: int, limit: int) -> bool:
    """Whether a count must not be told."""
    return 0 < count < limit


def published(count: int, limit: int) -> int | None:
    """A count that stands alone."""
    return None if small(count, limit) else count


def suppress(cells: Sequence[int], limit: int, *, total_is_known: bool = True) -> Line:
    """A line whose sum is published where it can be.

    `total_is_known` is False where the sum is hidden for a reason of its own: then no count of the line is told.
    """
    hidden_all = Line(tuple(None for _ in cells), None)
    total = sum(cells)
    if not total_is_known or small(total, limit):
        return hidden_all
    hidden = {at for at, count in enumerate(cells) if small(count, limit)}
    if not hidden:
        return Line(tuple(cells), total)
    # The smallest counts go first, those that are not zero before zeros: a zero protects nothing.
    others = sorted((at for at in range(len(cells)) if at not in hidden), key=lambda at: (cells[at] == 0, cells[at], at))
    for at in others:
        if len(hidden) > 1 and sum(cells[h] for h in hidden) >= limit and _open(cells, hidden, limit):
            break
        hidden.add(at)
    if len(hidden) < 2 or not _open(cells, hidden, limit):
        return hidden_all
    return Line(tuple(None if at in hidden else count for at, count in enumerate(cells)), total)


def _open(cells: Sequence[int], hidden: set[int], limit: int) -> bool:
    """Whether the sum of what is hidden leaves each hidden count open: reaching the limit, with two that are not zero."""
    values = [cells[at] for at in hidden]
    return sum(values) >= limit and sum(value > 0 for value in values) > 1
