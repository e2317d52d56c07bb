"""Where do the paths of a format lead in records of one shape?

Home-made logs are read by names at any depth, which is slow to look up. Records of a log have few shapes, so what a path
leads to is worked out once for each shape (which keys, which nesting) and then read directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from kvforensics.paths import MAX_DEPTH, MAX_NODES, embedded, fold, last_chunk

Place = tuple[str | int, ...]
MAX_SHAPES = 512
MAX_ELEMENTS = 16
_HOLDERS = (dict, list)
_OPENERS = frozenset("{[ \t\r\n")
Answer = TypeVar("Answer")


class Uncacheable(Exception):
    """A record whose shape says too little, such as one that holds JSON as text."""


def shape_of(value: Any, depth: int = 0, *, opened: bool = False) -> Any:
    """What decides where paths lead: keys, nesting and nulls, not the values. Raises `Uncacheable`.

    `opened` goes into JSON that is kept as text, as paths do.
    """
    if depth > MAX_DEPTH:
        raise Uncacheable
    if type(value) is list:
        if len(value) > MAX_ELEMENTS:
            raise Uncacheable
        return (None, *(_held(v, depth, opened=opened) for v in value))
    inner = [(key, shape) for key, held in value.items() if (shape := _held(held, depth, opened=opened)) is not False]
    return (tuple(value), tuple(inner))


def _held(value: Any, depth: int, *, opened: bool) -> Any:
    """The shape of what is in an object or a list: False for a plain value, True for null."""
    kind = type(value)
    if kind is str:
        if value[:1] not in _OPENERS and "data:" not in value[:4096]:
            return False
        if not opened:
            raise Uncacheable
        inside = embedded(value)
        return ("text", shape_of(inside, depth + 1, opened=True)) if type(inside) in _HOLDERS else False
    return shape_of(value, depth + 1, opened=opened) if kind is dict or kind is list else value is None


def telling_shape(value: Any, *, opened: bool = False) -> Any:
    """The shape of a value, None where it says too little."""
    try:
        return shape_of(value, opened=opened)
    except Uncacheable:
        return None


class ShapeCache(Generic[Answer]):
    """Answers that depend only on the shape of a record, for as many shapes as a log can reasonably have."""

    def __init__(self, work_out: Callable[[Any], Answer]) -> None:
        self._work_out = work_out
        self._known: dict[Any, Answer] = {}

    def answer(self, record: Any) -> Answer | None:
        """The answer for the record, None where its shape says too little."""
        shape = telling_shape(record)
        return None if shape is None else self.answer_for(shape, record)

    def answer_for(self, shape: Any, record: Any) -> Answer:
        """The answer for the record, whose shape is known."""
        known = self._known.get(shape)
        if known is None:
            if len(self._known) >= MAX_SHAPES:
                self._known.clear()
            known = self._known[shape] = self._work_out(record)
        return known


def places(value: Any, steps: Sequence[str], prefix: Place = ()) -> Iterator[Place]:
    """Every place that `paths.lookup` would look at, in its order."""
    for at, step in enumerate(steps):
        if type(value) is list:
            if step[0] == "[":
                index = int(step[1:-1])
                if index >= len(value):
                    return
                value, prefix = value[index], (*prefix, index)
                continue
            only = value[0] if len(value) == 1 else last_chunk(value)
            if only is None:
                return
            at_place = next(i for i, v in enumerate(value) if v is only)
            value, prefix = only, (*prefix, at_place)
        if type(value) is not dict:
            return
        if step == "**":
            yield from _anywhere(value, steps[at + 1 :], prefix)
            return
        if step in value:
            key = step
        elif step[0] == "~":
            wanted = fold(step[1:])
            found = next((k for k in value if fold(k) == wanted), None)
            if found is None:
                return
            key = found
        else:
            yield from _flat(value, steps[at:], prefix)
            return
        value, prefix = value[key], (*prefix, key)
    yield prefix


def _flat(value: Any, steps: Sequence[str], prefix: Place) -> Iterator[Place]:
    for cut in range(len(steps), 1, -1):
        name = ".".join(steps[:cut])
        if name in value:
            yield from places(value[name], steps[cut:], (*prefix, name))
            return


def _anywhere(value: Any, steps: Sequence[str], prefix: Place) -> Iterator[Place]:
    level: list[tuple[Any, Place]] = [(value, prefix)]
    seen = 0
    for _ in range(MAX_DEPTH):
        below: list[tuple[Any, Place]] = []
        for node, here in level:
            seen += 1
            if seen > MAX_NODES:
                return
            yield from places(node, steps, here)
            below.extend((v, (*here, k)) for k, v in node.items() if type(v) is dict)
            below.extend(
                (x, (*here, k, i)) for k, v in node.items() if type(v) is list for i, x in enumerate(v) if type(x) is dict
            )
        level = below


def value_at(record: Any, place: Place) -> Any:
    """The value at a place that `places` gave for a record of this shape."""
    for key in place:
        record = record[key]
    return record
