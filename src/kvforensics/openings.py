"""Which event announced the request that this one tells about?

Some logs write two events a request, one when it arrives and one when it is done, with the same key. They are one record:
it has the line and the start of the first, and what the second says. A request that never gets its second event is a
record of its own, of which only the arrival is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kvforensics.paths import compile_path, lookup, text_of

MAX_OPEN = 1 << 16
MAX_HELD = 32 << 20
"""More bytes of open requests than this are not kept: such a record has no evidence, but its place in the file."""
OPENING = "opening"
"""The key under which a record has the plain values of the event that announced it."""
_PLAIN = (str, int, float, bool)


class Event(Struct, frozen=True):
    """A decoded unit and where it is; `data` is None where the bytes do not exist or are not kept."""

    value: Any
    line: int
    offset: int | None
    length: int | None
    data: bytes | None
    reasons: tuple[str, ...]


class Openings:
    """The open requests of one stream of events, of which no more than `MAX_OPEN` are remembered."""

    def __init__(self, opening: tuple[str, str, str]) -> None:
        path, self._wanted, key = opening
        self._path, self._key = compile_path(path), compile_path(key)
        self._open: dict[str, Event] = {}
        self._held = 0

    def take(self, event: Event) -> tuple[list[Event], bool]:
        """The records that are settled by this event, and whether it is the second event of one of them.

        An event that opens a request settles none, but may push out the one that has been open for longest.
        """
        key = text_of(lookup(event.value, self._key))
        if key is None:
            return [event], False
        if text_of(lookup(event.value, self._path)) != self._wanted:
            first = self._drop(key)
            return [event if first is None else _joined(first, event)], first is not None
        settled = [] if (again := self._drop(key)) is None else [again]
        if len(self._open) >= MAX_OPEN and (oldest := self._drop(next(iter(self._open)))):
            settled.append(oldest)
        data = event.data if event.data is not None and self._held + len(event.data) <= MAX_HELD else None
        plain = {k: v for k, v in event.value.items() if type(v) in _PLAIN}
        self._open[key] = Event({OPENING: plain}, event.line, event.offset, event.length, data, event.reasons)
        self._held += len(data or b"")
        return settled, False

    def rest(self) -> Iterator[Event]:
        """The requests that are still open, in the order of their lines."""
        while self._open:
            if event := self._drop(next(iter(self._open))):
                yield event

    def _drop(self, key: str) -> Event | None:
        event = self._open.pop(key, None)
        self._held -= len(event.data or b"") if event else 0
        return event


def _joined(first: Event, second: Event) -> Event:
    value = {**second.value, **first.value}
    return Event(value, first.line, second.offset, second.length, second.data, (*first.reasons, *second.reasons))
