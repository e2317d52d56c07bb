"""Which formats are made ready already?

Trying every format on each of thousands of small files would make each of them anew for every file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvforensics.raw import Extractor
from kvforensics.shapes import ShapeCache, telling_shape
from kvforensics.spec import Format

FirstMatch = Callable[[Any], Extractor | None]
MAX_KNOWN = 64
_made: dict[str, Extractor] = {}
_first: dict[tuple[int, ...], tuple[tuple[Extractor, ...], FirstMatch]] = {}


def extractor_of(fmt: Format) -> Extractor:
    """An extractor of the format that is made once."""
    made = _made.get(fmt.name)
    if made is None or made.format is not fmt:
        made = _made[fmt.name] = Extractor(fmt)
    return made


def first_match(extractors: Sequence[Extractor]) -> FirstMatch:
    """Tells the first of the extractors whose format a record has, None where it has none of text or JSON.

    Which one it is hangs on the shape of the record, and a log has few shapes.
    """
    key = tuple(map(id, extractors))
    if key not in _first:
        if len(_first) >= MAX_KNOWN:
            _first.clear()
        # The extractors are held, so that their ids stay theirs.
        _first[key] = tuple(extractors), _first_match([e for e in extractors if not e.format.pattern])
    return _first[key][1]


def _first_match(extractors: Sequence[Extractor]) -> FirstMatch:
    def tried(record: Any, shape: Any = None) -> int:
        return next((k for k, e in enumerate(extractors) if e.matches(record, shape)), -1)

    by_shape: ShapeCache[int] = ShapeCache(lambda record: tried(record, telling_shape(record, opened=True)))

    def first(record: Any) -> Extractor | None:
        shape = telling_shape(record, opened=True) if type(record) is dict else None
        which = tried(record) if shape is None else by_shape.answer_for(shape, record)
        return extractors[which] if which >= 0 else None

    return first
