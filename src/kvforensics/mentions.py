"""Which rows of a block name the model elsewhere than as their own?

A record of another model may hold a call of the affected one, such as an attempt that a router made before. To search all
lines for a name would cost more than to read them, so that only four bytes of it are looked for, in the whole block at
once, and counted against what the rows say of their own model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from kvforensics.learned import Rows, Waiting
from kvforensics.model_id import ModelReader
from kvforensics.words import SIZE, Words

_LONGEST = 300
"""No name is longer."""
_LONGER = re.compile(rb"[a-z0-9_]|[.-][a-z0-9]")
"""What goes on behind a name that is another one's."""
_GAP = rb"(?:\s|\\[nrt])*"
_KEY = re.compile(rb'[^"]{0,%d}"' % _LONGEST + _GAP + rb":")
"""What is behind a name that is a key, or the end of one."""
_VALUE = re.compile(rb'(?:model|id|name|slug)[-_ ]*\\*"' + _GAP + rb":" + _GAP + rb"\\*\Z")
"""What is before the quote of a value that may be the name of a model."""
Named = tuple[Sequence[int], Sequence[Any]]
"""Places of rows, and the names of their models."""


class Mentions:
    """Looks for them in blocks of lines."""

    def __init__(self, reader: ModelReader) -> None:
        self._reader = reader
        self.are_outside = False
        """Whether there may be some around lines that are in others."""
        ends = {mark.lower() for mark in reader.marks}
        self._short = any(len(end) < SIZE for end in ends)
        self._words = sorted({_rarest(end) for end in ends}) if not self._short else []
        self._ends = sorted(ends)

    def beyond(self, rows: Rows, names: Sequence[Named], *, every: bool = False) -> set[int]:
        """The places of rows of another model that name the affected one too; `names` are what they say of their own.

        If `every`, also of rows whose own name does not tell by itself that it is another one's.
        """
        found: set[int] = set()
        source = Words(rows.source) if rows.source else rows.words
        for word in self._words:
            told = sum(_told(column, word) for _, column in names)
            around = source.count(word, fold=_has_letters(word))
            if around > told:
                self.are_outside = self.are_outside or bool(rows.source)
                here = rows.words.count(word, fold=_has_letters(word)) if rows.source else around
                found.update(self._among(rows, word, names, every=every) if here > told else ())
                found.update(self.outside(rows.outer(range(rows.count))) if rows.outer is not None and around > here else ())
        if self._short:
            found.update(i for i, line in enumerate(rows.lines) if self._reader.mentions(line))
        return found

    def outside(self, lines: Sequence[Waiting]) -> set[int]:
        """The places of lines that are in others which name the model more often than they do."""
        found: set[int] = set()
        for i, (line, (around, _, _)) in enumerate(lines):
            if line is not around and any(_in(around, word) > _in(line, word) for word in self._words):
                found.update({i} if self._may_tell(around) else ())
        return found

    def _among(self, rows: Rows, word: bytes, names: Sequence[Named], *, every: bool) -> list[int]:
        """The rows that have so many of these places, or more, beside those in the name of their model."""
        own: Mapping[int, Any] = {i: name for at, column in names for i, name in zip(at, column, strict=True)}
        data, end, gap = rows.data, rows.newline, len(rows.newline)
        found = []
        line = at = 0
        counts: Counter[int] = Counter()
        starts: dict[int, int] = {}
        for hit in rows.words.places(word, fold=_has_letters(word)):
            line += data.count(end, at, hit)
            at = hit
            counts[line] += 1
            starts.setdefault(line, hit)
        for i, count in counts.items():
            name = own.get(i)
            if type(name) is not str or count <= _told([name], word):
                continue
            if not (every or self._reader.is_plainly_other(name)):
                # It is looked at again anyway.
                continue
            hit = starts[i]
            start, stop = data.rfind(end, 0, hit), data.find(end, hit)
            if self._may_tell(data[start + gap if start >= 0 else 0 : stop if stop >= 0 else len(data)]):
                found.append(i)
        return found

    def _may_tell(self, line: bytes) -> bool:
        """Whether a line may tell of a call on the model: names in lists, and in what people say, are common."""
        return (b"\\u" in line or self._has_place(line.lower())) and self._reader.mentions(line)

    def _has_place(self, line: bytes) -> bool:
        """Whether a name is the value of a key that may name a model, or the key of something, also in JSON kept as text."""
        for end in self._ends:
            at = line.find(end)
            while at >= 0:
                stop = at + len(end)
                if _LONGER.match(line, stop) is None:
                    begin = line.rfind(b'"', max(0, at - _LONGEST), at)
                    if _KEY.match(line, stop) or (begin >= 0 and _VALUE.search(line, max(0, begin - _LONGEST), begin)):
                        return True
                at = line.find(end, stop)
        return False


def names_of(rows: Rows) -> list[Named]:
    """What rows say of their model."""
    return [((), ()) if r is None else (at, list(map(r.slots["model"][0].get, own))) for r, at, own in rows.groups]


def _rarest(end: bytes) -> bytes:
    """Four bytes of a name, with as few letters as may be: these are rare in what else a log says."""
    words = [end[i : i + SIZE] for i in range(len(end) - SIZE + 1)]
    return min(words, key=lambda word: sum(c >= ord("a") for c in word))


def _told(names: Sequence[Any], word: bytes) -> int:
    """How often names have four bytes."""
    try:
        text = "\n".join(names)
    except TypeError:
        text = "\n".join([name for name in names if type(name) is str])
    return (text.lower() if _has_letters(word) else text).count(word.decode())


def _in(line: bytes, word: bytes) -> int:
    return (line.lower() if _has_letters(word) else line).count(word)


@cache
def _has_letters(word: bytes) -> bool:
    return any(c >= ord("a") for c in word)
