"""What do a few plain keys of each line say, read a whole block at once?

Decodes only the keys that settle most lines. The lines are joined with a separator that no log can hold, so that a line
that is broken can never be mended by its neighbours. What the probe does not understand it leaves to the careful path.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

_NOTHING = "\x00"
"""A key that no JSON text has in plain form."""
_Text = str | None
_Scalar = str | int | float | bool | None


class Probe:
    """Reads the given keys of each line as attributes `model`, `time` and `a0`, `a1` ... (the further `keys`)."""

    def __init__(self, model: str, time: str | None, keys: Sequence[str] = ()) -> None:
        fields: list[tuple[str, Any, Any]] = [
            ("model", _Text, msgspec.field(name=model, default=None)),
            ("time", _Scalar, msgspec.field(name=time or _NOTHING, default=None)),
            *((f"a{i}", _Scalar, msgspec.field(name=key, default=None)) for i, key in enumerate(keys)),
        ]
        shape = msgspec.defstruct("Line", fields, gc=False)
        self._one = msgspec.json.Decoder(shape)
        self._many = msgspec.json.Decoder(list[shape | str])  # type: ignore[valid-type]
        self._unread = shape()
        self._mark = secrets.token_hex(12)
        self._joint = f',"{self._mark}",'.encode()

    def block(self, data: bytes, newline: bytes, count: int) -> list[Any]:
        """The rows of `count` lines, of which the last, unless it is empty, may lack its end.

        A row of nothing needs a closer look.
        """
        body = data.removesuffix(newline)
        try:
            rows: list[Any] = self._many.decode("[" + body.replace(newline, self._joint).decode() + "]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.lines(body.split(newline))
        if len(rows) == 2 * count - 1 and rows[1::2] == [self._mark] * (count - 1):
            own = rows[::2]
            if str not in set(map(type, own)):
                return own
        return self.lines(body.split(newline))

    def lines(self, lines: Sequence[bytes]) -> list[Any]:
        """The rows of lines, each read by itself."""
        return [self._line(line) for line in lines]

    def _line(self, line: bytes) -> Any:
        try:
            return self._one.decode(line.decode())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._unread
