"""Which lines of a log need no close look?

Most lines are plainly about another model, or on the model with a prompt that is plainly small. Both are outside
whatever else they say, so a few of their fields are enough. Everything that is not plain, a key given twice, an escape in
a key, a count that is no number, a shape not seen before, goes the careful way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import compress
from typing import Any

import polars as pl

from kvforensics.clashes import FAILED
from kvforensics.envelope import Unit
from kvforensics.framing import Block
from kvforensics.learned import Learned, Near, Rows, Waiting, placed
from kvforensics.mentions import Mentions, names_of
from kvforensics.model_id import ModelReader
from kvforensics.passed import SPANS, Passed, texts
from kvforensics.raw import Extractor
from kvforensics.reading import ANSWERS, HINTS, NARROW, TIMES, WIDE, Reading, Wrapping
from kvforensics.sealed import MARK
from kvforensics.small import are_failed, are_small, are_times, tags_of_others, tags_of_settled, values
from kvforensics.spec import Format
from kvforensics.ties import id_digests

WAITING = 4096
UNITS_BYTES = 1 << 18
FULL = 1 << 18
"""So many lines may pass before what stays of them is taken."""
MAX_NAMES = 1 << 16


class Lane:
    """Passes the plain lines of blocks and yields the others."""

    def __init__(
        self, extractors: Sequence[Extractor], reader: ModelReader, bounds: tuple[int | None, int], wanted: pl.Series,
        layers: Sequence[tuple[Wrapping, bool]] = (), *, inside: bool = False,
    ) -> None:  # fmt: skip
        """`bounds` are the count under which a prompt settles its line, None to settle none, and the lowest threshold.

        `wanted` are digests of ids whose lines are wanted whole. `layers` may be around a record; `inside` says that some
        are, and that they may know the time of a record that does not say it.
        """
        self.passed: dict[str, tuple[Format, Passed]] = {}
        self._reader, self._wanted = reader, wanted
        self._below, self._over = bounds
        self._inside = inside
        self._narrow = Learned(extractors, NARROW, layers, HINTS)
        self._wide = Learned(extractors, WIDE, layers, ANSWERS)
        self._mentions = Mentions(reader)
        self._others: set[Any] = set()
        self._verdicts: dict[tuple[bool, tuple[Any, ...]], Any] = {}
        self._waiting: list[Waiting] = []
        self.odd: Collection[int] = ()
        self._units: list[Unit] = []
        self._size = 0

    @property
    def joint(self) -> bytes:
        """What may stand between units that have line ends inside."""
        return self._narrow.joint

    @property
    def is_full(self) -> bool:
        """Whether so much has passed that it should be taken."""
        return any(len(p.times) >= FULL for _, p in self.passed.values())

    def take(
        self, block: Block, newline: bytes, outer: Callable[[Sequence[int]], list[Waiting]] | None = None,
        source: bytes = b"",
    ) -> Iterator[Near]:  # fmt: skip
        """Reads a block; yields lines that need a closer look once enough of them wait.

        `outer` tells in which lines of the `source` those of the block are, by their places. Of these, those that are not
        read as records may be pieces of one: they do not wait, and their places are in `odd`.
        """
        near, self.odd = self._near(block.data, newline, block.lines, outer, source)
        if outer is not None:
            self._waiting += outer([i for i in near if i not in self.odd])
        elif near:
            self._waiting += [(line[0], line) for line in placed(block, newline, near)]
        if len(self._waiting) >= WAITING:
            yield from self.rest()

    def hold(self, unit: Unit) -> bool:
        """Holds an element of a document; whether the elements that are held are worth a block."""
        self._units.append(unit)
        self._size += len(unit.data)
        return self._size >= UNITS_BYTES

    def take_held(self) -> Iterator[Near]:
        """The same as `take` of the elements that are held."""
        units, self._units, self._size = self._units, [], 0
        if units:
            # Elements may have line ends inside.
            data = self.joint.join([u.data for u in units]) + self.joint
            near, _ = self._near(data, self.joint, len(units))
            self._waiting += [(u.data, (u.data, u.ordinal, u.offset)) for u in map(units.__getitem__, near)]
        if len(self._waiting) >= WAITING:
            yield from self.rest()

    def _near(
        self, data: bytes, newline: bytes, count: int, outer: Callable[[Sequence[int]], list[Waiting]] | None = None,
        source: bytes = b"",
    ) -> tuple[Sequence[int], Collection[int]]:  # fmt: skip
        """The places of units that need a closer look, and which of them were not read; the others are passed."""
        rows = self._narrow.read(data, newline, count)
        if rows is None:
            return range(count), range(count)
        rows.source, rows.outer = source, outer
        return sorted(self.pass_by(rows)), {*rows.left, *(i for reading, at, _ in rows.groups if reading is None for i in at)}

    def rest(self) -> Iterator[Near]:
        """The lines that still wait and need a closer look."""
        if self._units:
            yield from self.take_held()
        waiting, self._waiting = self._waiting, []
        if self._below is None or not waiting:
            yield from (near for _, near in waiting)
            return
        joint = self._wide.joint
        rows = self._wide.read(joint.join([line for line, _ in waiting]) + joint, joint, len(waiting))
        if rows is not None and self._mentions.are_outside:
            rows.barred |= self._mentions.outside(waiting)
        yield from (waiting[i][1] for i in (range(len(waiting)) if rows is None else sorted(self.settle(rows))))

    def take_passed(self) -> list[tuple[Format, Passed]]:
        """What has passed since it was asked the last time, by format."""
        passed, self.passed = list(self.passed.values()), {}
        return passed

    def pass_by(self, rows: Rows) -> set[int]:
        """The places of rows that are not plainly about another model; the others are passed."""
        left = set(rows.left)
        calm = rows.are_calm()
        names = names_of(rows)
        rows.barred |= self._mentions.beyond(rows, names)
        for (reading, at, own), (_, models) in zip(rows.groups, names, strict=True):
            if reading is None or (self._inside and not reading.times):
                left.update(at)
                continue
            far = self._are_others(models, reading.format.nothing)
            if reading.slots["answer_model"]:
                far = [a and b for a, b in zip(far, self._are_answered_so(reading, own), strict=True)]
            self._bar(far, reading, at, own, rows, calm=calm, every=False)
            ids = [values(own, f) for f in reading.ids]
            self._bar_wanted(far, ids)
            times = values(own, reading.times[0]) if reading.times else [None] * len(own)
            if len(reading.times) > 1 or (reading.times and reading.format.nothing):
                nothing = ("", *reading.format.nothing)
                far = [a and t not in nothing for a, t in zip(far, times, strict=True)]
            passed = self._passed(reading.format)
            count = far.count(True)
            passed.off_model += count
            if count < len(far):
                left.update(i for i, a in zip(at, far, strict=True) if not a)
                passed.times += compress(times, far)
                ids = [list(compress(column, far)) for column in ids]
            else:
                passed.times += times
            gone = own if count == len(far) else list(compress(own, far))
            passed.remember(ids, tags_of_others(reading, gone, self._over, told=reading.hinted))
        return left

    def _are_others(self, models: Sequence[Any], nothing: Sequence[str]) -> list[bool]:
        """Which of the names are plainly those of other models."""
        others = self._others
        distinct = set(models)
        new = distinct.difference(others)
        if len(others) + len(new) > MAX_NAMES:
            others.clear()
        others.update(m for m in new if type(m) is str and not _may_open(m) and self._reader.is_plainly_other(m))
        far = distinct.intersection(others).difference(nothing)
        return [True] * len(models) if len(far) == len(distinct) else [m in far for m in models]

    def _are_answered_so(self, reading: Reading, own: Sequence[Any]) -> list[bool]:
        """Of which rows the answer names no model, or plainly another one than the affected."""
        answered = [True] * len(own)
        for f in reading.slots["answer_model"]:
            names = values(own, f)
            others = self._are_others(names, reading.format.nothing)
            answered = [a and (n is None or o) for a, n, o in zip(answered, names, others, strict=True)]
        return answered

    def _bar(
        self, plain: list[bool], reading: Reading, at: Sequence[int], own: Sequence[Any], rows: Rows, *, calm: bool,
        every: bool,
    ) -> None:  # fmt: skip
        """Bars rows that say something else than what is read of them, or that need a closer look as they are."""
        if not calm:
            for k, i in enumerate(at):
                plain[k] = plain[k] and rows.is_clean(i, reading, every=every)
        for get in reading.texts:
            for k, text in enumerate(map(get, own)):
                if type(text) is str and _may_open(text):
                    plain[k] = False
        if rows.barred:
            for k, i in enumerate(at):
                plain[k] = plain[k] and i not in rows.barred

    def _bar_wanted(self, plain: list[bool], ids: Sequence[Sequence[Any]]) -> None:
        if self._wanted.is_empty():
            return
        for column in ids:
            for k in id_digests(texts(list(column))).is_in(self._wanted.implode()).fill_null(value=False).arg_true():
                plain[k] = False

    def settle(self, rows: Rows) -> set[int]:
        """The places of rows that are not settled; the others are passed."""
        left = set(rows.left)
        if MARK in rows.data:
            rows.barred.update(i for i, line in enumerate(rows.lines) if MARK in line)
        calm = rows.are_calm()
        beyond = self._mentions.beyond(rows, names_of(rows), every=True)
        for reading, at, own in rows.groups:
            if reading is None or not reading.times:
                left.update(at)
                continue
            verdicts = self._models(reading, own)
            plain = [v is not _UNSURE for v in verdicts]
            self._bar(plain, reading, at, own, rows, calm=calm, every=True)
            ids = [values(own, f) for f in reading.ids]
            self._bar_wanted(plain, ids)
            small, failed = are_small(reading, own, self._below or 0), are_failed(reading, own)
            starts = {slot: values(own, fields[0], slot) for slot in SPANS if (fields := reading.slots[slot])}
            for slot in TIMES:
                column = starts.get(slot, ())
                if not are_times(column, reading.format.nothing):
                    plain = [a and are_times([t], reading.format.nothing) for a, t in zip(plain, column, strict=True)]
            if len(reading.slots["duration"]) > 1:
                plain = [a and d is not None for a, d in zip(plain, starts["duration"], strict=True)]
            passed = self._passed(reading.format)
            other = [a and v is False and i not in beyond for i, a, v in zip(at, plain, verdicts, strict=True)]
            done = [a and (s or f) and v is not False for a, s, f, v in zip(plain, small, failed, verdicts, strict=True)]
            left.update(i for i, o, d in zip(at, other, done, strict=True) if not (o or d))
            gone = [o or d for o, d in zip(other, done, strict=True)]
            tags = tags_of_settled(reading, own, failed)
            if not all(v is True for v in verdicts):
                others = tags_of_others(reading, own, self._over, told=True) if any(other) else bytes(len(own))
                told = zip(other, others, tags, verdicts, strict=True)
                tags = bytes(t if o else s if v is True or s == FAILED else 0 for o, t, s, v in told)
            passed.remember([list(compress(column, gone)) for column in ids], bytes(compress(tags, gone)))
            passed.off_model += other.count(True)
            passed.settled += done.count(True)
            passed.failed += compress(failed, done)
            passed.times += compress(next(starts[t] for t in TIMES if t in starts), gone)
            for slot in SPANS:
                passed.starts[slot] += compress(starts[slot], done) if slot in starts else [None] * done.count(True)
        return left

    def _models(self, reading: Reading, own: Sequence[Any]) -> list[Any]:
        """Whether each row is on the model, as far as it is plain."""
        said = []
        for slot in ("model", "provider", "host"):
            fields = reading.slots[slot]
            if fields and fields[0].unit:
                return [_UNSURE] * len(own)
            said.append(list(map(fields[0].get, own)) if fields else [reading.format.constants.get(slot)] * len(own))
        serves, nothing = reading.format.provider_serves, reading.format.nothing
        keys = list(zip(*said, strict=True))
        distinct = set(keys)
        if len(self._verdicts) + len(distinct) > MAX_NAMES:
            self._verdicts.clear()
        for key in distinct:
            if (serves, key) not in self._verdicts:
                plain = all(k is None or _is_plain(k, nothing) for k in key)
                verdict = self._reader.read(*key, provider_serves=serves) if plain else _UNSURE
                self._verdicts[serves, key] = verdict
        found = [self._verdicts[serves, key] for key in keys]
        if not reading.slots["answer_model"]:
            return found
        # The name in the answer may tell what the one that was asked for does not, or contradict it.
        alike = self._are_answered_so(reading, own)
        return [_UNSURE if v is None or (v is False and not a) else v for v, a in zip(found, alike, strict=True)]

    def _passed(self, fmt: Format) -> Passed:
        return self.passed.setdefault(fmt.name, (fmt, Passed()))[1]


_UNSURE: Any = object()


def _may_open(text: str) -> bool:
    """Whether a text may be JSON or events kept as text, in which paths go on."""
    return text[:1] <= " " or text[0] in "{[" or text[0] > "~" or "data:" in text[:4096]


def _is_plain(text: Any, nothing: Sequence[str]) -> bool:
    return type(text) is str and text not in nothing and not _may_open(text)
