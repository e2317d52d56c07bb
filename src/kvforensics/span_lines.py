"""Which spans does each line of an OpenTelemetry log hold, and which of them need a closer look?

A line is one export request with many spans, and every span is a unit of the ledger. The spans of a block are read in
columns, by which those that are framing, of another model or settled are passed. A span that is not that plain is looked
at closely by itself; a line that could not be read so goes, as a whole, to the careful reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol

from kvforensics.child_status import add_statuses
from kvforensics.envelope import Unit
from kvforensics.lane import UNITS_BYTES, Lane
from kvforensics.model_id import ModelReader
from kvforensics.raw import Extractor
from kvforensics.reading import HINTS, NARROW, WIDE
from kvforensics.scanned import Setting
from kvforensics.sealed import MARK
from kvforensics.span_attributes import Span
from kvforensics.span_bytes import raw_spans, read_request, read_span, tell_times_once
from kvforensics.span_groups import IDS, STATUS_KEYS, Group, SpanGroups
from kvforensics.span_hiding import Hiding
from kvforensics.span_units import line_units

_NARROW = tuple(slot for slot in NARROW if slot != "end")
"""A span that is read tells its start."""
Near = tuple[bytes, int, int | None, Sequence[bytes]]
"""A span that needs a closer look, its number, its offset, and what is around it."""


class _Held(NamedTuple):
    """Bytes that were read, a line or a span of its own: its spans, from which place of the batch on, and where it is."""

    first: int
    spans: Sequence[Span]
    data: bytes
    number: int
    """The number of its first span."""
    offset: int | None
    context: Sequence[bytes] | None
    """What is around a span of its own; None of a line."""

    @property
    def places(self) -> range:
        """The places of its spans in the batch."""
        return range(self.first, self.first + len(self.spans))

    def is_calm(self) -> bool:
        """Whether no span tells a time twice, and none has an encrypted field."""
        return tell_times_once(self.data, self.spans) and MARK not in self.data

    def units(self, wanted: AbstractSet[int]) -> Iterator[Near]:
        """Some of its spans."""
        if self.context is not None:
            yield self.data, self.number, self.offset, self.context
            return
        at = 0
        for i, (span, context) in zip(self.places, raw_spans(self.data), strict=True):
            if i in wanted:
                data = bytes(span)
                # One with the same text would be wanted as well.
                at = self.data.find(data, at)
                yield data, self.number + i - self.first, (self.offset or 0) + at, context
                at += len(data)


class Ledger(Protocol):
    """What takes the units."""

    def unit(self, data: bytes, line: int, offset: int | None, context: Sequence[bytes] = ()) -> None:
        """One unit of bytes."""

    def reject(self, line: int, offset: int | None, length: int | None, reason: str, data: bytes) -> None:
        """A unit that is no record."""

    def blanks(self, count: int = 1) -> None:
        """Blank lines."""

    def skip(self, count: int = 1) -> None:
        """Framing."""

    def passed(self, lane: Lane) -> None:
        """What a lane let pass."""


class SpanLines:
    """Reads the lines of one piece."""

    def __init__(
        self, setting: Setting, extractors: Sequence[Extractor], reader: ModelReader, ledger: Ledger
    ) -> None:
        self._ledger = ledger
        self._lane = None if setting.keep == "all" else Lane((), reader, setting.bounds, setting.wanted)
        self._settles = setting.keep == "open"
        self._groups = SpanGroups(extractors)
        self._hiding = Hiding(extractors, reader.marks)
        self._line = 0
        self._held: list[_Held] = []
        self._spans: list[Span] = []
        self._size = 0
        self._known: tuple[list[str], list[str]] = ([], [])
        """Traces and spans of no interest, side by side."""
        self._told: dict[tuple[str, str], int] = {}

    def next_line(self) -> int:
        """The number of the next unit."""
        self._line += 1
        return self._line

    def lines(self, lines: Sequence[bytes], offset: int, gap: int) -> None:
        """Physical lines one after another, the first at `offset`, with `gap` bytes between them."""
        for line in lines:
            if not line.strip():
                self._line += 1
                self._ledger.blanks()
            elif spans := read_request(line):
                self._hold(spans, line, self._line + 1, offset)
                self._line += len(spans)
            else:
                self._careful(line, offset)
            offset += len(line) + gap
        self._rest()

    def _careful(self, line: bytes, offset: int) -> None:
        items = line_units(line)
        if items is None:
            self.unit(line, self.next_line(), offset)
            return
        for item in items:
            at = offset + item.offset
            if isinstance(item, Unit):
                self.unit(item.data, self.next_line(), at, item.context)
            else:
                rest = line[item.offset : item.offset + item.length]
                self._ledger.reject(self.next_line(), at, item.length, item.reason, rest)

    def unit(self, data: bytes, number: int, offset: int | None, context: Sequence[bytes] = ()) -> None:
        """A span of its own, or what may be one."""
        span = read_span(data)
        if span is None:
            self._ledger.unit(data, number, offset, context)
            return
        self._hold([span], data, number, offset, context)
        self._size += len(data)
        if self._size >= UNITS_BYTES:
            self._rest()

    def _hold(
        self, spans: list[Span], data: bytes, number: int, offset: int | None, context: Sequence[bytes] | None = None
    ) -> None:
        self._held.append(_Held(len(self._spans), spans, data, number, offset, context))
        self._spans += spans

    def _rest(self) -> None:
        """Take the spans that wait."""
        spans, held = self._spans, self._held
        self._spans, self._held, self._size = [], [], 0
        every = list(self._groups.of(spans))
        near = self._hiding.among(every, [(each.places, each.data) for each in held])
        groups = []
        for group in (g.without(near) for g in every):
            if group.framing:
                near.update(self._frame(group))
            elif group.extractor is None or self._lane is None:
                near.update(group.at)
            else:
                groups.append(group)
        if self._lane is not None and groups:
            near.update(self._passing(self._lane, groups, held))
        for each in held:
            if not near.isdisjoint(each.places):
                for unit in each.units(near):
                    self._ledger.unit(*unit)

    def _passing(self, lane: Lane, groups: Sequence[Group], held: Sequence[_Held]) -> set[int]:
        """Let records pass that need no closer look; the places of the others."""
        rows, odd = self._groups.rows(groups, _NARROW, HINTS)
        near = lane.pass_by(rows)
        left = {*odd, *near}
        for group in (g for g in groups if not left.issuperset(g.at)):
            for known, key in zip(self._known, IDS[:2], strict=True):
                column = zip(group.at, group.columns[key].values, strict=True)
                known.extend([text for i, text in column if i not in left])
        if near and self._settles:
            few = [group.those([k for k, i in enumerate(group.at) if i in near]) for group in groups]
            rows, more = self._groups.rows([group for group in few if group.at], WIDE)
            rows.barred = {i for h in held if not near.isdisjoint(h.places) and not h.is_calm() for i in h.places}
            near = {*more, *lane.settle(rows)}
        if lane.is_full:
            self._ledger.passed(lane)
        return {*odd, *near}

    def finish(self) -> None:
        """Reads what still waits, and hands on what passed."""
        self._rest()
        if self._lane is not None:
            self._ledger.passed(self._lane)

    def _frame(self, group: Group) -> list[int]:
        """Count spans that are no records, and note what they tell of their parents; the places of those left."""
        plain, odd, told = self._groups.statuses(group)
        traces, owns, parents = (plain.columns[key].values for key in IDS)
        for known, more in zip(self._known, (traces, owns), strict=True):
            known.extend(more)
        for trace, parent, status in zip(traces, parents, told, strict=True):
            if status and parent:
                self._note(trace, parent, status)
        self._ledger.skip(len(plain.at))
        return odd

    def _note(self, trace: Any, parent: Any, status: Any) -> None:
        if parent and re.fullmatch(r"[1-5]\d\d", str(status)):
            add_statuses(self._told, {(trace, parent): int(str(status))})

    def framing(self, value: Any) -> None:
        """Note what a span that is no record tells of its parent."""
        if type(value) is dict and type(value.get("span")) is dict:
            span = value["span"]
            status = next((value[k] for k in STATUS_KEYS if value.get(k) is not None), None)
            for known, key in zip(self._known, ("traceId", "spanId"), strict=True):
                known.append(span.get(key))
            self._note(span.get("traceId"), span.get("parentSpanId"), status)

    def statuses(self) -> dict[tuple[str, str], int]:
        """The statuses told of spans that are not known to be of no interest."""
        known = set(zip(*self._known, strict=True)) if self._told else set()
        return {k: v for k, v in self._told.items() if k not in known}
