"""Which lines are inside a whole block of objects of one layer of JSON?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter, methodcaller
from typing import Any

import msgspec

from kvforensics.decode import decode_unit
from kvforensics.framing import Block
from kvforensics.layer import Layer, Signature, may_meet
from kvforensics.outline import NEVER
from kvforensics.paths import compile_path
from kvforensics.peel_lines import Inner, Lines, around, inside
from kvforensics.wrapper_spec import Wrapper

MOST_LESSONS = 5
MAX_KEYS = 64


class Messages:
    """Parses only the message and what would make a line special."""

    def __init__(self, wrapper: Wrapper, signature: Signature, steps: tuple[str, ...]) -> None:
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
        for terms in signature:
            keys = {s[0]: wanted for s, wanted in terms if len(s) == 1 and s[0] not in taken}
            shape = _struct("Outer", fields, {**keys, **dict.fromkeys(continued, False)})
            self._decoders.append(msgspec.json.Decoder(shape))

    @classmethod
    def of(cls, wrapper: Wrapper, layer: Layer) -> Messages | None:
        """A parser, None where paths are no plain keys."""
        steps = compile_path(wrapper.message[0])
        special = [compile_path(path) for path, _ in (*wrapper.framing, *wrapper.goes_on)]
        if any(s[0] in "[~*" for s in steps) or len(steps) > 2 or any(len(p) != 1 for p in special):
            return None
        return cls(wrapper, layer.signature, steps)

    def read(self, block: Block) -> Inner | None:
        """The lines inside, None where pieces have to be joined or nothing fits."""
        lines = Lines(block.data)
        rows = self._together(lines)
        whole = None if rows is None else self._whole(block, lines, rows)
        return whole or self._apart(block, lines.split(), rows or [None] * len(lines))

    def _whole(self, block: Block, lines: Lines, rows: Sequence[Any]) -> Inner | None:
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
        own = Lines(data)
        if len(own) != len(texts) or not own.begin_objects():
            return None
        return Inner(data, len(texts), lambda places: around(block, lines, places, lambda k: texts[k].encode()), block.data)

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
        return inside(block, inner, block.data)

    def _together(self, lines: Lines) -> list[Any] | None:
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


class LoggerMessages(Messages):
    """The messages of JSON loggers, whose objects may have any other keys.

    As an object with such a key may be in another layer or be a record itself, all keys have to be known; they are learned.
    """

    def __init__(self, wrapper: Wrapper, others: Sequence[Signature]) -> None:
        super().__init__(wrapper, (), (wrapper.message[0],))
        self._wrapper, self._others = wrapper, others
        self._keys: frozenset[str] = frozenset()
        self._lessons = 0

    def _together(self, lines: Lines) -> list[Any] | None:
        rows = super()._together(lines)
        if rows is None and self._lessons < MOST_LESSONS:
            self._lessons += 1
            self._learn(lines.split())
            rows = super()._together(lines)
        return rows

    def _learn(self, lines: Sequence[bytes]) -> None:
        """Take in the keys of lines, but for those of which an object may be something else."""
        for keys in {tuple(v) for line in lines if type(v := decode_unit(line).value) is dict}:
            known = self._keys.union(keys)
            if len(known) <= MAX_KEYS and self._message(known) and not any(may_meet(o, known) for o in self._others):
                self._keys = known
        text = self._message(self._keys)
        if text:
            fields: list[tuple[str, Any, Any]] = [("text", str, msgspec.field(name=text))]
            fields += _may_be_there(sorted(self._keys - {text}), msgspec.Raw)
            shape = msgspec.defstruct("Outer", fields, gc=False, kw_only=True, forbid_unknown_fields=True)
            self._decoders = [msgspec.json.Decoder(shape)]

    def _message(self, keys: frozenset[str]) -> str | None:
        """Which key is that of the message, None where it is not only one, or where a line may be continued."""
        texts = keys.intersection(self._wrapper.message)
        plain = len(texts) == 1 and all(k.isprintable() and not {'"', "\\"} & {*k} for k in keys)
        return next(iter(texts)) if plain and keys.isdisjoint(k for k, _ in self._wrapper.goes_on) else None


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
    asked = keys or {}
    made += [(f"own{i}", msgspec.Raw, msgspec.field(name=key)) for i, key in enumerate(asked) if asked[key]]
    made += _may_be_there([key for key, wanted in asked.items() if not wanted], NEVER)
    return msgspec.defstruct(name, made, gc=False, kw_only=True)


def _may_be_there(keys: Sequence[str], kind: Any) -> list[tuple[str, Any, Any]]:
    """Fields that a type may lack."""
    unset = msgspec.UNSET
    return [(f"key{i}", kind | msgspec.UnsetType, msgspec.field(name=k, default=unset)) for i, k in enumerate(keys)]
