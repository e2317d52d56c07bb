"""Which log line is inside all the layers around it?

Takes one physical line or unit, peels layer after layer, joins pieces that belong together, and says what is inside: a
decoded record, a line of text, or the reason why there is neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kvforensics.decode import decode_unit
from kvforensics.envelope import Unit
from kvforensics.kept_calls import own_call, prompt_of
from kvforensics.layer import Layer, encoded, record_in, without_colours
from kvforensics.span_units import EXPORTS, line_units
from kvforensics.views import view
from kvforensics.wrapper_spec import Wrapper

MAX_LAYERS = 6
MAX_JOINED = 256 << 20
MAX_BETWEEN = 16 << 20
EXCERPT = 200
MAX_CALLS = 1000
MAX_KEYS = 512
CONTRADICTED = "contradicted"
"""The reason of a record beside whose call there is text that may be a call on the affected model."""
EMPTY = "empty"
"""The reason of a line with nothing inside the layers around it."""
REPEATED = "repeated_key"
"""The reason of a line whose layer tells twice what is inside, and not the same: a reader keeps one of the two."""
LEFT_OUT = "left_out"
"""The reason of a line of which the layer around it has kept nothing: it may have been anything, and long ones go first."""

Layers = tuple[tuple[Layer, Any], ...]


class Kind(Enum):
    """What a line turned out to hold. `HELD` is a piece that waits for the next one."""

    RECORD = "record"
    TEXT = "text"
    FRAMING = "framing"
    REJECT = "reject"
    HELD = "held"


class Place(Struct, frozen=True):
    """Where a line is, and its bytes: from the first piece to the last one, with what lies between."""

    line: int
    offset: int | None
    raw: bytes


class Peeled(Struct, frozen=True):
    """What is inside. `reason` names a reject, `reasons` what of a record is unknown, `pieces` how many lines it took."""

    kind: Kind
    place: Place
    data: bytes = b""
    value: Any = None
    layers: Layers = ()
    reason: str = ""
    reasons: tuple[str, ...] = ()
    pieces: int = 1

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of the layers, outermost first."""
        return tuple(layer.wrapper.name for layer, _ in self.layers)


class _Open(Struct):
    """A line of which pieces have come and pieces are missing."""

    place: Place
    layers: Layers
    parts: list[bytes] = field(default_factory=list)
    between: list[bytes] = field(default_factory=list)
    size: int = 0
    apart: int = 0
    """Bytes of other lines since the last piece."""


