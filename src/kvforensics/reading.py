"""Where are the fields of records that have the same outline?

Of such records only what may differ in kind (a key that is missing, a null) has to be looked at. For each such pattern
the paths are tried on made-up records that stand for all of them, with the lists that may be in them empty or full and
the keys in either order. Where these do not agree, where a field is in a list, or where the answer hangs on more than
the pattern, there is no reading, and the record is looked at closely.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from kvforensics.outline import Kind, Place, Steps, Use, Want
from kvforensics.raw import ID_COLUMNS, Extractor, present
from kvforensics.shapes import places, value_at
from kvforensics.slot_text import TICKS
from kvforensics.spec import Format
from kvforensics.value_reading import READINGS
from kvforensics.worlds import keys_of, may_open, turned, world

MAX_PATTERNS = 128
TIMES = ("start", "stamp", "end")
NARROW = ("model", "answer_model", *TIMES, "sample_interval", *ID_COLUMNS)
"""What decides whether a record of another model can be left out, and what stays of it."""
HINTS = ("prompt", "cache_read", "cache_write", "total", "from_cache", "replay_of")
"""What tells whether a record of another model may contradict one on the model that was left out."""
ANSWERS = ("http_status", "state", "output")
"""What tells whether a record on the model was answered."""
WIDE = (
    *NARROW, "duration", "provider", "host", "prompt", "cache_read", "cache_write", "completion", "total", "request_bytes",
    "from_cache", "replay_of", "cache_rule",
)  # fmt: skip
"""What decides whether a record on the model is outside by its tokens, and when it started."""
Get = Callable[[Any], Any]
Pattern = tuple[Any, ...]


class Wrapping(Protocol):
    """A layer that may be around a record."""

    @property
    def signature(self) -> tuple[tuple[tuple[Steps, bool], ...], ...]:
        """Alternatives of paths that are in the layer, or must not be."""
        ...


class Field(Struct, frozen=True):
    """One value of a row, and the unit that its path tells."""

    get: Get
    unit: str
    keys: tuple[str, ...]


class Reading(Struct, frozen=True):
    """How rows of one pattern are read: for each slot the values that are not null, in the order in which they are tried."""

    format: Format
    slots: Mapping[str, tuple[Field, ...]]
    once: tuple[tuple[bytes, int], ...]
    """Keys that must not be given more often than so, for what is read to be what the line says."""
    ids: tuple[Field, ...]
    """All ids. Of ids more may be remembered than a record has."""
    times: tuple[Field, ...]
    """All times, in the order in which one is taken for the coverage."""
    texts: tuple[Get, ...]
    """Values that must not be JSON kept as text."""
    escaped: re.Pattern[bytes]
    """An escape that may stand for a part of one of those keys."""
    hinted: bool
    """Whether nothing but the values of these slots tells what hints were asked about."""


class Readings:
    """Finds the patterns of rows, and their readings."""

    def __init__(
        self, root: Place, extractors: Sequence[Extractor], alternative: int, slots: Sequence[str],
        layers: Sequence[tuple[Wrapping, bool]], hints: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """The last of the extractors is the one that most records have, by this alternative of its signature.

        Each of the `layers` with whether it yields to formats of products.
        """
        self._root, self._extractors, self._alternative = root, extractors, alternative
        self._wanted, self._layers, self._hints = slots, layers, hints
        self._known: dict[Pattern, Reading | None] = {}
        self._fixed: dict[int, Any] = {}
        self._varying: list[tuple[tuple[str, ...], Place]] = []
        self._attributes: dict[int, tuple[str, ...]] = {}
        for attributes, place, sure in root.places():
            self._attributes[id(place)] = attributes
            if not place.named:
                continue
            if sure and not place.has_form:
                here = next(iter(place.kinds), Kind.ABSENT)
                self._fixed[id(place)] = Kind.SCALAR if place.only_present and place.kinds else here
            else:
                self._varying.append((attributes, place))

    def groups(self, rows: Sequence[Any]) -> list[tuple[Reading | None, Sequence[int], Sequence[Any]]]:
        """The rows by their readings, each with the places of its rows."""
        if not self._varying:
            return [(self._reading(()), range(len(rows)), rows)]
        columns: dict[tuple[str, ...], Sequence[Any]] = {(): rows}
        patterns = list(zip(*(_kinds(place, _column(a, columns)) for a, place in self._varying), strict=True))
        distinct = set(patterns)
        if len(distinct) == 1:
            return [(self._reading(patterns[0]), range(len(rows)), rows)]
        members: dict[Pattern, list[int]] = {p: [] for p in distinct}
        for i, pattern in enumerate(patterns):
            members[pattern].append(i)
        return [(self._reading(p), own, [rows[i] for i in own]) for p, own in members.items()]

    def _reading(self, pattern: Pattern) -> Reading | None:
        if pattern in self._known:
            return self._known[pattern]
        if len(self._known) >= MAX_PATTERNS:
            return None
        kinds = self._fixed | {id(place): kind for (_, place), kind in zip(self._varying, pattern, strict=True)}
        made = self._known[pattern] = self._resolve(kinds)
        return made

    def _resolve(self, kinds: Mapping[int, Any]) -> Reading | None:
        texts = []
        hinted = True
        for attributes, place, _ in self._root.places():
            kind = kinds.get(id(place))
            if place.leads and not place.descends and (kind in (Kind.LIST, Kind.SCALAR) or type(kind) is tuple):
                hinted = False
            if place.descends and kind is Kind.LIST:
                return None
            if kind is Kind.LIST and place.element is not None and may_open(place.element):
                return None
            if place.descends and type(kind) is tuple:
                return None
            if place.descends and kind is Kind.SCALAR:
                texts.append(_getter(".".join(attributes)))
        worlds = [
            turned(world(self._root, kinds, full), back=back) for full in range(3) for back in (False, True)
        ]
        which = self._which(worlds)
        if which is None:
            return None
        extractor = self._extractors[which]
        fmt = extractor.format
        if fmt.opening or any(extractor.is_framing(w) for w in worlds):
            return None
        found: dict[str, tuple[Field, ...]] = {}
        for slot in self._wanted:
            fields = self._fields(extractor, slot, worlds, kinds)
            if fields is None or (fields and slot == "sample_interval"):
                return None
            found[slot] = fields
        if not found["model"] or found["model"][0].unit:
            return None
        # The distinct names of models are looked at anyway.
        texts = [t for t in texts if t is not found["model"][0].get]
        counts = Counter(keys_of(worlds[0]))
        hints = {slot: self._fields(extractor, slot, worlds, kinds) for slot in self._hints}
        hinted = hinted and None not in hints.values() and which == len(self._extractors) - 1
        told = {**found, **{slot: fields or () for slot, fields in hints.items()}}
        names = sorted({key for f in _used(told if "prompt" in found else found) for key in f.keys})
        return Reading(
            fmt, told, tuple((f'"{n}"'.encode(), counts[n]) for n in names),
            tuple(dict.fromkeys(f for slot in ID_COLUMNS for f in found[slot])),
            tuple(f for slot in TIMES for f in found[slot]), tuple(texts),
            _escapes(names), hinted,
        )  # fmt: skip

    def _which(self, worlds: Sequence[Any]) -> int | None:
        """The first extractor that matches, where it is the same one for all."""
        last = len(self._extractors) - 1
        for k, extractor in enumerate(self._extractors):
            chosen = extractor.signature if k < last else extractor.signature[self._alternative :][:1]
            answers = {tuple(_holds(w, terms) for terms in chosen) for w in worlds}
            if len(answers) > 1:
                return None
            if any(all(terms) for terms in answers.pop()):
                return k if self._is_outermost(extractor, worlds) else None
        return None

    def _is_outermost(self, extractor: Extractor, worlds: Sequence[Any]) -> bool:
        """Whether the record is not taken for a further layer around another one."""
        product = not extractor.format.name.startswith("app-json")
        return not any(
            all(_holds(w, terms)) for layer, yields in self._layers if not (yields and product)
            for terms in layer.signature for w in worlds
        )  # fmt: skip

    def _fields(
        self, extractor: Extractor, slot: str, worlds: Sequence[Any], kinds: Mapping[int, Any]
    ) -> tuple[Field, ...] | None:
        found: dict[Field, None] = {}
        for steps, unit in extractor.slots.get(slot, ()):
            led = [[p for p in places(w, steps) if value_at(w, p) is not None] for w in worlds]
            first = {next(iter(p), None) for p in led}
            if len(first) > 1:
                return None
            # A count of the prompt that a search finds elsewhere may contradict the first one.
            every = slot == "prompt" and slot in self._wanted
            for place in dict.fromkeys([*first, *(p for own in led for p in own)] if every else first):
                if place is None:
                    continue
                if any(type(step) is int for step in place):
                    return None
                keys = tuple(map(str, place))
                get = self._get(keys, kinds)
                if get is None:
                    return None
                plain = slot != "duration" and unit != TICKS and unit[:1] not in READINGS
                found[Field(get, "" if plain else unit, keys)] = None
        return tuple(found)

    def _get(self, keys: tuple[str, ...], kinds: Mapping[int, Any]) -> Get | None:
        """What reads the value of a row, where it is a scalar."""
        place = self._root
        for key in keys:
            place = place.keys[key]
        kind = kinds.get(id(place))
        scalar = (kind is Kind.SCALAR or type(kind) is tuple) and not place.only_present
        return _getter(".".join(self._attributes[id(place)])) if scalar else None


def _kinds(place: Place, values: Sequence[Any]) -> list[Any]:
    """Of each value what may decide where paths lead."""
    if place.has_form:
        return [_KINDS.get(type(v)) or (type(v), v) for v in values]
    held = Kind.OBJECT if Kind.OBJECT in place.kinds and not place.only_present else None
    if held is None:
        return [_KINDS.get(t, Kind.SCALAR) for t in map(type, values)]
    return [_KINDS.get(t) or (held if issubclass(t, msgspec.Struct) else Kind.SCALAR) for t in map(type, values)]


_KINDS: dict[type, str] = {msgspec.UnsetType: Kind.ABSENT, type(None): Kind.NULL, list: Kind.LIST}
_GETTERS: dict[str, Get] = {}


def _getter(path: str) -> Get:
    return _GETTERS.setdefault(path, attrgetter(path))


def _used(found: Mapping[str, Sequence[Field]]) -> Iterator[Field]:
    """The fields of which it matters that they are given once."""
    if "prompt" not in found:
        # A record is left out for its model, and its times are told before repeats are looked for.
        yield found["model"][0]
        return
    for slot, fields in found.items():
        if slot in ("from_cache", "replay_of", "output"):
            yield from fields
        elif slot not in ID_COLUMNS:
            yield from fields[:1]


def _escapes(names: Iterable[str]) -> re.Pattern[bytes]:
    """Finds an escape that could stand for a character of one of the names."""
    digits = sorted({f"{ord(c) >> 4:x}" for name in names for c in name if ord(c) < 0x80})
    return re.compile(rb"\\u00[" + "".join(digits).encode() + rb"]")


def wants_of(
    extractors: Sequence[Extractor], alternative: int, slots: Sequence[str], layers: Sequence[tuple[Wrapping, bool]],
    hints: Sequence[str] = (),
) -> frozenset[Want]:  # fmt: skip
    """All paths that decide how a record is read, and those of hints for the format that most records have."""
    found: set[Want] = set()
    last = len(extractors) - 1
    signatures = [layer.signature for layer, _ in layers]
    for k, extractor in enumerate(extractors):
        signatures.append(extractor.signature if k < last else extractor.signature[alternative:][:1])
        found.update((steps, Use.FORM) for steps in extractor.deciding)
        found.update((steps, Use.VALUE) for slot in slots for steps, _ in extractor.slots.get(slot, ()))
        found.update((steps, Use.HINT) for slot in hints if k == last for steps, _ in extractor.slots.get(slot, ()))
    found.update((steps, Use.PRESENCE) for s in signatures for terms in s for steps, _ in terms)
    return frozenset(found)


def _holds(world: Any, terms: Sequence[tuple[Steps, bool]]) -> tuple[bool, ...]:
    return tuple(present(world, steps) is wanted for steps, wanted in terms)


def _column(attributes: tuple[str, ...], columns: dict[tuple[str, ...], Sequence[Any]]) -> Sequence[Any]:
    """The values of all rows under an attribute, with what is missing on the way as missing."""
    known = columns.get(attributes)
    if known is None:
        above = _column(attributes[:-1], columns)
        name, unset = attributes[-1], msgspec.UNSET
        known = columns[attributes] = [getattr(v, name, unset) for v in above]
    return known
