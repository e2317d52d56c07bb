"""Which lines are inside a whole block, where all of it has the same one layer?

The fast way through a plain log in one wrapper. What does not fit is left to the careful way, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import Any

import msgspec
import numpy as np

from kvforensics.decode import decode_unit
from kvforensics.framing import Block
from kvforensics.lane import Near, Waiting
from kvforensics.layer import Layer
from kvforensics.outline import NEVER
from kvforensics.paths import compile_path
from kvforensics.wrapper_spec import Wrapper

_LINE_END, _OPENING, _CLOSING = b"\n{}"


@dataclass(frozen=True, slots=True)
class Inner:
    """Lines of JSON inside lines of the source."""

    data: bytes
    """The lines, each with its end."""
    count: int
    outer: Callable[[Sequence[int]], list[Waiting]]
    """Some of them, by their places, with what they are in."""
    left: Sequence[Near] = ()
    """Lines that need the careful way."""


class BatchPeeler:
    """Reads blocks of one wrapper."""

    def __init__(self, wrapper: Wrapper) -> None:
        self._layer = Layer(wrapper)
        self._cut = _cut(wrapper) if wrapper.pattern else None
        self._reader = None if wrapper.pattern else _Messages.of(wrapper, self._layer)

    @classmethod
    def for_wrappers(cls, wrappers: Sequence[Wrapper]) -> BatchPeeler | None:
        """A reader where there is one wrapper, and one that can be read so."""
        if len(wrappers) != 1 or wrappers[0].last_resort or wrappers[0].is_record:
            return None
        return cls(wrappers[0])

    def read(self, block: Block, newline: bytes) -> Inner | None:
        """The lines inside, None where pieces have to be joined or nothing fits."""
        if newline != b"\n":
            return None
        if self._cut is not None:
            return self._uniform(block, self._cut) or self._text(block)
        return self._reader.read(block) if self._reader is not None else None

    def are_whole(self, block: Block, newline: bytes) -> bool:
        """Whether it is sure that each line of a block is in the wrapper and none is continued."""
        inner = self.read(block, newline)
        return inner is not None and not inner.left

    def _uniform(self, block: Block, cut: re.Pattern[bytes]) -> Inner | None:
        """Where each line begins with the layer and goes on as an object, and none is continued."""
        _, *inner = cut.split(b"\n" + block.data.removesuffix(b"\n"))
        # As many parts as lines: so each line end is before one.
        return _inner(block, inner) if len(inner) == block.lines else None

    def _text(self, block: Block) -> Inner | None:
        if self._layer.wrapper.goes_on and self._layer.may_go_on(block.data):
            return None
        lines = block.split(b"\n")
        found = map(self._layer.match, lines)
        inner = [
            line[m.end() :] if m and line.startswith(b"{", m.end()) else None
            for line, m in zip(lines, found, strict=True)
        ]
        return _inner(block, inner)


class _Messages:
    """Parses only the message and what would make a line special."""

    def __init__(self, wrapper: Wrapper, layer: Layer, steps: tuple[str, ...]) -> None:
        text = str | list[Any] | dict[str, Any] | None
        self._ends = wrapper.ends.encode()
        fields: list[tuple[str, str, Any]] = [("text", steps[-1], text)]
        if len(steps) == 2:
            fields = [("held", steps[0], _struct("Held", fields) | None)]
        self._get: Callable[[Any], Any] = attrgetter("text") if len(steps) == 1 else _nested
        self._marks = [attrgetter(f"mark{i}") for i in range(len(wrapper.framing))]
        fields += [(f"mark{i}", path, Any) for i, (path, _) in enumerate(wrapper.framing)]
        continued = {path for path, _ in wrapper.goes_on}
        taken = {steps[0], *(path for path, _ in wrapper.framing), *continued}
        self._decoders = []
        for terms in layer.signature:
            keys = {s[0]: wanted for s, wanted in terms if len(s) == 1 and s[0] not in taken}
            shape = _struct("Outer", fields, {**keys, **dict.fromkeys(continued, False)})
            self._decoders.append(msgspec.json.Decoder(shape))

    @classmethod
    def of(cls, wrapper: Wrapper, layer: Layer) -> _Messages | None:
        """A parser, None where paths are no plain keys."""
        steps = compile_path(wrapper.message[0])
        special = [compile_path(path) for path, _ in (*wrapper.framing, *wrapper.goes_on)]
        if any(s[0] in "[~*" for s in steps) or len(steps) > 2 or any(len(p) != 1 for p in special):
            return None
        return cls(wrapper, layer, steps)

    def read(self, block: Block) -> Inner | None:
        lines = _Lines(block.data)
        rows = self._together(lines)
        whole = None if rows is None else self._whole(block, lines, rows)
        return whole or self._apart(block, lines.split(), rows or [None] * len(lines))

    def _whole(self, block: Block, lines: _Lines, rows: Sequence[Any]) -> Inner | None:
        """Where each message is one line, an object as far as its start shows."""
        if self._ends not in (b"", b"\n") or any(any(map(mark, rows)) for mark in self._marks):
            return None
        texts = list(map(self._get, rows))
        try:
            if self._ends and not all(map(methodcaller("endswith", "\n"), texts)):
                return None
            data = ("".join(texts) if self._ends else "\n".join((*texts, ""))).encode()
        except (AttributeError, TypeError):
            return None
        own = _Lines(data)
        if len(own) != len(texts) or not own.begin_objects():
            return None
        return Inner(data, len(texts), lambda places: _outer(block, lines, places, lambda k: texts[k].encode()))

    def _apart(self, block: Block, lines: Sequence[bytes], rows: Sequence[Any]) -> Inner | None:
        """Where lines are broken or messages odd, None where a line may be of another layer or continued."""
        inner = []
        for line, known in zip(lines, rows, strict=True):
            row = self._row(line) if known is None else known
            if row is None and not _is_broken(line):
                return None
            text = None if row is None or any(mark(row) for mark in self._marks) else _bytes(self._get(row))
            if text is not None and not text.endswith(self._ends):
                return None
            text = text and text.removesuffix(self._ends)
            inner.append(text if text and text[:1] == b"{" and b"\n" not in text else None)
        return _inner(block, inner)

    def _together(self, lines: _Lines) -> list[Any] | None:
        """One row a line, None where they are not all of one alternative of the layer."""
        if not lines.are_objects() or not _is_text(lines.data):
            return None
        for k, decoder in enumerate(self._decoders):
            try:
                rows = decoder.decode_lines(lines.data)
            except (msgspec.DecodeError, RecursionError):
                continue
            self._decoders.insert(0, self._decoders.pop(k))
            return rows if len(rows) == len(lines) else None
        return None

    def _row(self, line: bytes) -> Any:
        """The row of a line, None where it is not of the layer."""
        for decoder in self._decoders if _is_text(line) else ():
            with suppress(msgspec.DecodeError, RecursionError):
                return decoder.decode(line)
        return None


class _Lines:
    """Where the lines of a block begin and end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._bytes = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(self._bytes == _LINE_END)
        self._ends = ends if data.endswith(b"\n") else np.append(ends, len(data))
        self._starts = np.append(0, self._ends[:-1] + 1)

    def __len__(self) -> int:
        return len(self._ends)

    def split(self) -> list[bytes]:
        """The lines without their ends."""
        return self.data.removesuffix(b"\n").split(b"\n")

    def spans(self, places: Sequence[int]) -> list[tuple[int, int]]:
        """Where some lines begin and end."""
        return list(zip(self._starts[places].tolist(), self._ends[places].tolist(), strict=True))

    def begin_objects(self) -> bool:
        """Whether each line begins like an object."""
        return bool((self._bytes.take(self._starts, mode="clip") == _OPENING).all())

    def are_objects(self) -> bool:
        """Whether each line begins and ends like an object.

        Between an end and a beginning of objects no value of JSON can go on, so that a line that is broken is not mended
        by its neighbours when they are read together.
        """
        return self.begin_objects() and bool((self._bytes[self._ends - 1] == _CLOSING).all())


