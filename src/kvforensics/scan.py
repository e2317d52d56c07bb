"""What does one piece of a source hold?

The scanner takes units (lines, elements, rows), gives every one its place in the ledger, drops what is plainly another
model as early as it can, and hands the rest to `normalise` in batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvforensics.decode import decode_unit, once
from kvforensics.envelope import Unit
from kvforensics.framing import Block
from kvforensics.hidden_calls import UNKNOWN, HiddenCalls
from kvforensics.lane import Lane
from kvforensics.layer import fewest_signs
from kvforensics.layered import Found, Layered
from kvforensics.learned import Near
from kvforensics.model_id import ModelReader
from kvforensics.openings import Event, Openings
from kvforensics.peel import EXCERPT, LEFT_OUT
from kvforensics.peel_lines import Inner
from kvforensics.raw import Extractor
from kvforensics.scanned import Scanned, Setting, Tally
from kvforensics.sieve import Held, Sieve
from kvforensics.span_lines import SpanLines
from kvforensics.span_units import views_of
from kvforensics.spooled import PieceRejects
from kvforensics.stumps import Shapes
from kvforensics.table_lane import Counts, TableLane
from kvforensics.text_lane import TextLane
from kvforensics.views import view

BATCH = 16384
HELD_BYTES = 32 << 20
"""Units wait for their batch only up to this size, so that long lines do not add up."""
ROW_BYTES = 1024
LEARNT = 8
"""Lines of a block from which the keys of records are learnt."""


class Scanner:
    """Reads the units of one piece; `finish` gives the result."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._reader = ModelReader(setting.incident)
        self._extractors = [Extractor(f, setting.tenant_by) for f in setting.formats]
        self._openings = {k: Openings(f.opening) for k, f in enumerate(setting.formats) if f.opening}
        self._pending: list[Held] = []
        self._held = 0
        self._shapes = Shapes()
        self._rejects = PieceRejects(setting.source)
        self.tally = Tally()
        self._views = views_of(setting.formats)
        self._lane = None if setting.layered else self._open_lane()
        self._spans = SpanLines(setting, self._extractors, self._reader, self) if "otlp" in self._views else None
        self._hidden = HiddenCalls(self._reader, setting.incident.lowest_over)
        self._sieve = Sieve(setting, self.tally, self._reader, self._hidden)
        self._found: dict[int, Found] = {}
        self._layered: Layered | None = None
        if setting.layered:
            self._layered = Layered(self, setting.wrappers, setting.only, self._extractors, self._reader, setting.newline)
        self._texts: TextLane | None = None
        if setting.layered and setting.newline == b"\n" and not setting.only and not self._views:
            lane = TableLane(setting, (), (), self._reader, Counts(self._sieve, self.skip, self._shapes))
            self._texts = TextLane(lane, self._extractors, setting.wrappers, self._shapes)

    def lines(self, block: Block, newline: bytes) -> None:
        """A block of physical lines, each of which should be one JSON object."""
        if block.reject is not None:
            self.tally.bytes += block.length
            number = block.first_line if self._spans is None else self._spans.next_line()
            self.reject(number, block.offset, block.length, block.reject, block.data)
            return
        self.tally.bytes += len(block.data)
        if self._lane is not None and self._layered is None:
            if not self._shapes.known:
                self._learn(block.data, newline)
            self._take(self._lane.take(block, newline))
            return
        if self._layered is not None:
            left = self._texts.take(block) if self._texts is not None and self._layered.is_closed else None
            if left is None:
                self._layered.lines(block, newline)
            for line, number, at in left or ():
                self._layered.unit(line, number, at)
            return
        lines = block.split(newline)
        if self._spans is not None:
            self._spans.lines(lines, block.offset, len(newline))
            return
        at = block.offset
        for number, line in enumerate(lines, block.first_line):
            self.unit(line, number, at)
            at += len(line) + len(newline)

    def passed(self, lane: Lane) -> None:
        """What a lane let pass."""
        self._sieve.passed(lane)

    def _learn(self, data: bytes, newline: bytes) -> None:
        """Learn the keys of records from the first lines of a block, as the lane hands on only some of them."""
        for line in data.split(newline, LEARNT)[:LEARNT]:
            decoded = decode_unit(line)
            if decoded.reject is None and any(e.matches(decoded.value) for e in self._extractors):
                self._shapes.record(decoded.value)

    def _open_lane(self, inner: bytes = b"") -> Lane | None:
        s = self._setting
        own = [e for e in self._extractors if not e.format.pattern]
        if s.keep == "all" or self._views or not own:
            return None
        signs = fewest_signs(s.wrappers if s.layered else (), inner)
        return Lane(own, self._reader, s.bounds, s.wanted, signs, inside=s.layered)

    def _take(self, near: Iterable[Near]) -> None:
        """Takes the lines that a lane leaves, and what it let pass where that is much."""
        for line in near:
            (self.unit if self._layered is None else self._layered.aside)(*line)
        if self._lane is not None and self._lane.is_full:
            self._sieve.passed(self._lane)

    def element(self, unit: Unit) -> None:
        """An element of a JSON document."""
        if self._lane is None or self._layered is not None:
            (self._spans or self).unit(unit.data, unit.ordinal, unit.offset, unit.context)
            return
        if unit.ordinal <= LEARNT:
            self._learn(unit.data, self._lane.joint)
        if self._lane.hold(unit):
            self._take(self._lane.take_held())

    def unit(self, data: bytes, line: int, offset: int | None, context: Sequence[bytes] = ()) -> None:
        """One unit of bytes; `context`: see `envelope.Unit`."""
        if self._layered is not None:
            self._layered.unit(data, line, offset)
            return
        if not data.strip():
            self.blanks()
            return
        decoded = decode_unit(data)
        if decoded.reject is not None:
            self.reject(line, offset, len(data), decoded.reject, data)
            return
        value, reasons = decoded.value, decoded.reasons
        if self._views:
            value, names = once(data, value)
            value, more = view(self._views, value, context)
            reasons = (*reasons, *names, *more)
        self._hold((value, line, offset, len(data), data, reasons))

    def row(self, value: Any, line: int, offset: int | None, data: bytes | None, reasons: tuple[str, ...] = ()) -> None:
        """One row of a table."""
        if self._layered is None:
            self.value(value, line, offset, data, reasons)
        else:
            self._layered.row(value, line, offset, data, reasons)

    def table(self, names: Sequence[str], nested: Sequence[str]) -> TableLane | None:
        """What reads a table of these columns, None where it has to be read row by row. `nested`: no scalars."""
        if self._layered is not None or self._views:
            return None
        counts = Counts(self._sieve, self.skip, self._shapes)
        return TableLane.open(self._setting, self._extractors, names, nested, self._reader, counts)

    def inner(self, value: Any, found: Found) -> None:
        """A record that was inside other layers, or text."""
        place = found.place
        if found.layers or found.text_format or found.data is not place.raw:
            self._found[place.line] = found
        reasons = found.reasons
        if self._views and found.data:
            read, names = once(found.data, value)
            if names and decode_unit(found.data).value == value:
                value, reasons = read, (*reasons, *names)
        self.value(value, place.line, place.offset, found.data or None, reasons)

    def inner_lines(self, inner: Inner) -> list[Near] | None:
        """Lines of JSON that were inside lines of the source; those that are left, None where all are."""
        self._lane = self._lane or self._open_lane(inner.data)
        if self._lane is None:
            return None
        self._take(self._lane.take(Block(inner.data, 0, 0, inner.count), b"\n", inner.outer, inner.source))
        return [*inner.left, *(line for _, line in inner.outer(sorted(self._lane.odd)))]

    def value(
        self, value: Any, line: int, offset: int | None, data: bytes | None, reasons: tuple[str, ...] = (),
        length: int | None = None,
    ) -> None:  # fmt: skip
        """One decoded unit."""
        if self._views:
            value, more = view(self._views, value)
            reasons = (*reasons, *more)
        self._hold((value, line, offset, len(data) if data is not None else length, data, reasons))

    def _hold(self, unit: Held) -> None:
        self._pending.append(unit)
        self._held += len(unit[4]) if unit[4] is not None else ROW_BYTES
        if len(self._pending) >= BATCH or self._held >= HELD_BYTES:
            self._flush()

    def names_model(self, data: bytes) -> bool:
        """Whether bytes that are not read name the affected model."""
        return self._reader.mentions(data)

    def reject(self, line: int, offset: int | None, length: int | None, reason: str, data: bytes) -> None:
        """A unit that is no record; only the start of it is kept."""
        self.tally.lines += 1
        self.tally.rejected += 1
        self.tally.mentions = self.tally.mentions or reason == LEFT_OUT or self._reader.mentions(data)
        self._rejects.add((line, offset, length, reason, data[:EXCERPT]))

    def blanks(self, count: int = 1) -> None:
        """Units that hold nothing but white space."""
        self.tally.lines += count
        self.tally.blank += count

    def skip(self, count: int = 1, why: str = "") -> None:
        """Units that are framing, such as a header row, and why where that is worth telling."""
        self.tally.lines += count
        self.tally.framing += count
        if why:
            self.tally.framing_by[why] = self.tally.framing_by.get(why, 0) + count

    def _flush(self) -> None:
        pending, self._pending, self._held = self._pending, [], 0
        groups: dict[int, list[int]] = {}
        opened: dict[int, list[Event]] = {}
        sums: dict[int, list[Any]] = {}
        for i, item in enumerate(pending):
            which = self._which(item)
            (self._shapes.foreign if which is None else self._shapes.record)(item[0])
            if which is not None and self._extractors[which].format.aggregates:
                sums.setdefault(which, []).append(item[0])
            if which is None or self._hidden.is_framing(self._extractors[which], item[0]):
                found = self._found.pop(item[1], None)
                data = found.place.raw if found else item[4]
                unread = self._hidden.unread(None if which is None else self._extractors[which], item[0], data, item[5])
                if unread is not None:
                    self.reject(item[1], item[2], len(data) if data else None, UNKNOWN, unread)
                else:
                    self.skip()
                if self._spans is not None:
                    self._spans.framing(item[0])
            elif which in self._openings:
                settled, second = self._openings[which].take(Event(*item))
                if second:
                    self.skip()
                    self._told_at(item[1], settled[0].line)
                opened.setdefault(which, []).extend(settled)
            else:
                groups.setdefault(which, []).append(i)
        for which, events in sorted(opened.items()):
            self._events(which, events)
        for which, members in sorted(groups.items()):
            self._hand_on(which, [pending[i] for i in members])
        for which, values in sorted(sums.items()):
            self._sieve.sums(self._extractors[which], values)

    def _which(self, item: Held) -> int | None:
        """The extractor for a unit: that of its text format, else the first that matches."""
        found = self._found.get(item[1])
        if found is not None and found.text_format is not None:
            return next(k for k, e in enumerate(self._extractors) if e.format is found.text_format)
        return next((k for k, e in enumerate(self._extractors) if not e.format.pattern and e.matches(item[0])), None)

    def _told_at(self, line: int, first: int) -> None:
        """What was around the second event of a request is around its record."""
        found = self._found.pop(line, None)
        self._found.pop(first, None)
        if found:
            self._found[first] = found

    def _events(self, which: int, events: Sequence[Event]) -> None:
        if events:
            self._hand_on(which, [(e.value, e.line, e.offset, e.length, e.data, e.reasons) for e in events])

    def _hand_on(self, which: int, items: Sequence[Held]) -> None:
        self._sieve.take(self._extractors[which], items, [self._found.pop(i[1], None) for i in items])

    def finish(self) -> Scanned:
        """The result; the scanner is spent."""
        if self._lane is not None:
            self._take(self._lane.rest())
        if self._layered is not None:
            self.tally.is_cut = not self._layered.is_closed
            self._layered.finish()
        if self._spans is not None:
            self._spans.finish()
        self._flush()
        for which, openings in sorted(self._openings.items()):
            self._events(which, list(openings.rest()))
        if self._lane is not None:
            self._sieve.passed(self._lane)
        self.tally.stumps = self._shapes.stumps()
        table, minutes, left_out = self._sieve.result()
        told = (self._spans.statuses() if self._spans else {}, self._sieve.buckets())
        return Scanned(self.tally, table, self._rejects.table(), minutes, left_out, *told)
