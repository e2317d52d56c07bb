"""How often, and where, are two or four bytes in a block?

Compares the block as words of memory from each of their beginnings, which takes a fraction of a search for a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

SIZE = 4
_KINDS: dict[int, Any] = {2: np.dtype("<u2"), SIZE: np.dtype("<u4")}
_SMALL = b" " * SIZE
"""The bits by which small letters differ from capital ones; the marks between them have it anyway."""


class Words:
    """A block of bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def count(self, word: bytes, *, fold: bool = False) -> int:
        """How often these bytes are in it; where letters are to `fold`, of either size, given small."""
        return sum(map(np.count_nonzero, self._equal(word, fold=fold)))

    def places(self, word: bytes, *, fold: bool = False) -> list[int]:
        """Where they are, in order."""
        size = len(word)
        found = [np.flatnonzero(same) * size + start for start, same in enumerate(self._equal(word, fold=fold))]
        return sorted(np.concatenate(found).tolist())

    def _equal(self, word: bytes, *, fold: bool) -> Iterator[np.ndarray[Any, np.dtype[np.bool_]]]:
        """For each of the places of a word of memory that bytes may begin at, which of the words from there are these bytes."""
        size, data = len(word), self._data
        kind = _KINDS[size]
        wanted, small = (kind.type(int.from_bytes(b, "little")) for b in (word, _SMALL[:size]))
        for start in range(min(size, max(1, len(data) - size + 1))):
            held = np.frombuffer(data, kind, max(0, len(data) - start) // size, start)
            yield (held | small) == wanted if fold else held == wanted
