"""How are the rows of delimited text and of Parquet scanned?

Whole columns where they settle it, row by row where they do not. A row has the same place in the ledger either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import polars as pl

from kvforensics.cells import plain_columns
from kvforensics.detect_copy import may_hold_calls, table_format
from kvforensics.framing import Block, Readable
from kvforensics.framing_copy import copy_sections, parse_copied
from kvforensics.framing_csv import Dialect, Rows, csv_blocks, parse_rows
from kvforensics.kept_calls import told_counts
from kvforensics.normalise import Located
from kvforensics.parquet_rows import BROKEN, MOST_BYTES, ParquetRows, size_of
from kvforensics.plain_tables import plain_rows, scan_plain
from kvforensics.scan import Scanner
from kvforensics.spec import Format
from kvforensics.table_lane import Near, TableLane, joined

ROW_BYTES = 32 << 20
"""Large enough that the work for each block of delimited text is little beside that for its rows."""
PARQUET_BATCH = 1 << 18
"""Large enough that the work for each batch is little beside that for its rows."""
_CAREFUL_BATCH = 8192
_SEEN_BYTES = 16 << 20


def scan_csv(scanner: Scanner, stream: Readable, dialect: Dialect, start: int = 0, *, whole: bool = True) -> None:
    """Scan delimited text that begins at an offset; where it is not `whole`, up to a last row that it does not end."""
    lane = scanner.table(dialect.columns, ())
    quick = None if lane is None else plain_rows(lane, dialect)
    for block in csv_blocks(stream, dialect, ROW_BYTES, quick=quick, start=start, whole=whole):
        scanner.tally.bytes += block.length
        if block.cells is None or lane is None:
            _scan_rows(scanner, lane, parse_rows(block, dialect), block)
        else:
            scan_plain(scanner, lane, block, dialect)


def scan_row_blocks(scanner: Scanner, blocks: Iterable[Block], dialect: Dialect) -> None:
    """Scan blocks of whole rows of delimited text."""
    lane = scanner.table(dialect.columns, ())
    for block in blocks:
        scanner.tally.bytes += block.length
        _scan_rows(scanner, lane, parse_rows(block, dialect), block)


def scan_copied(scanner: Scanner, blocks: Iterable[Block], formats: Sequence[Format]) -> None:
    """Scan blocks of lines of a database's dump, of which only tables that may hold requests are read."""
    lanes: dict[tuple[str, ...], TableLane | None] = {}
    others: set[tuple[str, ...]] = set()
    for columns, block in copy_sections(blocks):
        if columns is not None and columns not in lanes and columns not in others:
            if table_format(columns, formats) is None:
                others.add(columns)
            else:
                lanes[columns] = scanner.table(columns, ())
        if block.reject is not None:
            scanner.reject(block.first_line, block.offset, block.length, block.reject, block.data)
        elif columns is None:
            _scan_sql(scanner, block)
        elif columns in others:
            _scan_other(scanner, columns, block)
        else:
            _scan_rows(scanner, lanes[columns], parse_copied(columns, block), block)


def _scan_other(scanner: Scanner, columns: Sequence[str], block: Block) -> None:
    """Rows of a table that is not read: framing, but for those that name the model and may be calls."""
    if not scanner.names_model(block.data):
        scanner.skip(block.lines, "other_table")
        return
    at, calls = block.offset, may_hold_calls(columns)
    for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first_line):
        if (calls or told_counts(line)) and scanner.names_model(line):
            scanner.reject(number, at, len(line), "unread_row", line)
        else:
            scanner.skip(1, "other_table")
        at += len(line) + 1


def _scan_sql(scanner: Scanner, block: Block) -> None:
    """SQL between the rows of tables: framing, but for rows that it inserts, which are not read."""
    at = block.offset
    for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first_line):
        if not line.strip():
            scanner.blanks()
        elif line.startswith(b"INSERT INTO "):
            scanner.reject(number, at, len(line), "inserted_row", line)
        else:
            scanner.skip(1, "sql")
        at += len(line) + 1


def _scan_rows(scanner: Scanner, lane: TableLane | None, parsed: Rows, block: Block) -> None:
    scanner.skip(parsed.framing)
    scanner.blanks(parsed.blank)
    if lane is None:
        left: Sequence[int] = range(parsed.frame.height)
    else:
        # What could be taken for a JSON object is read as the bytes that it is.
        first = parsed.frame.to_series(0)
        odd = {*parsed.reasons, *first.str.contains(r"^\s*\{").fill_null(value=False).arg_true()}
        left = _lane_rows(lane, parsed, block, odd)
    rows = parsed.frame[list(left)] if len(left) < parsed.frame.height else parsed.frame
    for at, row in zip(left, rows.iter_rows(named=True), strict=True):
        offset, length = parsed.offsets[at], parsed.lengths[at]
        start = offset - block.offset
        data = block.data[start : start + length]
        scanner.row(row, parsed.lines[at], offset, data, parsed.reasons.get(at, ()))
    for reject in parsed.rejects:
        scanner.reject(reject.line, reject.offset, reject.length, reject.reason, reject.data)


