"""What do the lines of one piece hold where other layers are around them, or where they are text?

Stands between the units of a piece and the scanner: peels, tells text from records, and says why a line is framing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Protocol

import polars as pl
from msgspec import Struct

from kvforensics.decode import decode_unit
from kvforensics.framing import Block
from kvforensics.hidden_calls import UNKNOWN
from kvforensics.kept_calls import told_counts
from kvforensics.layer import is_fragment, outer_slots
from kvforensics.learned import Near
from kvforensics.made_once import FirstMatch, first_match
from kvforensics.model_id import ModelReader
from kvforensics.paths import text_of
from kvforensics.peel import EMPTY, Kind, Layers, Peeled, Peeler, Place
from kvforensics.peel_batch import BatchPeeler
from kvforensics.peel_lines import Inner
from kvforensics.raw import Extractor
from kvforensics.slot_text import microseconds, tags
from kvforensics.spec import Format
from kvforensics.text_lines import TextReader
from kvforensics.wrapper_spec import Wrapper

TEXT_BATCH = 16384
TEXT_BYTES = 16 << 20
_TIMES = ("start", "end", "stamp")
_ANSWERS = ("http_status", "state", "success", "error")


class Ledger(Protocol):
    """What the scanner offers."""

    def inner(self, value: Any, found: Found) -> None:
        """A record."""
        ...

    def inner_lines(self, inner: Inner) -> list[Near] | None:
        """Lines of JSON that were inside lines of the source; those that are left, None where all are."""
        ...

    def reject(self, line: int, offset: int | None, length: int | None, reason: str, data: bytes) -> None:
        """A line that is no record."""
        ...

    def skip(self, count: int = 1, why: str = "") -> None:
        """Lines that are framing."""
        ...

    def blanks(self, count: int = 1) -> None:
        """Lines of white space."""
        ...


class Found(Struct, frozen=True):
    """Where a record was found, in what, and by which text format, where it is text."""

    place: Place
    layers: Layers
    data: bytes
    reasons: tuple[str, ...] = ()
    text_format: Format | None = None


class Layered:
    """Reads units of a source with layers or text in it."""

    def __init__(
        self, ledger: Ledger, wrappers: Sequence[Wrapper], only: Sequence[str], extractors: Sequence[Extractor],
        reader: ModelReader, newline: bytes | None,
    ) -> None:  # fmt: skip
        self._ledger, self._reader, self._newline = ledger, reader, newline or b"\n"
        self._peeler, self._aside = (
            Peeler(wrappers, looks_like(first_match(extractors)), reader.mentions, newline) for _ in range(2)
        )
        self._text = TextReader([e.format for e in extractors])
        products = [e.signature for e in extractors if not (e.format.pattern or _is_home_made(e.format))]
        self._batch = BatchPeeler.among(wrappers, only, products)
        self._texts: list[Peeled] = []
        self._size = 0

    @property
    def is_closed(self) -> bool:
        """Whether no piece of a line waits for another."""
        return self._peeler.is_closed

    def lines(self, block: Block, newline: bytes) -> None:
        """Physical lines."""
        inner = self._batch.read(block, newline) if self._batch is not None and self.is_closed else None
        left = None if inner is None else self._ledger.inner_lines(inner)
        if left is not None:
            for line, number, at in sorted(left, key=itemgetter(1)):
                self.unit(line, number, at)
            return
        offset = block.offset
        for number, line in enumerate(block.split(newline), block.first_line):
            self.unit(line, number, offset)
            offset += len(line) + len(newline)

    def unit(self, data: bytes, line: int, offset: int | None) -> None:
        """One line or unit."""
        if data.strip():
            self._take(self._peeler.line(data, line, offset))
        else:
            self._ledger.blanks()

    def aside(self, data: bytes, line: int, offset: int | None) -> None:
        """A line that is known to be whole, out of its order."""
        self._take(self._aside.line(data, line, offset))

    def row(self, value: Any, line: int, offset: int | None, data: bytes | None, reasons: tuple[str, ...]) -> None:
        """One row of a table. What is taken as it is keeps the row's own bytes, or none."""
        self._take(self._peeler.row(value, line, offset, data, reasons))

    def _take(self, peeled: Peeled) -> None:
        place, ledger = peeled.place, self._ledger
        if peeled.pieces > 1:
            # Each piece but the first counts when it comes; the first counts as whatever the whole line turns out to be.
            ledger.skip(1, "continuation")
        if peeled.kind is Kind.HELD:
            return
        if peeled.kind is Kind.RECORD:
            ledger.inner(peeled.value, Found(place, peeled.layers, peeled.data, peeled.reasons))
        elif peeled.kind is Kind.FRAMING:
            if peeled.reason == EMPTY and self._tells_call(place.raw):
                ledger.reject(place.line, place.offset, len(place.raw), UNKNOWN, place.raw)
            else:
                ledger.skip(1, peeled.reason)
        elif peeled.kind is Kind.REJECT:
            ledger.reject(place.line, place.offset, len(place.raw), peeled.reason, place.raw)
        else:
            self._texts.append(peeled)
            self._size += len(peeled.data)
            if len(self._texts) >= TEXT_BATCH or self._size >= TEXT_BYTES:
                self._read_texts()

    def _read_texts(self) -> None:
        texts, self._texts, self._size = self._texts, [], 0
        left: Sequence[int] = range(len(texts))
        if self._text:
            lines = [t.data.decode("utf-8", "replace").rstrip("\r\n") for t in texts]
            taken, left = self._text.read(lines)
            for rows in taken:
                for i, record in zip(rows.rows, rows.groups.to_dicts(), strict=True):
                    t = texts[i]
                    self._ledger.inner(record, Found(t.place, t.layers, t.data, t.reasons, rows.format))
        for i in left:
            self._other(texts[i])

    def _other(self, text: Peeled) -> None:
        """Text that no pattern takes: a record behind a prefix, part of a broken one, or of no interest."""
        place, data = text.place, text.data
        value = behind_text(data)
        if value is not None:
            self._ledger.inner(value[0], Found(place, text.layers, value[1], text.reasons))
        elif self._reader.mentions(data) or is_fragment(data):
            self._ledger.reject(place.line, place.offset, len(place.raw), "syntax", place.raw)
        elif text.layers and self._tells_call(place.raw):
            self._ledger.reject(place.line, place.offset, len(place.raw), UNKNOWN, place.raw)
        else:
            self._ledger.skip(1, "other_text")

    def _tells_call(self, raw: bytes) -> bool:
        """Whether what is beside a text names the model and counts a prompt: loggers put fields there."""
        return any(mark in raw for mark in self._reader.marks) and self._reader.mentions(raw) and bool(told_counts(raw))

    def finish(self) -> None:
        """Everything that still waits."""
        for peeled in self._peeler.rest():
            self._take_last(peeled)
        if self._texts:
            self._read_texts()

    def _take_last(self, peeled: Peeled) -> None:
        # All pieces but the first were counted when they came.
        self._take(Peeled(
            peeled.kind, peeled.place, peeled.data, peeled.value, peeled.layers, peeled.reason, peeled.reasons
        ))  # fmt: skip


