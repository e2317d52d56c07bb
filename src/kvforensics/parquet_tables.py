"""How are the rows of a Parquet file scanned?

Whole columns where they settle it, row by row where they do not. A row has the same place in the ledger either way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import polars as pl

from kvforensics.beside_cells import that_may_name
from kvforensics.cells import plain_columns, records
from kvforensics.normalise import Located
from kvforensics.parquet_rows import BROKEN, MOST_BYTES, ParquetRows, size_of
from kvforensics.scan import Scanner
from kvforensics.table_lane import ROW, Looked, Near, Rest, TableLane, joined

_BATCH = 1 << 18
"""Large enough that the work for each batch is little beside that for its rows."""
_CAREFUL_BATCH = 8192
_WORTH_SETTLING = 1 << 17
_MOST_WAITING = 4
"""So many batches at most, as what is left of a batch holds all its texts."""
_SEEN_BYTES = 16 << 20
_NOWHERE: frozenset[str] = frozenset()


def scan_parquet(scanner: Scanner, path: str, first: int = 0, count: int | None = None) -> None:
    """Scan the row groups of a Parquet file from `first` on, `count` of them or all."""
    before = row = 0
    try:
        with ParquetRows(path, first, count) as rows:
            before = rows.before
            lane = scanner.table(rows.empty.columns, plain_columns(rows.empty)[1])
            for done in _by_row(scanner, rows) if lane is None else _by_column(scanner, lane, rows):
                row = done
    except BROKEN:
        scanner.tally.problem = f"corrupt: parquet after row {before + row}"


def _by_row(scanner: Scanner, rows: ParquetRows) -> Iterator[int]:
    """Gives the number of rows that are done, again and again."""
    row = 0
    for frame in rows.frames(rows.empty.columns, _CAREFUL_BATCH):
        for values in records(plain_columns(frame)[0]):
            scanner.row(values, row + 1, None, None, _reasons(rows, row, rows.empty.columns))
            row += 1
        yield row


def _by_column(scanner: Scanner, lane: TableLane, rows: ParquetRows) -> Iterator[int]:
    """The columns that settle most rows first; those of the other rows only where there is such a row."""
    names = rows.empty.columns
    beside = _beside(lane, rows)
    narrow = [n for n in names if n in lane.narrow or n in beside] or names[:1]
    foreign: list[int] = []
    staying = _Staying(lane)
    done = 0
    try:
        for frame in rows.frames(narrow, _BATCH):
            end = done + frame.height
            if not rows.odd or rows.odd.keys().isdisjoint(range(done, end)):
                looked = lane.look(plain_columns(frame, times=False)[0], done)
                staying.add(looked)
                foreign += looked.foreign
            else:
                staying.unsure += range(done, end)
            done = end
            yield done
    finally:
        # Also where what follows cannot be read.
        staying.settle()
        if foreign:
            staying.unsure += lane.leave(foreign, _naming(lane, rows))
        near, unsure = staying.near, sorted(staying.unsure)
        if near or unsure:
            _look_again(scanner, lane, rows, _wide(names, lane, near, unsure), near, unsure)


def _beside(lane: TableLane, rows: ParquetRows) -> list[str]:
    """The columns to look into of rows of other models, none where no cell of any of them names the affected one."""
    names = that_may_name(rows.empty.schema, lane.beside, lane.marks)
    texts = all(rows.empty.schema[n] == pl.String for n in names)
    return [] if texts and not rows.may_have(names, "|".join(map(re.escape, lane.marks))) else names


class _Staying:
    """The rows that stay, and what was read of them in a first look while they are few."""

    def __init__(self, lane: TableLane) -> None:
        self._lane = lane
        self._rest: list[Rest] = []
        self._batches = self._size = 0
        self.near: list[Near] = []
        self.unsure: list[int] = []

    def add(self, looked: Looked) -> None:
        """Those of the next batch, which are settled together with those of others."""
        self.unsure += looked.unsure
        self._rest += looked.rest
        self._batches += 1
        if self._batches >= _MOST_WAITING or sum(cells.height for _, cells in self._rest) >= _WORTH_SETTLING:
            self.settle()

    def settle(self) -> None:
        """Settle the rows that wait."""
        near, unsure = self._lane.settle(self._rest)
        self._rest, self._batches = [], 0
        self.near += near
        self.unsure += unsure
        self._size += sum(int(n.cells.estimated_size()) for n in near)
        if self._size > _SEEN_BYTES:
            self.near = [n.bare() for n in self.near]


def _naming(lane: TableLane, rows: ParquetRows) -> set[int]:
    """The rows of which any column may name the model, as far as all of them can be read."""
    found: set[int] = set()
    done = 0
    with suppress(*BROKEN):
        for frame in rows.frames(rows.empty.columns, _BATCH):
            found.update(done + i for i in lane.naming(plain_columns(frame, times=False)[0]).arg_true())
            done += frame.height
    return found


def _wide(names: list[str], lane: TableLane, near: Sequence[Near], unsure: Sequence[int]) -> list[str]:
    every = bool(unsure) or not all(n.columns.asked.alike for n in near)
    return names if every else [n for n in names if n in lane.wide] or names[:1]


def _reasons(rows: ParquetRows, row: int, names: Iterable[str]) -> tuple[str, ...]:
    """Only of columns that are read of every row that is kept, so that nothing hangs on what else is read beside it."""
    return () if rows.odd.get(row, _NOWHERE).isdisjoint(names) else ("invalid_utf8",)


def _look_again(
    scanner: Scanner, lane: TableLane, rows: ParquetRows, wide: Sequence[str], near: Sequence[Near], unsure: Sequence[int]
) -> None:
    """The rows that stayed. What is known of all of them is not read again."""
    known = None if unsure else pl.concat([n.cells for n in near]).sort(ROW)
    near = joined(near)
    asked = pl.concat([pl.Series(unsure, dtype=pl.Int64), *(n.rows for n in near)]).sort()
    last = int(asked[-1])
    held: list[pl.DataFrame] = []
    start = done = seen = size = 0
    try:
        told = () if known is None else known.columns
        for frame in rows.frames([n for n in wide if n not in told] or wide, _BATCH):
            here = asked.filter(asked.is_between(start, start + frame.height, closed="left")) - start
            start += frame.height
            if len(here):
                part = frame[here] if known is None else known[seen : seen + len(here)].with_columns(frame[here])
                held.append(plain_columns(part.select(wide))[0])
                seen += len(here)
                size += size_of(held[-1])
            if seen - done >= _CAREFUL_BATCH or size > MOST_BYTES:
                _keep(scanner, lane, rows, held, asked[done:seen], near, unsure)
                held, done, size = [], seen, 0
            if start > last:
                return
    finally:
        if held:
            _keep(scanner, lane, rows, held, asked[done:seen], near, unsure)


def _keep(
    scanner: Scanner, lane: TableLane, rows: ParquetRows, held: Sequence[pl.DataFrame], asked: pl.Series,
    near: Sequence[Near], unsure: Sequence[int],
) -> None:  # fmt: skip
    """Some of the rows that stayed: their values, and their places in the piece."""
    frame = pl.concat(held)
    first, last = asked[0], asked[-1]
    left = [i for i in unsure if first <= i <= last]

    def locate(places: Sequence[int]) -> Located:
        nothing = [None] * len(places)
        return Located([i + 1 for i in places], nothing, nothing, nothing)

    for part in near:
        here = part.where(part.rows.is_between(first, last))
        if rows.odd:
            odd = here.rows.is_in(pl.Series(sorted(rows.odd), dtype=pl.Int64).implode())
            left += here.rows.filter(odd).to_list()
            here = here.where(~odd)
        if here.rows.len():
            left += lane.keep(here, frame.filter(asked.is_in(here.rows.implode())), locate)
    left.sort()
    values = frame.filter(asked.is_in(pl.Series(left, dtype=pl.Int64).implode()))
    for at, record in zip(left, records(values), strict=True):
        scanner.row(record, at + 1, None, None, _reasons(rows, at, lane.wide))
