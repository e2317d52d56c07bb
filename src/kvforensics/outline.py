"""Which keys do the records of a log have, how are they nested, and of what kind are their values?

An outline is learned from some records and turned into a type that other records are read with. Where a path looks for
one key by its exact name, other keys are passed over. Where paths search (`**`, `~`), every key has to be known: a record
with another one is not read, so that one that is read can hold nothing that a path would find elsewhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import msgspec

from kvforensics.paths import fold

Steps = tuple[str, ...]


class Use(Enum):
    """What is taken of the value that a path leads to: nothing but its presence, the value, or whether it has some text.

    A hint is a value as well, but one without which a record can still be read.
    """

    PRESENCE = "presence"
    VALUE = "value"
    FORM = "form"
    HINT = "hint"


Want = tuple[Steps, Use]
"""What is left of a path at some place of a record."""


class Kind:
    """What decides, of a value, where paths lead."""

    ABSENT: Final = "absent"
    NULL: Final = "null"
    SCALAR: Final = "scalar"
    OBJECT: Final = "object"
    LIST: Final = "list"


MAX_LEVELS = 10
MAX_PLACES = 1024
_SCALARS = (str, int, float, bool)
NEVER = msgspec.defstruct("Never", [("never", None, msgspec.field(name=secrets.token_hex(12)))])
"""The type of what no record had so far: no value is of it."""
_ODD = frozenset('"\\') | frozenset(map(chr, range(32)))


class UnlearnableError(Exception):
    """A record whose outline cannot be told as a type."""


@lru_cache(maxsize=1 << 14)
def below(wants: frozenset[Want], key: str) -> frozenset[Want]:
    """What is left of paths below a key."""
    found: set[Want] = set()
    folded = fold(key)
    for steps, use in wants:
        rest = steps
        if rest and rest[0] == "**":
            found.add((steps, use))
            rest = rest[1:]
        if not rest:
            continue
        if rest[0] == key or (rest[0][0] == "~" and fold(rest[0][1:]) == folded):
            found.add((rest[1:], use))
        elif "." in key:
            found.update((rest[cut:], use) for cut in range(2, len(rest) + 1) if ".".join(rest[:cut]) == key)
    return frozenset(found)


class Place:
    """One place of a record, and what is known of the values there."""

    __slots__ = (
        "attribute", "closed", "counts", "descends", "element", "has_form", "heads", "hints", "key", "keys", "kinds", "leads",
        "named", "objects", "only_hinted", "only_present", "searched", "wants",
    )  # fmt: skip

    def __init__(self, wants: frozenset[Want], key: str = "", attribute: str = "") -> None:
        self.wants, self.key, self.attribute = wants, key, attribute
        self.kinds: set[str] = set()
        self.objects = 0
        self.keys: dict[str, Place] = {}
        self.counts: dict[str, int] = {}
        """How many of the objects here have each key."""
        self.element: Place | None = None
        steps = [s for s, _ in wants]
        self.searched = any(s[:1] == ("**",) for s in steps)
        """Whether a path searches here at any depth."""
        self.named = any(s[:1] != ("**",) for s in steps)
        """Whether a path leads here by name, or further."""
        self.leads = any(s and s[0] != "**" for s in steps)
        """Whether a path leads on from here by name."""
        self.descends = any(s and s[0] != "**" for s, use in wants if use is not Use.HINT)
        """The same of a path to more than a hint, so that it matters whether text here is JSON kept as text."""
        self.closed = any(s and s[0][0] in "*~" for s in steps)
        """Whether every key of an object here has to be known."""
        self.has_form = any(not s and use is Use.FORM for s, use in wants)
        """Whether it matters which value is here."""
        self.only_present = all(not s and use is Use.PRESENCE for s, use in wants)
        """Whether nothing but the presence of a value matters, whatever it is."""
        self.only_hinted = all(use is Use.HINT or s[:1] == ("**",) for s, use in wants)
        """Whether a record can be read whatever is here."""
        flat = {".".join(s[:cut]) for s, use in wants for cut in range(1, len(s) + 1) if use is not Use.HINT or cut == 1}
        self.heads: tuple[str, ...] = () if self.closed else tuple(sorted(flat))
        """The only keys of an object here that matter, where it is not closed; some spell a path flat with dots."""
        hints = {".".join(s[:cut]) for s, use in wants if use is Use.HINT for cut in range(2, len(s) + 1)}
        self.hints: frozenset[str] = frozenset(hints.difference(self.heads))
        """Keys that spell the path of a hint flat; they only matter where keys have dots."""

    def optional(self, key: str) -> bool:
        """Whether objects here may lack the key."""
        return self.counts.get(key, 0) < self.objects

    def learn(self, value: Any, room: list[int], level: int = 0) -> None:
        """Take a value into account; `room` holds how many more places there may be."""
        kind = _kind(value)
        self.kinds.add(kind)
        if kind is Kind.LIST and self.searched:
            if self.element is None:
                self.element = Place(frozenset(w for w in self.wants if w[0][:1] == ("**",)))
            for held in value:
                self.element.learn(held, room, level + 1)
        elif kind is Kind.OBJECT and (self.leads or self.searched):
            if level > MAX_LEVELS:
                raise UnlearnableError
            self.objects += 1
            if self.hints and not self.closed and any("." in key for key in value):
                self.heads = tuple(sorted({*self.heads, *self.hints}))
                self.hints = frozenset()
                for key in self.heads if self.keys else ():
                    self._place(key, room)
            if not self.keys:
                for key in (*(k for k in value if k in self.heads), *self.heads):
                    self._place(key, room)
            for key in value if self.closed else self.heads:
                if key in value:
                    self.counts[key] = self.counts.get(key, 0) + 1
                    self._place(key, room).learn(value[key], room, level + 1)

    def _place(self, key: str, room: list[int]) -> Place:
        place = self.keys.get(key)
        if place is None:
            room[0] -= 1
            if room[0] < 0 or not _ODD.isdisjoint(key):
                raise UnlearnableError
            place = self.keys[key] = Place(below(self.wants, key), key, f"k{len(self.keys)}")
        return place

    def shape(self) -> type[msgspec.Struct]:
        """The type of an object here."""
        fields = []
        for key, place in self.keys.items():
            kind = place.type()
            if self.optional(key):
                fields.append((place.attribute, kind | msgspec.UnsetType, msgspec.field(name=key, default=msgspec.UNSET)))
            else:
                fields.append((place.attribute, kind, msgspec.field(name=key)))
        return msgspec.defstruct("Seen", fields, eq=False, gc=False, kw_only=True, forbid_unknown_fields=self.closed)

    def type(self) -> Any:
        """The type of a value here; one of another kind is not read."""
        if not self.kinds:
            return NEVER
        nested = not self.leads and not self.searched and bool(self.kinds & {Kind.OBJECT, Kind.LIST})
        if self.only_present or (self.only_hinted and nested):
            return msgspec.Raw
        kinds: list[Any] = list(_SCALARS) if Kind.SCALAR in self.kinds else []
        if Kind.OBJECT in self.kinds and (self.leads or self.searched):
            kinds.append(self.shape())
        if Kind.LIST in self.kinds and self.searched:
            element = self.element.listed() if self.element else None
            kinds.append(list[element])  # type: ignore[valid-type]
        if Kind.NULL in self.kinds or not kinds:
            kinds.append(None)
        return _union(kinds)

    def listed(self) -> Any:
        """The type of a value in a list: lists in lists are not searched."""
        kinds: list[Any] = list(_SCALARS) if Kind.SCALAR in self.kinds else []
        if Kind.OBJECT in self.kinds:
            kinds.append(self.shape())
        if Kind.LIST in self.kinds:
            kinds.append(list[msgspec.Raw])
        return _union([*kinds, None])

    def places(self, attributes: tuple[str, ...] = (), *, sure: bool = True) -> Iterator[tuple[tuple[str, ...], Place, bool]]:
        """Every place below that is in no list: its attributes, and whether what is there is the same in every record."""
        for key, place in self.keys.items():
            here = (*attributes, place.attribute)
            always = sure and not self.optional(key)
            yield here, place, not place.kinds or (always and (place.only_present or len(place.kinds) == 1))
            if place.keys:
                yield from place.places(here, sure=always and place.kinds == {Kind.OBJECT})


def _kind(value: Any) -> str:
    if value is None:
        return Kind.NULL
    if type(value) is dict:
        return Kind.OBJECT
    return Kind.LIST if type(value) is list else Kind.SCALAR


def _union(kinds: list[Any]) -> Any:
    made = kinds[0]
    for kind in kinds[1:]:
        made = made | kind
    return made
