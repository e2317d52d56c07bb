"""Which records stand for all that have one outline and pattern?

Between them they have all that such a record may have, and nothing but what it must have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.outline import Kind, Place


def world(place: Place, kinds: Mapping[int, Any], full: int) -> dict[str, Any]:
    """A record that stands for all of a pattern, with `full` elements in each list."""
    made: dict[str, Any] = {}
    for key, child in place.keys.items():
        kind = kinds.get(id(child))
        if kind is None:
            # No path ends here, but what is searched for may be below, in an object or in a list.
            inner = world(child, kinds, full)
            if inner:
                made[key] = inner
            elif child.element is not None and full:
                made[key] = [_full(child.element, full)] * full
        elif kind is Kind.OBJECT:
            made[key] = world(child, kinds, full)
        elif kind is Kind.LIST:
            made[key] = [_full(child.element, full)] * full if child.element is not None else []
        elif kind is not Kind.ABSENT:
            made[key] = None if kind is Kind.NULL else kind[1] if type(kind) is tuple else "x"
    return made


def _full(place: Place, full: int) -> Any:
    """All that an element of a list may hold."""
    if not place.keys:
        return {}
    return {
        key: [_full(child.element, full)] * full if child.element is not None
        else _full(child, full) if child.keys else "x"
        for key, child in place.keys.items()
    }  # fmt: skip


def turned(value: Any, *, back: bool) -> Any:
    """The same value, with its keys in the opposite order if `back`."""
    if type(value) is dict:
        inner = ((k, turned(v, back=back)) for k, v in value.items())
        return dict(reversed(list(inner))) if back else dict(inner)
    return [turned(v, back=back) for v in value] if type(value) is list else value


def may_open(place: Place) -> bool:
    """Whether something below may be JSON kept as text, or a list that stands for its only element."""
    element = place.element
    if (place.descends and place.kinds & {Kind.SCALAR, Kind.LIST}) or (place.keys and element is not None):
        return True
    return any(may_open(p) for p in place.keys.values()) or (element is not None and may_open(element))


def keys_of(value: Any) -> Iterator[str]:
    """Every key of nested objects that are in no list."""
    if type(value) is dict:
        for key, held in value.items():
            yield key
            yield from keys_of(held)