def _lane_rows(lane: TableLane, parsed: Rows, block: Block, odd: set[int]) -> list[int]:
    """The rows that have to be read one by one."""
    if not parsed.frame.height:
        return []
    frame = parsed.frame
    plain = [i for i in range(frame.height) if i not in odd] if odd else None
    looked = lane.look(frame if plain is None else frame[plain])
    left = [*odd, *(looked.unsure if plain is None else (plain[i] for i in looked.unsure))]
    if looked.foreign:
        foreign = looked.foreign if plain is None else [plain[i] for i in looked.foreign]
        left += lane.leave(foreign, set(lane.naming(frame).arg_true()))

    def locate(rows: Sequence[int]) -> Located:
        places = rows if plain is None else [plain[i] for i in rows]
        offsets, lengths = [parsed.offsets[i] for i in places], [parsed.lengths[i] for i in places]
        starts = [o - block.offset for o in offsets]
        raw = [block.data[s : s + n] for s, n in zip(starts, lengths, strict=True)]
        return Located([parsed.lines[i] for i in places], offsets, lengths, raw)

    for near in looked.near:
        places = near.rows.to_list() if plain is None else [plain[i] for i in near.rows]
        again = lane.keep(near, frame[places], locate)
        left += again if plain is None else [plain[i] for i in again]
    return sorted(left)


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
        for values in plain_columns(frame)[0].iter_rows(named=True):
            scanner.row(values, row + 1, None, None, _reasons(rows, row))
            row += 1
        yield row


def _by_column(scanner: Scanner, lane: TableLane, rows: ParquetRows) -> Iterator[int]:
    """The columns that settle most rows first; those of the other rows only where there is such a row."""
    names = rows.empty.columns
    narrow = [n for n in names if n in lane.narrow] or names[:1]
    near: list[Near] = []
    unsure: list[int] = []
    foreign: list[int] = []
    seen = _Seen()
    done = 0
    try:
        for frame in rows.frames(narrow, PARQUET_BATCH):
            end = done + frame.height
            if rows.odd.isdisjoint(range(done, end)):
                looked = lane.look(plain_columns(frame, times=False)[0])
                near += [n.moved(done) for n in looked.near]
                seen.add(frame, looked.near)
                unsure += [done + i for i in looked.unsure]
                foreign += [done + i for i in looked.foreign]
            else:
                unsure += range(done, end)
            done = end
            yield done
    finally:
        # Also where what follows cannot be read.
        if foreign:
            unsure = sorted([*unsure, *lane.leave(foreign, _naming(lane, rows))])
        if near or unsure:
            near = joined(near)
            known = None if unsure else seen.rows
            _look_again(scanner, lane, rows, _wide(names, lane, near, unsure), near, unsure, known)


class _Seen:
    """The rows that stay, as far as they were read in a first look, while they are few."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] | None = []
        self._size = 0

    def add(self, frame: pl.DataFrame, near: Sequence[Near]) -> None:
        """Those of the next frame."""
        if self._frames is None or not near:
            return
        self._frames.append(frame[pl.concat([n.rows for n in near]).sort()])
        self._size += int(self._frames[-1].estimated_size())
        if self._size > _SEEN_BYTES:
            self._frames = None

    @property
    def rows(self) -> pl.DataFrame | None:
        """All of them in order, None where they are not few."""
        return pl.concat(self._frames) if self._frames else None


def _naming(lane: TableLane, rows: ParquetRows) -> set[int]:
    """The rows of which any column may name the model, as far as all of them can be read."""
    found: set[int] = set()
    done = 0
    with suppress(*BROKEN):
        for frame in rows.frames(rows.empty.columns, PARQUET_BATCH):
            found.update(done + i for i in lane.naming(plain_columns(frame, times=False)[0]).arg_true())
            done += frame.height
    return found


def _wide(names: list[str], lane: TableLane, near: Sequence[Near], unsure: Sequence[int]) -> list[str]:
    every = bool(unsure) or not all(n.columns.asked.alike for n in near)
    return names if every else [n for n in names if n in lane.wide] or names[:1]


def _reasons(rows: ParquetRows, row: int) -> tuple[str, ...]:
    return ("invalid_utf8",) if row in rows.odd else ()


def _look_again(
    scanner: Scanner, lane: TableLane, rows: ParquetRows, wide: Sequence[str], near: Sequence[Near], unsure: Sequence[int],
    known: pl.DataFrame | None,
) -> None:  # fmt: skip
    """The rows that stayed. What is known of them is not read again."""
    asked = pl.concat([pl.Series(unsure, dtype=pl.Int64), *(n.rows for n in near)]).sort()
    last = int(asked[-1])
    held: list[pl.DataFrame] = []
    start = done = seen = size = 0
    try:
        told = () if known is None else known.columns
        for frame in rows.frames([n for n in wide if n not in told] or wide, PARQUET_BATCH):
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
    for at, record in zip(left, values.iter_rows(named=True), strict=True):
        scanner.row(record, at + 1, None, None, _reasons(rows, at))
