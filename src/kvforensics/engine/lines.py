"""Which whole lines did the engines print, source by source?

`peel` takes off containers and collectors and joins what they split; only lines that hold something of interest are looked
at, so that a long run-time log costs one search a line.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from json import JSONDecoder
from typing import Any, Protocol

from msgspec import Struct, field

from kvforensics.decompress import open_stream
from kvforensics.engine.dress import Printed, Ranks, undress, utc_instant
from kvforensics.framing import Transcoded, encoding_of, line_blocks, newline_of
from kvforensics.layer import outer_slots
from kvforensics.peel import Kind, Peeled, Peeler
from kvforensics.source import Source
from kvforensics.wrappers import all_wrappers, console

OWN_EVENTS = ("request.received", "request.finished", "request.received.openai")
_PIECES = re.compile(rb'^\S+ std(?:out|err) P|"(?:logtag|_p)":\s*"P"|CONTAINER_PARTIAL_MESSAGE|_LINE_BREAK')
_DOCKER_PIECE = re.compile(rb'^\{"log":"(?:[^"\\]|\\.)*?(?<!\\n)","stream"')
_SPLIT = (b" stdout P ", b" stderr P ", b'"logtag"', b'"_p"', b"CONTAINER_PARTIAL_MESSAGE", b"_LINE_BREAK", b'{"log":')
"""What a block holds in which a runtime may have split lines."""
_HEAD = 1 << 16


class EngineLine(Struct, frozen=True):
    """One whole line of an engine. `line` is the 1-based number of its first piece in the source."""

    source: str
    line: int
    node: str
    """The container, pod or machine that a wrapper names, else the source."""
    utc_us: int | None
    local_us: int | None
    ranks: Ranks
    text: str
    named: bool
    """Whether `node` was told by a wrapper."""

    def rank(self, name: str) -> int | None:
        """The number of one rank, None where the prefix does not tell it."""
        return next((number for kind, number in self.ranks if kind == name), None)


class SourceReport(Struct):
    """What was read of one source."""

    source: str
    sha256: str = ""
    size: int = 0
    lines: int = 0
    problems: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The source as it is written in a report."""
        return {
            "source": self.source,
            "sha256": self.sha256,
            "bytes": self.size,
            "lines": self.lines,
            "problems": self.problems,
        }


Left = Callable[[], Sequence[int]]
"""The places of the lines that were not taken, once they are known."""


class Lane(Protocol):
    """Takes lines in bulk."""

    depth: int
    """How many blocks may be under way."""

    def take(self, lines: Sequence[bytes], first: int) -> Left:
        """Take what it knows. Line `first` is the first one."""
        ...


def read_lines(
    source: Source, wanted: re.Pattern[bytes], report: SourceReport, lane: Lane | None = None
) -> Iterator[EngineLine]:
    """The lines of a source that hold something `wanted` and that the lane leaves; `report` is filled on the way."""
    with open_stream(source) as stream:
        head = stream.peek(_HEAD)
        encoding = encoding_of(head)
        text = stream if encoding in (None, "utf-8") else Transcoded(stream, encoding or "utf-8")
        layers = _Layers(source.name, wanted)
        under_way: deque[tuple[Sequence[bytes], int, Left]] = deque()
        for block in line_blocks(text, newline_of(head)):
            report.lines += block.lines
            lines = block.data.removesuffix(b"\n").split(b"\n")
            # What stands between the pieces of a split line may belong to it: such a block is read line by line.
            plain = block.reject is None and not any(mark in block.data for mark in _SPLIT)
            while under_way and (not plain or (lane is not None and len(under_way) > lane.depth)):
                done, first, taken = under_way.popleft()
                yield from layers.some(done, first, taken(), plain=True)
            if block.reject is not None:
                report.problems.append(f"line {block.first_line}: {block.reject}")
            elif lane is not None and plain and not layers.waits:
                under_way.append((lines, block.first_line, lane.take(lines, block.first_line)))
            else:
                yield from layers.some(lines, block.first_line, range(len(lines)), plain=plain)
        for done, first, taken in under_way:
            yield from layers.some(done, first, taken(), plain=True)
        yield from layers.left(report)
        report.sha256, report.size = stream.sha256, stream.raw_bytes
        if stream.problem:
            report.problems.append(stream.problem)


class _Layers:
    """Takes the lines of one source out of their layers."""

    def __init__(self, source: str, wanted: re.Pattern[bytes]) -> None:
        self._source, self._wanted = source, wanted
        # The time at the start of the engine's own lines is read with them.
        around = tuple(w for w in all_wrappers() if w is not console.WRAPPER)
        self._peeler = Peeler(around, _looks, lambda _: False)

    @property
    def waits(self) -> bool:
        """Whether a line is waiting for its rest."""
        return not self._peeler.is_closed

    def some(
        self, lines: Sequence[bytes], first: int, places: Sequence[int], *, plain: bool
    ) -> Iterator[EngineLine]:
        """The whole lines that end with the lines at these places of a block; in a `plain` one no line is split."""
        for place in places:
            # Progress bars write over their line: each of its states is looked at.
            for raw in lines[place].split(b"\r"):
                split = not plain and (_PIECES.search(raw) or _DOCKER_PIECE.match(raw))
                if split or self.waits or self._wanted.search(raw):
                    yield from self.lines(first + place, raw)

    def lines(self, number: int, raw: bytes) -> Iterator[EngineLine]:
        """The whole lines that end with this physical line."""
        peeled = self._peeler.line(raw, number, None)
        objects = _objects(raw) if peeled.kind is Kind.REJECT and raw[:1] == b"{" else []
        if len(objects) > 1:
            for one in objects:
                yield from self._made(self._peeler.line(one, number, None))
        else:
            yield from self._made(peeled)

    def left(self, report: SourceReport) -> Iterator[EngineLine]:
        """What was still waiting at the end of the source."""
        for peeled in self._peeler.rest():
            report.problems.append(f"line {peeled.place.line}: the end of a split line is missing")
            yield from self._made(peeled)

    def _made(self, peeled: Peeled) -> Iterator[EngineLine]:
        if peeled.kind is Kind.HELD or not self._wanted.search(peeled.data):
            return
        node = next((slots["node"][0] for layer in peeled.layers if "node" in (slots := outer_slots([layer]))), None)
        stamp = outer_slots(peeled.layers).get("stamp")
        text = peeled.data.decode("utf-8", "replace")
        named = node if isinstance(node, str) else None
        for part in text.splitlines() if peeled.layers else (text,):
            printed = undress(Printed(part, named, utc_instant(stamp[0]) if stamp else None))
            if self._wanted.search(printed.text.encode("utf-8", "replace")):
                yield EngineLine(
                    self._source, peeled.place.line, printed.node or self._source, printed.utc_us, printed.local_us,
                    printed.ranks, printed.text, printed.node is not None,
                )  # fmt: skip


def _looks(value: Any) -> int:
    """The engine's own objects are records, not wrappers around one."""
    own = isinstance(value, dict) and (value.get("event") in OWN_EVENTS or "request_parameters" in value)
    return 2 if own else 0


def _objects(raw: bytes) -> list[bytes]:
    """The objects that a shipper put one behind the other on a line; none where it is anything else."""
    text, at, found = raw.decode("utf-8", "replace").strip(), 0, list[bytes]()
    decoder = JSONDecoder()
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        found.append(text[at:end].encode("utf-8", "replace"))
        at = end
        while text[at : at + 1] in (" ", ",", "\t"):
            at += 1
    return found
