"""What leads to the units in a JSON document, and what comes out of it?

An envelope path is a dotted list of keys; `*` is any key and `[]` every element of an array: `hits.hits[]`,
`data.viewer.accounts[].*[]`. See `framing_json`.
"""

from __future__ import annotations

import json
from functools import lru_cache

from msgspec import Struct

ELEMENT = "[]"


class Unit(Struct, frozen=True):
    """One element. `ordinal` is 1-based over units, rejects and framing of the stream, `offset` in decompressed bytes."""

    data: bytes
    ordinal: int
    offset: int
    document_index: int
    context: tuple[bytes, ...] = ()
    """For each enclosing object, outermost first, a JSON object of its members before the unit (up to 64 KiB)."""


class Reject(Struct, frozen=True):
    """A stretch that is no unit: `syntax`, `truncated`, `too_deep` or `oversize`. `data` is the start of it."""

    ordinal: int
    offset: int
    length: int
    reason: str
    data: bytes


class Framing(Struct, frozen=True):
    """Text before the first document, such as a banner."""

    ordinal: int
    offset: int
    length: int


Item = Unit | Reject | Framing
State = tuple[int, int]


@lru_cache(maxsize=256)
def compile_envelope(path: str) -> tuple[str, ...]:
    """The steps of an envelope path: keys, `*` and `[]`."""
    steps: list[str] = []
    for part in path.split(".") if path else ():
        name = part
        while name.endswith(ELEMENT):
            name = name[:-2]
        steps += ([name] if name else []) + [ELEMENT] * ((len(part) - len(name)) // 2)
    return tuple(steps)


def key_text(raw: bytes) -> str | None:
    """The name that a JSON string spells, None where it is none."""
    if b"\\" not in raw:
        return raw[1:-1].decode("utf-8", "replace")
    try:
        text = json.loads(raw)
    except ValueError:
        return None
    return text if isinstance(text, str) else None
