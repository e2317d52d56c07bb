"""What do the lines of a whole block say, read at once into objects of one shape?

The lines are joined with a separator that no log can hold, so that a line that is broken can never be mended by its
neighbours. A line that has not the shape is left to the careful path.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec


class Probe:
    """Reads lines as objects of a `msgspec.Struct` type."""

    def __init__(self, shape: type[msgspec.Struct]) -> None:
        self._one = msgspec.json.Decoder(shape)
        self._many = msgspec.json.Decoder(list[shape | str])  # type: ignore[valid-type]
        self._mark = secrets.token_hex(12)
        self.joint = f',"{self._mark}",'.encode()
        """What may stand between lines instead of a line end, where lines have line ends inside."""

    def block(self, data: bytes, newline: bytes, count: int) -> tuple[list[Any], bool]:
        """The rows of `count` lines, of which the last, unless it is empty, may lack its end, and whether all are read.

        One that is not is None.
        """
        body = data.removesuffix(newline)
        try:
            rows: list[Any] = self._many.decode("[" + body.replace(newline, self.joint).decode() + "]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.lines(body.split(newline)), False
        if len(rows) == 2 * count - 1 and rows[1::2] == [self._mark] * (count - 1):
            own = rows[::2]
            if str not in set(map(type, own)):
                return own, True
        return self.lines(body.split(newline)), False

    def lines(self, lines: Sequence[bytes]) -> list[Any]:
        """The rows of lines, each read by itself."""
        return [self._line(line) for line in lines]

    def _line(self, line: bytes) -> Any:
        try:
            return self._one.decode(line.decode())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
