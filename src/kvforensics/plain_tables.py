"""How are the plain rows of delimited text scanned?

Only the columns that settle most rows are read of all of them; the bytes of a row and its other cells only of those that
are not settled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from kvforensics.csv_rows import Dialect, frame_of, read_cells
from kvforensics.framing import Block
from kvforensics.framing_csv import Quick
from kvforensics.normalise import Located
from kvforensics.quick_rows import read_columns
from kvforensics.scan import Scanner
from kvforensics.table_lane import TableLane


def plain_rows(lane: TableLane, dialect: Dialect) -> Quick:
    """What reads the columns that a lane looks at first."""
    # What could be taken for a JSON object is seen in the first column.
    names = [n for i, n in enumerate(dialect.columns) if not i or n in lane.narrow or n in lane.beside]
    return lambda data: read_columns(data, dialect, names)


def scan_plain(scanner: Scanner, lane: TableLane, block: Block, dialect: Dialect) -> None:
    """Scan a block that is all plain rows."""
    cells = block.cells
    if cells is None:  # pragma: no cover - the caller checked
        raise ValueError(block.first_line)
    header = int(block.first_line == 1 and dialect.header)
    scanner.skip(header)
    cells = cells.slice(header)
    odd = cells.to_series(0).str.contains(r"^\s*\{").fill_null(value=False)
    unsure = odd.arg_true().to_list()
    plain = (~odd).arg_true()
    looked = lane.look(cells.filter(~odd) if unsure else cells)
    settled, doubtful = lane.settle(looked.rest)
    unsure += plain.gather([*looked.unsure, *doubtful]).to_list()
    if looked.foreign:
        unsure += lane.leave(plain.gather(list(looked.foreign)).to_list(), _naming(block, lane.marks, header))
    parts = [near.renumbered(plain) for near in settled]
    rows = pl.concat([pl.Series(unsure, dtype=pl.Int64), *(near.rows for near in parts)]).sort()
    if rows.is_empty():
        return
    kept = _Kept(block, dialect, rows.to_list(), header)
    for near in parts:
        unsure += lane.keep(near, kept.frame.filter(rows.is_in(near.rows.implode())), kept.locate)
    unsure.sort()
    values = kept.frame.filter(rows.is_in(pl.Series(unsure, dtype=pl.Int64).implode()))
    for at, value in zip(unsure, values.iter_rows(named=True), strict=True):
        scanner.row(value, kept.line(at), kept.offsets[at], kept.raw[at])


def _naming(block: Block, marks: Sequence[str], header: int) -> set[int]:
    """The rows behind the header in which one of the marks stands."""
    at = [m.start() for m in re.finditer("|".join(map(re.escape, marks)).encode(), block.data)]
    return set((_ends(block).search_sorted(pl.Series(at, dtype=pl.Int64), side="right").cast(pl.Int64) - header).to_list())


def _ends(block: Block) -> pl.Series:
    """Where the lines of a block of plain rows end."""
    if block.ends is None:  # pragma: no cover - the caller checked
        raise ValueError(block.first_line)
    return block.ends


class _Kept:
    """Rows that are not settled: their cells, and where they are."""

    def __init__(self, block: Block, dialect: Dialect, rows: Sequence[int], header: int) -> None:
        """`rows` are numbers of rows behind the header, in order."""
        ends = _ends(block)
        starts = pl.concat([pl.Series([0], dtype=ends.dtype), ends])
        lines = pl.Series(rows, dtype=pl.UInt32) + header
        places = list(zip(rows, starts.gather(lines), ends.gather(lines), strict=True))
        self._first = block.first_line + header
        self.offsets = {row: block.offset + start for row, start, _ in places}
        self.raw = {row: block.data[start:end] for row, start, end in places}
        raw = list(self.raw.values())
        found = read_columns(b"".join(raw), dialect, dialect.columns)
        self.frame = frame_of(read_cells(raw, dialect), dialect) if found is None else found[0]

    def line(self, row: int) -> int:
        """The number of the line of a row."""
        return self._first + row

    def locate(self, rows: Sequence[int]) -> Located:
        """Where rows are."""
        raw = [self.raw[row] for row in rows]
        return Located(list(map(self.line, rows)), [self.offsets[row] for row in rows], list(map(len, raw)), raw)