def looks_like(first: FirstMatch) -> Callable[[Any], int]:
    """How well a value fits: 2 a product's own format, 1 a home-made log, 0 none."""
    last: tuple[Any, int] = (None, 0)

    def looks(value: Any) -> int:
        nonlocal last
        # The same value is often asked twice, and telling what it looks like goes through all of it.
        if value is not last[0]:
            found = first(value)
            last = value, 0 if found is None else 1 if _is_home_made(found.format) else 2
        return last[1]

    return looks


def _is_home_made(fmt: Format) -> bool:
    return fmt.name.startswith("app-json")


def behind_text(data: bytes) -> tuple[Any, bytes] | None:
    """The JSON object that ends a line of text, and its bytes."""
    start = data.find(b"{")
    end = data.rstrip()[-1:]
    if start <= 0 or end != b"}":
        return None
    inner = data[start:]
    decoded = decode_unit(inner)
    return (decoded.value, inner) if decoded.reject is None and decoded.value else None


def fill_times(raw: pl.DataFrame, layers: Sequence[Layers]) -> pl.DataFrame:
    """The times of the layers where a record has none of its own."""
    return _filled(raw, layers, _TIMES)


def fill_rest(raw: pl.DataFrame, layers: Sequence[Layers]) -> pl.DataFrame:
    """What else the layers know where a record does not say."""
    raw = _filled(raw, layers, ("http_status",), unless=_ANSWERS)
    known = {slot for row in layers for layer, _ in row for slot in layer.slots}
    for slot in sorted(known.difference(_TIMES, _ANSWERS)):
        raw = _filled(raw, layers, (slot,))
    return raw


def _filled(
    raw: pl.DataFrame, layers: Sequence[Layers], slots: Sequence[str], unless: Sequence[str] | None = None
) -> pl.DataFrame:
    """The slots, where all of `unless` are null, as the layers have them."""
    missing = raw.select(pl.all_horizontal(pl.col(s).is_null() for s in unless or slots).alias("m"))["m"].to_list()
    found: dict[str, dict[int, str]] = {s: {} for s in slots}
    for i, absent in enumerate(missing):
        if absent and layers[i]:
            outer = outer_slots(layers[i])
            for slot in slots:
                if slot in outer and (text := _slot_text(slot, *outer[slot])) is not None:
                    found[slot][i] = text
    columns = []
    for slot, values in found.items():
        if values:
            old = raw[slot].to_list()
            columns.append(pl.Series(slot, [values.get(i, v) for i, v in enumerate(old)], dtype=pl.String))
    return raw.with_columns(columns) if columns else raw


def _slot_text(slot: str, value: Any, unit: str) -> str | None:
    if slot == "duration":
        return microseconds(value, unit)
    return tags(value) if slot == "tag" else text_of(value)
