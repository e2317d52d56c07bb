"""Which units of no format look like what damage left of a record?

A record that lost its model and its usage is no record of any format any more. It still has nothing but keys of the records
around it, which the chatter of other programs has not.
"""

from __future__ import annotations

from typing import Any

LEAST_KEYS = 3
"""Fewer keys than this are no trace of a record."""
MOST = 4096


class Shapes:
    """The keys of records, and those of units of no format, of one piece."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._unknown: dict[frozenset[str], int] = {}

    def record(self, value: Any) -> None:
        """A unit that is of a format."""
        if type(value) is dict and len(self.known) < MOST and not value.keys() <= self.known:
            self.known.update(value)

    def foreign(self, value: Any, count: int = 1) -> None:
        """Units of no format that have the same keys."""
        if type(value) is dict and len(value) >= LEAST_KEYS:
            shape = frozenset(value)
            if shape in self._unknown or len(self._unknown) < MOST:
                self._unknown[shape] = self._unknown.get(shape, 0) + count

    def stumps(self) -> int:
        """How many units of no format have nothing but keys of records."""
        return sum(count for shape, count in self._unknown.items() if shape <= self.known)
