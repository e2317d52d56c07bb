"""Which rows of a table need no reading row by row?

Whole columns tell which rows are of another model, or outside by their size; these are counted and left out. The others
are read from their columns too, but for those of which some cell needs a closer look.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from kvforensics.beside_cells import marked, of_others
from kvforensics.clashes import OVER, REPLAY
from kvforensics.columns import Columns, can_read
from kvforensics.masks import either, some
from kvforensics.model_id import ModelReader
from kvforensics.normalise import Located, read_model, settling
from kvforensics.raw import TELLING, Extractor
from kvforensics.scanned import Setting
from kvforensics.settled import WEIGHING, are_failed, tags_of_others
from kvforensics.sieve import Sieve
from kvforensics.stumps import Shapes
from kvforensics.tokens import ALSO

_SETTLING = (
    "prompt", "cache_read", "cache_write", "completion", "total", "request_bytes", "request_encoding", "duration",
    "from_cache", "replay_of", "cache_rule", "http_status", "state", "success", "error", "output", ALSO,
)  # fmt: skip
ROW = "\x00row"
"""The column of the row numbers of a batch; no table can have one of that name, as its own are text of a log."""
MAX_NAMES = 1 << 10
"""So many names of other models are remembered from one batch to the next."""
Locate = Callable[[Sequence[int]], Located]
Rest = tuple[Columns, pl.DataFrame]
"""Rows of one format that are not plainly of another model, as far as they were looked at; they have their numbers as `ROW`."""


class Near(Struct, frozen=True):
    """Rows of one format that stay: what was looked at, what is known of their model, and which are wanted."""

    columns: Columns
    cells: pl.DataFrame
    match: pl.Series
    wanted: pl.Series | None

    @property
    def rows(self) -> pl.Series:
        """The numbers of the rows."""
        return self.cells[ROW].cast(pl.Int64)

    def bare(self) -> Near:
        """The same rows, with nothing but their numbers."""
        return replace(self, cells=self.cells.select(ROW))

    def renumbered(self, numbers: pl.Series) -> Near:
        """The same rows, bare, with the numbers that stand at theirs."""
        return replace(self, cells=numbers.gather(self.rows).alias(ROW).to_frame())

    def where(self, mask: pl.Series) -> Near:
        """Those of the rows that a mask has."""
        return Near(self.columns, self.cells.filter(mask), self.match.filter(mask), _filtered(self.wanted, mask))


def joined(near: Iterable[Near]) -> list[Near]:
    """The same rows, bare, with those of each format together."""
    parts: dict[int, list[Near]] = {}
    for n in near:
        parts.setdefault(id(n.columns), []).append(n.bare())
    return [_one(p) for p in parts.values()]


def _one(parts: Sequence[Near]) -> Near:
    wanted = [n.wanted for n in parts if n.wanted is not None]
    # What is wanted is asked of all rows or of none.
    return Near(
        parts[0].columns, pl.concat([n.cells for n in parts]), pl.concat([n.match for n in parts]),
        pl.concat(wanted) if wanted else None,
    )  # fmt: skip


def _filtered(column: pl.Series | None, mask: pl.Series) -> pl.Series | None:
    return None if column is None else column.filter(mask)


class Looked(Struct, frozen=True):
    """What a first look leaves: rows that may stay, and rows that have to be read one by one."""

    rest: tuple[Rest, ...]
    unsure: tuple[int, ...]
    foreign: tuple[int, ...] = ()
    """Rows of no format, which `leave` has to be told of."""


class Counts(Struct, frozen=True):
    """Where a scanner counts: what takes records, what takes framing, and the keys of records."""

    sieve: Sieve
    skip: Callable[[int], None]
    shapes: Shapes


class TableLane:
    """Reads the rows of one table, batch by batch."""

    def __init__(
        self, setting: Setting, names: Sequence[str], columns: Sequence[Columns], reader: ModelReader, counts: Counts
    ) -> None:
        self._setting, self._columns, self._reader = setting, columns, reader
        self._sieve, self._skip, self._shapes = counts.sieve, counts.skip, counts.shapes
        self._keys = dict.fromkeys(names)
        self._others: list[str] = []
        self.marks = [mark.decode() for mark in reader.marks]
        settles = (*TELLING, *_SETTLING) if setting.keep == "open" else (*TELLING, *WEIGHING)
        self.narrow = frozenset(n for c in columns for n in c.needed(settles))
        self.wide = frozenset(n for c in columns for n in c.needed(c.asked.slots, whole=True)) | self.narrow
        self.beside = frozenset(n for c in columns for n in c.beside)

    @classmethod
    def open(
        cls, setting: Setting, extractors: Sequence[Extractor], names: Sequence[str], nested: Sequence[str],
        reader: ModelReader, counts: Counts,
    ) -> TableLane | None:  # fmt: skip
        """A lane for a table, None where its formats have to be read row by row."""
        columns = []
        for extractor in extractors:
            if extractor.format.pattern:
                continue
            if not can_read(extractor, names):
                return None
            columns.append(Columns(extractor, names, nested))
            if columns[-1].takes_all:
                break
        return cls(setting, names, columns, reader, counts)

    def look(self, frame: pl.DataFrame, first: int = 0) -> Looked:
        """A first look at the rows of a batch; `first` is the number of the first row.

        The batch must have the `narrow` columns, and those `beside` of which a cell may name the affected model.
        """
        left = frame.with_row_index(ROW, first)
        rest: list[Rest] = []
        unsure: list[int] = []
        for columns in self._columns:
            if left.is_empty():
                break
            yes, doubt = columns.matches(left)
            if doubt is not None:
                unsure += left.filter(doubt)[ROW].to_list()
            if yes is not None:
                self._shapes.record(self._keys)
                rows, open_rows = self.take(columns, left if yes.all() else left.filter(yes))
                unsure += open_rows
                rest.append((columns, rows))
                doubt = yes if doubt is None else yes | doubt
            left = left if doubt is None else left.filter(~doubt)
        return Looked(tuple(rest), tuple(sorted(unsure)), tuple(left[ROW]))

    def leave(self, foreign: Sequence[int], naming: Container[int]) -> list[int]:
        """Count rows of no format as framing, but for those that name the model, which have to be read one by one."""
        left = [i for i in foreign if i in naming]
        if passed := len(foreign) - len(left):
            self._shapes.foreign(self._keys, passed)
            self._skip(passed)
        return left

    def naming(self, frame: pl.DataFrame) -> pl.Series:
        """Which rows may name the model in a text; a nested value may hold anything."""
        texts = [pl.col(n).str.contains_any(self.marks) for n, kind in frame.schema.items() if kind == pl.String]
        nested = [pl.col(n).is_not_null() for n, kind in frame.schema.items() if kind.is_nested()]
        nowhere = pl.repeat(value=False, n=pl.len())
        return frame.select(f=pl.any_horizontal(nowhere, *texts, *nested).fill_null(value=False))["f"]

    def take(self, columns: Columns, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
        """Of rows of one format those that are neither framing nor plainly of another model; and those that are unsure.

        The frame has their numbers as `ROW`.
        """
        unsure: list[int] = []
        framing, doubt = columns.framing(frame)
        if doubt is not None:
            unsure += frame.filter(doubt)[ROW].to_list()
        if framing is not None:
            self._skip(int(framing.sum()))
            doubt = framing if doubt is None else framing | doubt
        frame = frame if doubt is None else frame.filter(~doubt)
        times, raw, doubt = columns.telling(frame)
        self._sieve.note(times, columns.format.zone)
        if doubt is not None:
            unsure += frame.filter(doubt)[ROW].to_list()
            frame, raw = frame.filter(~doubt), raw.filter(~doubt)
        if frame.is_empty():
            return frame, unsure
        if columns.beside:
            frame = marked(frame, columns.beside, self.marks, self.wide)
        frame, named = self._pass_by(columns, frame, raw)
        return frame, unsure + named

    def _pass_by(self, columns: Columns, frame: pl.DataFrame, raw: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
        """The rows without those plainly of another model, which are counted, and unsure ones; `raw` is what they tell."""
        other = self._are_others(raw["model"]).fill_null(value=False)
        if raw["answer_model"].null_count() < raw.height:
            other &= self._are_others(raw["answer_model"]).fill_null(value=True)
        named: list[int] = []
        if (beside := of_others(frame, other)) is not None:
            named = frame.filter(beside)[ROW].to_list()
            frame, raw, other = frame.filter(~beside), raw.filter(~beside), other.filter(~beside)
        if self._setting.keep == "all":
            return frame, named
        wanted = self._sieve.wanted(raw)
        other = other if wanted is None else other & ~wanted
        self._sieve.leave(raw, other, self._tags(columns, frame, other))
        self._sieve.count(columns.format.name, int(other.sum()))
        if raw["sample_interval"].null_count() < raw.height:
            self._sieve.note_rates(raw.filter(other), pl.Series([False]).new_from_index(0, int(other.sum())))
        return frame.filter(~other), named

    def settle(self, rest: Iterable[Rest]) -> tuple[list[Near], list[int]]:
        """The rows that stay once those of other models and the settled ones are left out, and those to be read one by one.

        Best asked of many rows at once.
        """
        parts: dict[int, list[Rest]] = {}
        for columns, cells in rest:
            if cells.height:
                parts.setdefault(id(columns), []).append((columns, cells))
        near: list[Near] = []
        unsure: list[int] = []
        for held in parts.values():
            stay, sealed = self._settle(held[0][0], pl.concat([cells for _, cells in held]))
            near += [stay] if stay.rows.len() else []
            unsure += sealed
        return near, unsure

    def _are_others(self, names: pl.Series) -> pl.Series:
        """Which names are plainly those of other models, null where there is none."""
        found = names.is_in(self._others)
        new = [n for n in names.filter(~found).unique() if n and self._reader.is_plainly_other(n)]
        self._others = new if len(self._others) + len(new) > MAX_NAMES else [*self._others, *new]
        return found | names.is_in(new) if new else found

    def _tags(self, columns: Columns, frame: pl.DataFrame, other: pl.Series) -> pl.Series:
        """What rows of other models may contradict, see `clashes`."""
        asked = columns.needed(WEIGHING)
        rows = frame.select(ROW, *(n for n in frame.columns if n in asked)).filter(other)
        raw, doubt = columns.batch(rows, sorted(WEIGHING))
        tags = tags_of_others(raw, self._setting.incident.lowest_over)
        return tags if doubt is None else tags.set(doubt, OVER | REPLAY)

    def _settle(self, columns: Columns, frame: pl.DataFrame) -> tuple[Near, list[int]]:
        sieve, fmt, keep = self._sieve, columns.format, self._setting.keep
        settles = keep == "open" and columns.asked.alike
        raw, doubt = columns.batch(frame, (*sorted(TELLING), *(_SETTLING if settles else ())))
        match = read_model(raw, fmt, self._reader)
        unsure: list[int] = []
        sealed, beside = columns.sealed(frame), of_others(frame, match.eq_missing(other=False))
        closer = either(beside, None if sealed is None else some(sealed & match.ne_missing(other=False)))
        if closer is not None:
            unsure = frame.filter(closer)[ROW].to_list()
            frame, raw, match = frame.filter(~closer), raw.filter(~closer), match.filter(~closer)
            doubt = _filtered(doubt, ~closer)
        sieve.note_rates(raw, match)
        wanted = sieve.wanted(raw)
        if keep != "all":
            other = match.eq(other=False).fill_null(value=False)
            other = other if wanted is None else other & ~wanted
            if other.any():
                sieve.leave(raw, other, self._tags(columns, frame, other))
                sieve.count(fmt.name, int(other.sum()))
                frame, raw, match = frame.filter(~other), raw.filter(~other), match.filter(~other)
                wanted, doubt = _filtered(wanted, ~other), _filtered(doubt, ~other)
        near = Near(columns, frame, match, wanted)
        if not settles or frame.is_empty():
            return near, unsure
        kept = wanted if doubt is None else doubt if wanted is None else doubt | wanted
        told = settling(raw, fmt, self._setting.zone, self._setting.incident)
        _, stay = sieve.unsettled(told, raw, match, kept, are_failed(told, raw, fmt))
        sieve.count(fmt.name, frame.height - int(stay.sum()))
        return near.where(stay), unsure

    def keep(self, near: Near, frame: pl.DataFrame, locate: Locate) -> list[int]:
        """Keep rows that stayed; `frame` has their `wide` columns, row by row. Gives those to be read one by one."""
        columns = near.columns
        if not columns.asked.alike:
            return near.rows.to_list()
        sealed = columns.sealed(frame)
        again: list[int] = []
        if sealed is not None:
            again = near.rows.filter(sealed).to_list()
            frame, near = frame.filter(~sealed), near.where(~sealed)
        raw = columns.whole(frame.drop(ROW, strict=False))
        rows = near.rows.to_list()
        if rows:
            self._sieve.count(columns.format.name, len(rows))
            raw = raw.with_columns(near.match.alias("model_match"))
            self._sieve.keep(raw, locate(rows), columns.format, near.wanted, {})
        return again
