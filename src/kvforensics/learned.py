"""What do the lines of a block say, read by an outline that was learned from earlier ones?

Learns from the first lines and again, a few times, from lines that have another outline than those before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import Struct, field

from kvforensics.framing import Block
from kvforensics.outline import MAX_PLACES, Place, UnlearnableError
from kvforensics.paths import MAX_NODES
from kvforensics.probe import Probe
from kvforensics.raw import Extractor
from kvforensics.reading import Reading, Readings, Wrapping, wants_of
from kvforensics.words import SIZE, Words

SAMPLE = 48
STRANGERS = 24
"""So many lines that were not read are worth a second lesson; each further one takes four times as many."""
MOST_LESSONS = 5
LONG = 3 * MAX_NODES
"""A line of fewer bytes has fewer objects than a search looks at: `{},` is the shortest."""
_SUSPECT = b'odel"'
_ESCAPE = b"\\u00"
_decode = msgspec.json.Decoder().decode
Near = tuple[bytes, int, int | None]
"""A line that needs a closer look, with its number and its offset."""
Waiting = tuple[bytes, Near]
"""What was read of such a line: the line itself, or the one inside it."""
Group = tuple[Reading | None, Sequence[int], Sequence[Any]]


class Rows(Struct):
    """The rows of one block."""

    data: bytes
    newline: bytes
    count: int
    groups: list[Group] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    """The places of the lines that were not read."""
    barred: set[int] = field(default_factory=set)
    """The places of lines that need a closer look whatever was read of them."""
    source: bytes = b""
    """The lines of the source in which those of the block are, where they are in others."""
    outer: Callable[[Sequence[int]], list[Waiting]] | None = None
    """Some of the lines, by their places, with those that they are in."""
    _lines: list[bytes] | None = None
    _words: Words | None = None

    @property
    def lines(self) -> list[bytes]:
        """The lines; made when they are needed."""
        if self._lines is None:
            self._lines = self.data.split(self.newline)
        return self._lines

    @property
    def words(self) -> Words:
        """The block, to look for single words of it."""
        if self._words is None:
            self._words = Words(self.data)
        return self._words

    def are_calm(self) -> bool:
        """Whether no line of the block gives a key twice that matters, or spells one with escapes."""
        if self.left or any(reading is None for reading, _, _ in self.groups):
            return False
        wanted: Counter[bytes] = Counter()
        for reading, at, _ in self.groups:
            for name, times in reading.once if reading else ():
                wanted[name] += times * len(at)
        escapes = {r.escaped for r, _, _ in self.groups if r} if self.words.count(_ESCAPE[:2]) else ()
        same = len({tuple(n for n, _ in r.once) for r, _, _ in self.groups if r}) == 1
        return (
            same and not any(e.search(self.data) for e in escapes)
            and all(self._has(name, times) for name, times in wanted.items())
        )  # fmt: skip

    def _has(self, name: bytes, times: int) -> bool:
        """Whether a name that is there so often, at least, is not there more often; its end is counted first, being short."""
        return (len(name) >= SIZE and self.words.count(name[-SIZE:]) == times) or self.data.count(name) == times

    def is_clean(self, i: int, reading: Reading, *, every: bool) -> bool:
        """The same of one line; if not `every`, only where the careful path would look for it (see `Sieve`)."""
        line = self.lines[i]
        if _ESCAPE in line:
            if reading.escaped.search(line):
                return False
        elif not every and line.count(_SUSPECT) <= 1:
            return True
        return all(line.count(name) == times for name, times in reading.once)


class Learned:
    """Reads blocks of lines for the slots that are asked."""

    def __init__(
        self, extractors: Sequence[Extractor], slots: Sequence[str], layers: Sequence[tuple[Wrapping, bool]],
        hints: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._all, self._slots, self._layers, self._hints = extractors, slots, layers, hints
        self._samples: list[Any] = []
        self._lessons = 0
        self._strangers: list[bytes] = []
        self._count = 0
        self._root: Place | None = None
        self._probe = Probe(msgspec.Struct)
        self._readings: Readings | None = None
        self._searches = False
        self._main: tuple[int, int] | None = None

    @property
    def joint(self) -> bytes:
        """What may stand between units that have line ends inside."""
        return self._probe.joint

    def read(self, data: bytes, newline: bytes, count: int) -> Rows | None:
        """The rows of a block, None where nothing could be learned."""
        rows = Rows(data, newline, count)
        if self._readings is None:
            self._learn(rows.lines[: count : max(1, count // SAMPLE)])
        elif self._count >= STRANGERS << (2 * self._lessons - 2):
            self._learn(self._strangers)
        readings = self._readings
        if readings is None:
            return None
        found, whole = self._probe.block(data, newline, count)
        if whole:
            rows.groups = readings.groups(found)
        else:
            rows.left = [i for i, r in enumerate(found) if r is None]
            own = [i for i, r in enumerate(found) if r is not None]
            rows.groups = [(r, [own[k] for k in at], held) for r, at, held in readings.groups([found[i] for i in own])]
            if self._lessons < MOST_LESSONS:
                self._count += len(rows.left)
                room = STRANGERS - len(self._strangers)
                self._strangers += [rows.lines[i] for i in rows.left[: max(0, room)]]
        if self._searches and _has_long_line(data, newline):
            # A search does not look at more places, and in which order it comes to them is the line's own.
            rows.barred.update(i for i, line in enumerate(rows.lines) if line.count(b"{") > MAX_NODES)
        return rows

    def _learn(self, lines: Sequence[bytes]) -> None:
        self._lessons += 1
        self._strangers = []
        self._count = 0
        if self._lessons > MOST_LESSONS:
            return
        records = [r for r in map(_record, lines) if r is not None]
        if self._main is None:
            self._main = self._most(records)
            if self._main is None:
                return
        last, alternative = self._main
        extractors = self._all[: last + 1]
        if any("|" in path for e in extractors for path, _ in e.format.framing):
            return
        root = self._root or Place(wants_of(extractors, alternative, self._slots, self._layers, self._hints))
        room = [MAX_PLACES]
        try:
            for record in records:
                root.learn(record, room)
            probe = Probe(root.shape())
        except (UnlearnableError, TypeError, ValueError):
            # What is not learned is looked at closely; what was learned before still holds.
            self._lessons = MOST_LESSONS
            return
        self._root, self._probe = root, probe
        self._readings = Readings(root, extractors, alternative, self._slots, self._layers, self._hints)
        self._searches = root.searched

    def _most(self, records: Sequence[Any]) -> tuple[int, int] | None:
        """The format that most of the records have, and the alternative of its signature that most of those meet."""
        counts: Counter[tuple[int, int]] = Counter()
        for record in records:
            k = next((k for k, e in enumerate(self._all) if e.matches(record)), None)
            if k is not None:
                counts.update((k, n) for n in self._all[k].alternatives(record))
        return max(counts, key=lambda which: (counts[which], which), default=None)


def placed(block: Block, newline: bytes, places: Sequence[int]) -> list[Near]:
    """Some lines of a block, by their places, with their numbers and offsets."""
    lines, first, gap = block.data.split(newline), block.first_line, len(newline)
    starts = list(accumulate(map(len, lines), initial=block.offset))
    return [(lines[i], first + i, starts[i] + i * gap) for i in places]


def _record(line: bytes) -> Any:
    try:
        value = _decode(line.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if type(value) is dict else None


def _has_long_line(data: bytes, newline: bytes) -> bool:
    """Whether a line may be so long that a search does not come to its end."""
    at = 0
    while len(data) - at > LONG:
        end = data.rfind(newline, at, at + LONG)
        if end < 0:
            return True
        at = end + len(newline)
    return False
