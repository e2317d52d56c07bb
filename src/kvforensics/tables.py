"""How are the rows of delimited text scanned?

Whole columns where they settle it, row by row where they do not. A row has the same place in the ledger either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvforensics.detect_copy import may_hold_calls, table_format
from kvforensics.framing import Block, Readable
from kvforensics.framing_copy import copy_sections, parse_copied
from kvforensics.framing_csv import Dialect, Rows, csv_blocks, parse_rows
from kvforensics.kept_calls import told_counts
from kvforensics.normalise import Located
from kvforensics.plain_tables import plain_rows, scan_plain
from kvforensics.scan import Scanner
from kvforensics.spec import Format
from kvforensics.table_lane import TableLane

ROW_BYTES = 32 << 20
"""Large enough that the work for each block of delimited text is little beside that for its rows."""


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
    settled, unsure = lane.settle(looked.rest)
    unsure += looked.unsure
    left = [*odd, *(unsure if plain is None else (plain[i] for i in unsure))]
    if looked.foreign:
        foreign = looked.foreign if plain is None else [plain[i] for i in looked.foreign]
        left += lane.leave(foreign, set(lane.naming(frame).arg_true()))

    def locate(rows: Sequence[int]) -> Located:
        places = rows if plain is None else [plain[i] for i in rows]
        offsets, lengths = [parsed.offsets[i] for i in places], [parsed.lengths[i] for i in places]
        starts = [o - block.offset for o in offsets]
        raw = [block.data[s : s + n] for s, n in zip(starts, lengths, strict=True)]
        return Located([parsed.lines[i] for i in places], offsets, lengths, raw)

    for near in settled:
        again = lane.keep(near, near.cells, locate)
        left += again if plain is None else [plain[i] for i in again]
    return sorted(left)
