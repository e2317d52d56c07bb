"""Which word sequences does a text hold, as keyed numbers that tell nothing about the words?"""

from __future__ import annotations

import re
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
WORDS = 8
_WORD = re.compile(r"\w+")
_MOST_KNOWN = 1 << 20
_FACTOR = 0x9E3779B97F4A7C15


def words_of(text: str) -> list[str]:
    """The words of a text, without case."""
    return _WORD.findall(text.casefold())


class Shingler:
    """Makes keyed 64-bit numbers of all sequences of `WORDS` words; the same key gives the same numbers."""

    def __init__(self, key: bytes) -> None:
        self._key = key[:64]
        self._known: dict[str, int] = {}
        powers = [1]
        for _ in range(WORDS - 1):
            powers.append(powers[-1] * _FACTOR & 0xFFFFFFFFFFFFFFFF)
        self._powers = np.array(powers, np.uint64)

    def hashes(self, text: str) -> Hashes:
        """The distinct numbers of a text, sorted; none for one shorter than a sequence."""
        words = words_of(text)
        if len(words) < WORDS:
            return np.empty(0, np.uint64)
        numbers = np.array([self._word(w) for w in words], np.uint64)
        windows = np.lib.stride_tricks.sliding_window_view(numbers, WORDS)
        # Sums modulo 2^64; the factor makes the place of a word count.
        return np.unique((windows * self._powers).sum(axis=1, dtype=np.uint64))

    def _word(self, word: str) -> int:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8, key=self._key).digest())
            self._known[word] = known
        return known
