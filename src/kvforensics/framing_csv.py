"""Where are the rows of a delimited text, and what is in their cells?

A row may hold line ends inside quotes; it is one line of the ledger, counted where it starts, header included. A quote
opens a quoted cell only at the start of a cell, and is doubled inside one. Cells are text; an empty cell is null.

A quote that never closes would swallow the rest of a file. A row over several physical lines has to have the right number
of cells; where it has not, or a quoted cell exceeds `MAX_QUOTED` or the file, its first physical line is rejected
(`unterminated_quote`) and reading goes on with the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

import polars as pl
from msgspec import Struct

from kvforensics.csv_rows import (
    Dialect,
    are_plain_lines,
    are_regular,
    frame_of,
    is_utf8,
    read_cells,
    regular_frame,
    row_pattern,
    sniff_dialect,
    split_rows,
)
from kvforensics.framing import BLOCK_SIZE, EXCERPT, MAX_LINE, UTF8_BOM, Block, Readable

__all__ = ["Dialect", "RowReject", "Rows", "csv_blocks", "parse_rows", "sniff_dialect"]

MAX_QUOTED = 64 << 20
SAMPLE_BYTES = 1 << 16
"""The size of blocks where a few rows are enough."""
Quick = Callable[[bytes], tuple[pl.DataFrame, pl.Series] | None]


class RowReject(Struct, frozen=True):
    """A row that is no record. `data` is the start of it."""

    line: int
    offset: int
    length: int
    reason: str
    data: bytes


class Rows(Struct, frozen=True):
    """The rows of a block: `frame` has one text column a cell, the other lists go with it row by row.

    `height + len(rejects) + blank + framing` is the number of lines of the block.
    """

    frame: pl.DataFrame
    lines: list[int]
    offsets: list[int]
    lengths: list[int]
    rejects: list[RowReject]
    blank: int
    framing: int
    reasons: dict[int, tuple[str, ...]]
    """By row of the frame, why a cell of it is unknown."""


def csv_blocks(
    stream: Readable,
    dialect: Dialect,
    block_size: int = BLOCK_SIZE,
    max_quoted: int = MAX_QUOTED,
    max_line: int = MAX_LINE,
    *,
    quick: Quick | None = None,
    start: int = 0,
    whole: bool = True,
) -> Iterator[Block]:
    """Blocks of whole rows; a row that is no row is a block of its own with `reject`. A byte order mark is left out.

    `quick` reads the columns that are asked for of rows that are plain, and tells where these end; `start` is the offset
    of the first byte. Where the stream is not the `whole` rest, a row that it does not end is left to whoever reads on.
    """
    buf = b""
    row, offset, ended, fresh = 1, start, False, not start
    limit = max(max_quoted, block_size)
    while True:
        wanted = max(block_size, len(buf)) if buf else block_size  # doubling: a long row is not scanned again and again
        if len(buf) <= limit:
            wanted = min(wanted, limit + 1 - len(buf))  # where the limit is does not hang on what is before the row
        while not ended and wanted > 0:
            chunk = stream.read(wanted)
            ended = not chunk
            buf += chunk
            wanted -= len(chunk)
        if fresh and buf.startswith(UTF8_BOM):
            buf, offset = buf[3:], 3
        fresh = False
        done = 0
        for block in _whole_rows(buf, dialect, row, offset, ended=ended and whole, quick=quick):
            yield block
            row, done = row + block.lines, done + block.length
        offset, buf = offset + done, buf[done:]
        if ended and not (buf and whole):
            return
        if not done and (ended or len(buf) > limit):
            # Nothing at hand ends a row: a quote that does not close, or one physical line without an end.
            cut = buf.find(dialect.newline) + 1
            if cut or ended:
                length = cut or len(buf)
                yield Block(buf[: min(length, EXCERPT)], row, offset, 1, "unterminated_quote", length)
                buf = buf[length:]
            elif len(buf) > max_line:
                excerpt, length = buf[:EXCERPT], len(buf)
                more, buf = _rest_of_line(stream, dialect.newline, block_size)
                length += more
                yield Block(excerpt, row, offset, 1, "oversize", length)
            else:
                continue
            row, offset = row + 1, offset + length


def _rest_of_line(stream: Readable, newline: bytes, block_size: int) -> tuple[int, bytes]:
    """How many bytes are left of a line that is not kept, and what was read behind it."""
    length = 0
    while chunk := stream.read(block_size):
        cut = chunk.find(newline) + 1
        length += cut or len(chunk)
        if cut:
            return length, chunk[cut:]
    return length, b""


def _whole_rows(
    buf: bytes, dialect: Dialect, row: int, offset: int, *, ended: bool, quick: Quick | None
) -> Iterator[Block]:
    """The whole rows at the start of the buffer, as one block where none of them is broken."""
    newline = dialect.newline
    cut = len(buf) if ended else buf.rfind(newline) + 1
    data = buf[:cut]
    # What is above a header is no row.
    plain = quick(data) if quick and cut and (not dialect.lead or row > dialect.lead + 1) else None
    if plain is not None:
        cells, ends = plain
        yield Block(data, row, offset, cells.height, cells=cells, ends=ends)
        return
    if cut and not quick and are_plain_lines(data, dialect):
        yield Block(data, row, offset, data.count(newline) + (not data.endswith(newline)), is_plain=True)
        return
    if dialect.quote not in buf:
        if cut:
            yield Block(data, row, offset, data.count(newline) + (not data.endswith(newline)))
        return
    begin = at = 0
    first, count = row, 0
    pattern = row_pattern(dialect)
    exact = row_pattern(dialect, len(dialect.columns)) if dialect.columns else pattern
    while at < len(buf):
        match = pattern.match(buf, at)
        end = match.end() if match else -1
        if end == len(buf) and not ended and buf[end - 1 : end] != newline:
            break
        broken = not match
        if match and buf.find(newline, at, end - 1) >= 0:
            broken = exact.match(buf, at) is None
        elif not match and not ended:
            break
        if not broken:
            at, count = end, count + 1
            continue
        if count:
            yield Block(buf[begin:at], first, offset + begin, count)
        line = buf.find(newline, at) + 1 or len(buf)
        yield Block(buf[at : min(line, at + EXCERPT)], first + count, offset + at, 1, "unterminated_quote", line - at)
        first, count, begin, at = first + count + 1, 0, line, line
    if count:
        yield Block(buf[begin:at], first, offset + begin, count)


def parse_rows(block: Block, dialect: Dialect) -> Rows:
    """The rows of a block, exactly: a row with another number of cells is rejected as `wrong_columns`."""
    if block.reject:
        reject = RowReject(block.first_line, block.offset, block.length, block.reject, block.data[:EXCERPT])
        return Rows(frame_of([], dialect), [], [], [], [reject], 0, 0, {})
    plain = not (dialect.lead and block.first_line == 1)
    if plain and (block.is_plain or are_plain_lines(block.data, dialect)):
        fast = _rows(block, block.data.splitlines(keepends=True), dialect)
        if fast is not None:
            return fast
    rows = split_rows(block.data, dialect)
    width = len(dialect.columns)
    fast = _regular_rows(block, rows, dialect) if plain else None
    if fast is not None:
        return fast
    lines: list[int] = []
    offsets: list[int] = []
    lengths: list[int] = []
    good: list[list[str]] = []
    rejects: list[RowReject] = []
    reasons: dict[int, tuple[str, ...]] = {}
    blank = framing = 0
    at = block.offset
    for number, (raw, cells) in enumerate(zip(rows, read_cells(rows, dialect), strict=True), block.first_line):
        if number <= dialect.lead + dialect.header and raw.strip():
            framing += 1
        elif not raw.strip():
            blank += 1
        elif len(cells) != width:
            rejects.append(RowReject(number, at, len(raw), "wrong_columns", raw[:EXCERPT]))
        else:
            if not raw.isascii() and not is_utf8(raw):
                reasons[len(good)] = ("invalid_utf8",)
                good.append(["" if "\ufffd" in c else c for c in cells])
            else:
                good.append(cells)
            lines.append(number)
            offsets.append(at)
            lengths.append(len(raw))
        at += len(raw)
    return Rows(frame_of(good, dialect), lines, offsets, lengths, rejects, blank, framing, reasons)


def _regular_rows(block: Block, rows: list[bytes], dialect: Dialect) -> Rows | None:
    """The same by the fast reader, None where a row is blank, broken or open to doubt."""
    header = int(block.first_line == 1 and dialect.header)
    return _rows(block, rows, dialect) if are_regular(rows[header:], dialect) else None


def _rows(block: Block, rows: list[bytes], dialect: Dialect) -> Rows | None:
    """The rows by the fast reader, None where it does not find as many."""
    header = int(block.first_line == 1 and dialect.header)
    body = rows[header:]
    start = sum(map(len, rows[:header]))
    frame = regular_frame(block.data[start:], len(body), dialect)
    if frame is None:
        return None
    lengths = list(map(len, body))
    offsets = list(accumulate(lengths, initial=block.offset + start))[:-1]
    first = block.first_line + header
    return Rows(frame, list(range(first, first + len(body))), offsets, lengths, [], 0, header, {})