class Peeler:
    """Peels the lines of one source, or of a part of it in which every joined line is whole.

    `looks` says how well a value fits a format: 2 a product's own, 1 a home-made one, 0 none. `names_model` says whether
    bytes name the affected model; of several calls in one event such a one is taken. `newline` ends lines; None where
    units are no lines, so that what is between two of them is not known.
    """

    def __init__(
        self, wrappers: Sequence[Wrapper], looks: Callable[[Any], int], names_model: Callable[[bytes], bool],
        newline: bytes | None = b"\n",
    ) -> None:  # fmt: skip
        layers = [Layer(w) for w in wrappers]
        self._texts = [w for w in layers if w.prefix]
        self._objects = [w for w in layers if not w.prefix]
        self._by_keys: dict[tuple[str, ...], tuple[Layer, ...]] = {}
        self._lists = any(w.takes_lists for w in self._objects)
        self._looks, self._names_model, self._newline = looks, names_model, newline
        self._open: dict[tuple[Any, ...], _Open] = {}

    @property
    def is_closed(self) -> bool:
        """Whether no piece waits for another."""
        return not self._open

    def line(self, raw: bytes, line: int, offset: int | None) -> Peeled:
        """What one line or unit holds."""
        for waiting in self._open.values():
            waiting.apart += len(raw)
            if waiting.apart <= MAX_BETWEEN:
                waiting.between.append(raw)
        return self._bytes(raw, (), Place(line, offset, raw), 1)

    def row(self, value: Any, line: int, offset: int | None, raw: bytes | None, reasons: tuple[str, ...]) -> Peeled:
        """What a row of a table holds."""
        return self._value(value, raw or b"", (), Place(line, offset, raw or b""), reasons, 1)

    def rest(self) -> list[Peeled]:
        """What is left of lines whose last pieces never came."""
        waiting, self._open = list(self._open.values()), {}
        return [self._bytes(b"".join(o.parts), o.layers, self._extent(o), len(o.parts)) for o in waiting]

    def _extent(self, waiting: _Open) -> Place:
        """From the first piece to the last; the first alone where too much lies between."""
        if self._newline is None or waiting.apart > MAX_BETWEEN:
            return waiting.place
        return replace(waiting.place, raw=self._newline.join((waiting.place.raw, *waiting.between)))

    def _bytes(self, data: bytes, layers: Layers, place: Place, pieces: int) -> Peeled:
        start = data.lstrip()[:1] if data[:1] in b" \t\r\xef" else data[:1]
        if start == b"{" or (start == b"[" and self._lists):
            decoded = decode_unit(data)
            if decoded.reject is None:
                return self._value(decoded.value, data, layers, place, decoded.reasons, pieces)
            if decoded.reject == "not_an_object" and self._lists:
                return self._list(data, layers, place, pieces)
            if start == b"{" or decoded.reject == "too_deep":
                return Peeled(Kind.REJECT, place, data, layers=layers, reason=decoded.reject, pieces=pieces)
        text = without_colours(data)
        if len(layers) < MAX_LAYERS:
            for layer in self._texts:
                found = layer.match(text)
                if found:
                    outer = {k: v.decode("utf-8", "replace") for k, v in found.groupdict().items() if v is not None}
                    return self._message(layer, outer, text[found.end() :], layers, place, pieces, joins=layer.wrapper.joins)
        if text is not data and text.lstrip()[:1] == b"{":
            return self._bytes(text, layers, place, pieces)
        return Peeled(Kind.TEXT, place, text, layers=layers, pieces=pieces)

    def _list(self, data: bytes, layers: Layers, place: Place, pieces: int) -> Peeled:
        value = decode_unit(b'{"":' + data + b"}").value
        if value is not None:
            for layer in self._objects:
                held = layer.of_list(value[""]) if layer.takes_lists else None
                if held is not None and layer.matches(held):
                    return self._content(layer, held, data, layers, place, (), pieces)
        return Peeled(Kind.REJECT, place, data, layers=layers, reason="not_an_object", pieces=pieces)

    def _value(
        self, value: Any, data: bytes, layers: Layers, place: Place, reasons: tuple[str, ...], pieces: int
    ) -> Peeled:
        if len(layers) < MAX_LAYERS:
            other: Peeled | None = None
            for layer in self._candidates(value):
                if layer.matches(value):
                    if layer.wrapper.last_resort and self._looks(value) >= (1 if layer.wrapper.last_of_all else 2):
                        break
                    if layer.is_framing(value):
                        return Peeled(Kind.FRAMING, place, data, layers=layers, reason="preview", pieces=pieces)
                    found = self._content(layer, value, data, layers, place, reasons, pieces)
                    if not layer.wrapper.last_resort or found.kind is Kind.HELD or self._is_call(found):
                        return found
                    other = other or found
            if other is not None:
                return other
        record = Peeled(Kind.RECORD, place, data, value, layers, reasons=reasons, pieces=pieces)
        return record if not layers or EXPORTS.isdisjoint(value) else self._span(record)

    def _candidates(self, value: dict[str, Any]) -> tuple[Layer, ...]:
        """The layers that an object with these keys may be of: records of a log have few sets of keys."""
        keys = tuple(value)
        known = self._by_keys.get(keys)
        if known is None:
            if len(self._by_keys) >= MAX_KEYS:
                self._by_keys.clear()
            known = self._by_keys[keys] = tuple(layer for layer in self._objects if layer.may_match(value))
        return known

    def _span(self, record: Peeled) -> Peeled:
        """Of an export request with spans in it, the span that matters most."""
        spans: list[Peeled] = []
        for unit in line_units(record.data) or ():
            decoded = decode_unit(unit.data) if isinstance(unit, Unit) else None
            if isinstance(unit, Unit) and decoded and decoded.reject is None:
                value, more = view(("otlp",), decoded.value, unit.context)
                reasons = (*record.reasons, *decoded.reasons, *more)
                spans.append(replace(record, data=unit.data, value=value, reasons=reasons))
        calls = [s for s in spans if prompt_of(s.value)] or spans
        return self._chosen(calls) if calls else record

    def _content(
        self, layer: Layer, value: Any, data: bytes, layers: Layers, place: Place, reasons: tuple[str, ...], pieces: int
    ) -> Peeled:
        inner = []
        wrapper = layer.wrapper
        if data and layer.tells_twice(value, data):
            return Peeled(Kind.REJECT, place, data, layers=layers, reason=REPEATED, pieces=pieces)
        joins = wrapper.joins and layer.is_text(value)
        for message in layer.messages(value):
            if type(message) is dict:
                deeper = (*layers, (layer, value))
                inner.append(self._value(message, encoded(message), deeper, place, (), pieces))
            else:
                inner.append(self._message(layer, value, message, layers, place, pieces, joins=joins))
            if len(inner) >= MAX_CALLS or inner[-1].kind is Kind.HELD:
                break
        if len(inner) == 1 and not (wrapper.body or wrapper.is_record or wrapper.last_of_all):
            return inner[0]
        calls = [p for p in inner if self._is_call(p)]
        if calls:
            if not wrapper.last_of_all:
                return self._chosen(calls)
            own, contradicts = own_call([c.value for c in calls], data or encoded(value), self._names_model)
            if own is None:
                return Peeled(Kind.REJECT, place, data, layers=layers, reason=CONTRADICTED, pieces=pieces)
            return _of_several(calls[own], len(calls)) if contradicts else calls[own]
        for body in layer.bodies(value):
            fits = self._looks(body)
            if fits:
                held = body if fits == 2 else record_in(body)
                if held is not body and wrapper.last_resort:
                    # No layer is left around it to know its time.
                    held = {**{k: v for k, v in body.items() if type(v) not in (dict, list)}, **held}
                deeper = layers if wrapper.last_resort else (*layers, (layer, value))
                return Peeled(Kind.RECORD, place, encoded(held), held, deeper, reasons=reasons, pieces=pieces)
        if wrapper.is_record or wrapper.last_of_all:
            return Peeled(Kind.RECORD, place, data, value, layers, reasons=reasons, pieces=pieces)
        if inner:
            return next((p for p in inner if p.kind is not Kind.FRAMING), inner[0])
        if wrapper.last_resort:
            return Peeled(Kind.RECORD, place, data, value, layers, reasons=reasons, pieces=pieces)
        return Peeled(Kind.REJECT, place, data, layers=layers, reason=LEFT_OUT, pieces=pieces)

    def _is_call(self, found: Peeled) -> bool:
        return found.kind is Kind.RECORD and self._looks(found.value) > 0

    def _chosen(self, calls: Sequence[Peeled]) -> Peeled:
        """Of several calls that one event tells of, the one that matters most: on the model, and the longest."""
        if len(calls) == 1:
            return calls[0]
        best = max(calls, key=lambda p: (self._names_model(p.data), prompt_of(p.value)))
        return _of_several(best, len(calls))

    def _message(
        self, layer: Layer, outer: Any, message: bytes, layers: Layers, place: Place, pieces: int, *, joins: bool
    ) -> Peeled:
        """The line inside a layer, once all of its pieces are there; `joins` says that it may be one of several."""
        deeper = (*layers, (layer, outer))
        wrapper = layer.wrapper
        if joins:
            more = layer.goes_on(outer, message)
            key = tuple((around.wrapper.name, around.stream(held)) for around, held in deeper) if more or self._open else ()
            waiting = self._open.get(key)
            if waiting is not None or more:
                if waiting is None:
                    waiting = self._open[key] = _Open(place, deeper)
                waiting.parts.append(message)
                waiting.size += len(message)
                if waiting.apart <= MAX_BETWEEN:
                    waiting.apart = 0
                if more and waiting.size <= MAX_JOINED:
                    return Peeled(Kind.HELD, waiting.place, layers=deeper, pieces=len(waiting.parts))
                del self._open[key]
                place, deeper, pieces = self._extent(waiting), waiting.layers, len(waiting.parts)
                if waiting.size > MAX_JOINED:
                    start = replace(place, raw=waiting.place.raw[:EXCERPT])
                    return Peeled(Kind.REJECT, start, layers=deeper, reason="oversize", pieces=pieces)
                message = b"".join(waiting.parts)
        if wrapper.ends:
            message = message.removesuffix(wrapper.ends.encode())
        if not message.strip():
            return Peeled(Kind.FRAMING, place, message, layers=deeper, reason=EMPTY, pieces=pieces)
        return self._bytes(message, deeper, place, pieces)


def _of_several(call: Peeled, count: int) -> Peeled:
    return replace(call, reasons=(*call.reasons, f"calls_in_event:{count}"))
