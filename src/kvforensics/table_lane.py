"""Which rows of a table need no reading row by row?

Whole columns tell which rows are of another model, or outside by their size; these are counted and left out. The others
are read from their columns too, but for those of which some cell needs a closer look.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from kvforensics.clashes import OVER, REPLAY
from kvforensics.columns import Columns, can_read
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


@dataclass(frozen=True, slots=True)
class Near:
    """Rows of one format that stay: their numbers in the batch, what is known of their model, and which are wanted."""

    columns: Columns
    rows: pl.Series
    match: pl.Series
    wanted: pl.Series | None

    def moved(self, by: int) -> Near:
        """The same rows, counted from elsewhere."""
        return replace(self, rows=self.rows.cast(pl.Int64) + by)

    def where(self, mask: pl.Series) -> Near:
        """Those of the rows that a mask has."""
        wanted = None if self.wanted is None else self.wanted.filter(mask)
        return Near(self.columns, self.rows.filter(mask), self.match.filter(mask), wanted)


def joined(near: Iterable[Near]) -> list[Near]:
    """The same rows with those of each format together."""
    parts: dict[int, list[Near]] = {}
    for n in near:
        parts.setdefault(id(n.columns), []).append(n)
    return [_one(p) for p in parts.values()]


def _one(parts: Sequence[Near]) -> Near:
    wanted = [n.wanted for n in parts if n.wanted is not None]
    # What is wanted is asked of all rows or of none.
    return Near(
        parts[0].columns, pl.concat([n.rows for n in parts]), pl.concat([n.match for n in parts]),
        pl.concat(wanted) if wanted else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Looked:
    """What a first look leaves: rows that stay, and rows that have to be read one by one."""

    near: tuple[Near, ...]
    unsure: tuple[int, ...]
    foreign: tuple[int, ...] = ()
    """Rows of no format, which `leave` has to be told of."""


@dataclass(frozen=True, slots=True)
class Counts:
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

    def look(self, frame: pl.DataFrame) -> Looked:
        """A first look at the rows of a batch, which must have the `narrow` columns."""
        left = frame.with_row_index(ROW)
        near: list[Near] = []
        unsure: list[int] = []
        for columns in self._columns:
            if left.is_empty():
                break
            yes, doubt = columns.matches(left)
            if doubt is not None:
                unsure += left.filter(doubt)[ROW].to_list()
            if yes is not None:
                self._shapes.record(self._keys)
                looked = self.take(columns, left if yes.all() else left.filter(yes))
                near += looked.near
                unsure += looked.unsure
                doubt = yes if doubt is None else yes | doubt
            left = left if doubt is None else left.filter(~doubt)
        return Looked(tuple(near), tuple(sorted(unsure)), tuple(left[ROW]))

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

    def take(self, columns: Columns, frame: pl.DataFrame) -> Looked:
        """A first look at rows of one format; the frame has their numbers as `ROW`."""
        sieve, fmt = self._sieve, columns.format
        unsure: list[int] = []
        framing, doubt = columns.framing(frame)
        if doubt is not None:
            unsure += frame.filter(doubt)[ROW].to_list()
        if framing is not None:
            self._skip(int(framing.sum()))
            doubt = framing if doubt is None else framing | doubt
        frame = frame if doubt is None else frame.filter(~doubt)
        times, raw, doubt = columns.telling(frame)
        sieve.note(times, fmt.zone)
        if doubt is not None:
            unsure += frame.filter(doubt)[ROW].to_list()
            frame, raw = frame.filter(~doubt), raw.filter(~doubt)
        if frame.is_empty():
            return Looked((), tuple(unsure))
        frame, raw = self._pass_by(columns, frame, raw)
        match = read_model(raw, fmt, self._reader)
        sealed = columns.sealed(frame)
        if sealed is not None and (sealed := sealed & match.ne_missing(other=False)).any():
            unsure += frame.filter(sealed)[ROW].to_list()
            frame, raw, match = frame.filter(~sealed), raw.filter(~sealed), match.filter(~sealed)
        sieve.note_rates(raw, match)
        wanted = sieve.wanted(raw)
        rows = frame
        if self._setting.keep != "all":
            other = match.eq(other=False).fill_null(value=False)
            other = other if wanted is None else other & ~wanted
            sieve.leave(raw, other, self._tags(columns, frame, other))
            sieve.count(fmt.name, int(other.sum()))
            rows, match = frame.filter(~other), match.filter(~other)
            wanted = None if wanted is None else wanted.filter(~other)
        if self._setting.keep == "open" and columns.asked.alike and rows.height:
            stay = self._settle(columns, rows, match, wanted)
            rows, match = rows.filter(stay), match.filter(stay)
            wanted = None if wanted is None else wanted.filter(stay)
        near = (Near(columns, rows[ROW], match, wanted),) if rows.height else ()
        return Looked(near, tuple(unsure))

    def _pass_by(
        self, columns: Columns, frame: pl.DataFrame, raw: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows, and what they tell, without those whose model is plainly another one, which are counted."""
        if self._setting.keep == "all":
            return frame, raw
        other = self._are_others(raw["model"]).fill_null(value=False)
        if raw["answer_model"].null_count() < raw.height:
            other &= self._are_others(raw["answer_model"]).fill_null(value=True)
        wanted = self._sieve.wanted(raw)
        other = other if wanted is None else other & ~wanted
        self._sieve.leave(raw, other, self._tags(columns, frame, other))
        self._sieve.count(columns.format.name, int(other.sum()))
        if raw["sample_interval"].null_count() < raw.height:
            self._sieve.note_rates(raw.filter(other), pl.Series([False]).new_from_index(0, int(other.sum())))
        return frame.filter(~other), raw.filter(~other)

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

    def _settle(
        self, columns: Columns, rows: pl.DataFrame, match: pl.Series, wanted: pl.Series | None
    ) -> pl.Series:
        """Which rows stay once the settled ones are counted and left out."""
        raw, doubt = columns.batch(rows, (*sorted(TELLING), *_SETTLING))
        fmt, setting = columns.format, self._setting
        kept = wanted if doubt is None else doubt if wanted is None else doubt | wanted
        told = settling(raw, fmt, setting.zone, setting.incident)
        _, stay = self._sieve.unsettled(told, raw, match, kept, are_failed(told, raw, fmt))
        self._sieve.count(fmt.name, rows.height - int(stay.sum()))
        return stay

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
