"""Which HTTP statuses do child spans tell of the calls around them?"""

from __future__ import annotations

from collections.abc import Mapping

MAX_STATUSES = 1 << 18


def add_statuses(told: dict[tuple[str, str], int], more: Mapping[tuple[str, str], int]) -> None:
    """Add what child spans tell, up to a bound: what is not kept is unknown, never wrong."""
    for parent, status in more.items():
        if parent in told:
            told[parent] = better(told[parent], status)
        elif len(told) < MAX_STATUSES:
            told[parent] = status


def better(one: int, other: int) -> int:
    """What two attempts of a call say together: an answer if any was given, else an abort, else the lower status."""
    return min(one, other, key=lambda s: (not 200 <= s < 300, s != 499, s))