def _inner(block: Block, inner: Sequence[bytes | None]) -> Inner | None:
    """Lines of a block in which some may be odd; None where all are."""
    held = [line for line in inner if line is not None]
    data = b"\n".join(held) + b"\n"
    if len(held) == len(inner):
        return Inner(data, len(held), lambda places: _outer(block, None, places, held.__getitem__))
    at = [i for i, line in enumerate(inner) if line is not None]
    odd = [i for i, line in enumerate(inner) if line is None]

    def outer(places: Sequence[int]) -> list[Waiting]:
        found = _outer(block, None, [at[k] for k in places], lambda _: b"")
        return [(held[k], line) for k, (_, line) in zip(places, found, strict=True)]

    left = [line for _, line in _outer(block, None, odd, lambda _: b"")]
    return Inner(data, len(held), outer, left) if held else None


def _outer(block: Block, lines: _Lines | None, places: Sequence[int], inner: Callable[[int], bytes]) -> list[Waiting]:
    """Lines of a block, each with what is inside."""
    if not places:
        return []
    spans = (lines or _Lines(block.data)).spans(places)
    return [
        (inner(i), (block.data[start:end], block.first_line + i, block.offset + start))
        for i, (start, end) in zip(places, spans, strict=True)
    ]


def _is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8. What is skipped is not looked at by the parser."""
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def _is_broken(line: bytes) -> bool:
    """Whether a line is neither in a layer nor a piece of another one."""
    return not line.strip() or (line[:1] == b"{" and decode_unit(line).reject is not None)


def _bytes(found: Any) -> bytes | None:
    if type(found) is str:
        return found.encode()
    if type(found) is list:
        try:
            return bytes(found)
        except (TypeError, ValueError):
            return None
    return None


def _nested(row: Any) -> Any:
    return None if row.held is None else row.held.text


def _struct(name: str, fields: Sequence[tuple[str, str, Any]], keys: Mapping[str, bool] | None = None) -> Any:
    """A type with values of these kinds, and keys that must be there, or must not."""
    made: list[tuple[str, Any, Any]] = [(a, kind, msgspec.field(name=key, default=None)) for a, key, kind in fields]
    for i, (key, wanted) in enumerate((keys or {}).items()):
        kind, default = (msgspec.Raw, msgspec.NODEFAULT) if wanted else (NEVER | msgspec.UnsetType, msgspec.UNSET)
        made.append((f"key{i}", kind, msgspec.field(name=key, default=default)))
    return msgspec.defstruct(name, made, gc=False, kw_only=True)


def _cut(wrapper: Wrapper) -> re.Pattern[bytes]:
    """What is before an object on a line that is not continued."""
    pattern = wrapper.pattern
    for path, wanted in wrapper.goes_on:
        pattern = pattern.replace(f"(?P<{path}>", f"(?!{re.escape(wanted)})(?P<{path}>")
    return re.compile(rb"\n(?:" + re.sub(r"\(\?P<\w+>", "(?:", pattern).encode() + rb")(?=\{)", re.MULTILINE)
