"""Which lines are inside a whole block, where all of it has the same one layer?

The fast way through a plain log in one wrapper. What does not fit is left to the careful way, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kvforensics.layer import Layer
from kvforensics.paths import compile_path
from kvforensics.wrapper_spec import Wrapper

Inner = tuple[list[bytes | None], Callable[[int], Any]]
"""For each line the JSON line inside it, None where it needs the careful way, and what reads the layer of a line."""


class BatchPeeler:
    """Reads blocks of one wrapper."""

    def __init__(self, wrapper: Wrapper) -> None:
        self.layer = Layer(wrapper)
        self._reader = None if wrapper.pattern else _struct_reader(wrapper)
        self._ends = wrapper.ends

    @classmethod
    def for_wrappers(cls, wrappers: Sequence[Wrapper]) -> BatchPeeler | None:
        """A reader where there is one wrapper, and one that can be read so."""
        if len(wrappers) != 1 or wrappers[0].last_resort or wrappers[0].is_record:
            return None
        return cls(wrappers[0])

    def read(self, lines: Sequence[bytes]) -> Inner | None:
        """The lines inside, None where pieces have to be joined or nothing fits."""
        data = b"\n".join(lines)
        if self.layer.wrapper.goes_on and self.layer.may_go_on(data):
            return None
        return self._json(lines, data) if self.layer.prefix is None else self._text(lines, self.layer.prefix)

    def _text(self, lines: Sequence[bytes], prefix: re.Pattern[bytes]) -> Inner | None:
        found = list(map(prefix.match, lines))
        inner = [
            line[m.end() :] if m and line.startswith(b"{", m.end()) else None
            for line, m in zip(lines, found, strict=True)
        ]

        def outer(i: int) -> Any:
            m = found[i]
            return {k: v.decode("utf-8", "replace") for k, v in m.groupdict().items() if v is not None} if m else {}

        return inner, outer

    def _json(self, lines: Sequence[bytes], data: bytes) -> Inner | None:
        if self._reader is None or not all(line[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
            return None
        try:
            rows = self._reader(data)
        except (msgspec.DecodeError, RecursionError):
            return None
        if len(rows) != len(lines):
            return None
        inner: list[bytes | None] = []
        ends = self._ends
        for text, plain in rows:
            line = text.encode() if plain and type(text) is str else _bytes(text) if plain else None
            if ends and line is not None:
                if not text.endswith(ends):
                    return None
                line = line.removesuffix(ends.encode())
            inner.append(line if line is not None and line[:1] == b"{" and b"\n" not in line else None)

        def outer(i: int) -> Any:
            return msgspec.json.decode(lines[i])

        return inner, outer


def _bytes(found: Any) -> bytes | None:
    if type(found) is list:
        try:
            return bytes(found)
        except (TypeError, ValueError):
            return None
    return None


def _struct_reader(wrapper: Wrapper) -> Callable[[bytes], list[tuple[Any, bool]]] | None:
    """A parser of only the message and of what would make a line special; None where paths are no plain keys."""
    steps = compile_path(wrapper.message[0])
    special = [compile_path(path) for path, _ in wrapper.framing]
    if any(s[0] in "[~*" for s in steps) or len(steps) > 2 or any(len(p) != 1 for p in special):
        return None
    text = str | list[Any] | dict[str, Any] | None
    marked = [(f"mark{i}", p[0], Any) for i, p in enumerate(special)]
    if len(steps) == 2:
        inner = _struct("Inner", [("text", steps[1], text)])
        kind = _struct("Outer", [("held", steps[0], inner | None), *marked])
    else:
        kind = _struct("Outer", [("text", steps[0], text), *marked])
    decode = msgspec.json.Decoder(kind).decode_lines
    marks = [f"mark{i}" for i in range(len(special))]

    def read(data: bytes) -> list[tuple[Any, bool]]:
        rows = decode(data)
        texts = [r.text if len(steps) == 1 else (r.held.text if r.held is not None else None) for r in rows]
        plain = [not any(getattr(r, m) for m in marks) for r in rows] if marks else [True] * len(rows)
        return list(zip(texts, plain, strict=True))

    return read


def _struct(name: str, fields: Sequence[tuple[str, str, Any]]) -> Any:
    made = [(attribute, kind, msgspec.field(name=key, default=None)) for attribute, key, kind in fields]
    return msgspec.defstruct(name, made, gc=False)
