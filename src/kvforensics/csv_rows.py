"""What is a row of delimited text, and what is in its cells?

A quote opens a quoted cell only at the start of a cell, and is doubled inside one. What follows a closing quote up to the
delimiter belongs to the cell, as the standard reader has it.
"""

from __future__ import annotations

import csv
import re
from functools import lru_cache

import polars as pl
from msgspec import Struct

from kvforensics.framing import MAX_LINE, UTF8_BOM, newline_of

DELIMITERS = (b",", b";", b"\t", b"|")
_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d{1,2}/\d{1,2}/\d{2,4}")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*")
_INDEX = re.compile(r"\d{1,7}")
_SNIFFED_ROWS = 50
_MOST_ABOVE = 3
_LEAST_WIDTH = 3
_MARK = b"\x01"
"""Stands for a doubled quote; text that has it is read row by row."""
NULL_MARK = rb"\N"


class Dialect(Struct, frozen=True):
    """How a delimited text is written. `columns` are the header's names, or `column_1` and so on without a header."""

    delimiter: bytes = b","
    quote: bytes = b'"'
    header: bool = True
    columns: tuple[str, ...] = ()
    newline: bytes = b"\n"
    lead: int = 0
    """How many rows there are above the header, such as a title or `sep=;`."""


@lru_cache(maxsize=64)
def row_pattern(dialect: Dialect, width: int | None = None) -> re.Pattern[bytes]:
    """One row with its line end; with `width`, only of that many cells and with nothing between a quote and a delimiter."""
    d, q, n = re.escape(dialect.delimiter), re.escape(dialect.quote), re.escape(dialect.newline)
    plain = b"[^" + d + n + b"]*+"
    rest, times = (plain, b"*+") if width is None else (b"", b"{%d}+" % (width - 1))
    cell = b"(?:" + _quoted(q) + rest + b"|(?!" + q + b")" + plain + b")"
    before_end = b"" if width is None else rb"\r?"
    return re.compile(cell + b"(?:" + d + cell + b")" + times + before_end + b"(?:" + n + rb"|\Z)")


@lru_cache(maxsize=64)
def _regular_pattern(dialect: Dialect) -> re.Pattern[bytes]:
    """A row that no two readers read differently: the right number of cells, quotes only around whole cells."""
    d, q, n = re.escape(dialect.delimiter), re.escape(dialect.quote), re.escape(dialect.newline)
    cell = b"(?:" + _quoted(q) + b"|[^" + d + n + q + rb"\r]*+)"
    end = (rb"\r?" if dialect.newline == b"\n" else b"") + n
    return re.compile(cell + b"(?:" + d + cell + b"){%d}+" % (len(dialect.columns) - 1) + b"(?:" + end + rb"|\Z)")


def _quoted(q: bytes) -> bytes:
    return q + b"[^" + q + b"]*+(?:" + q + q + b"[^" + q + b"]*+)*+" + q


@lru_cache(maxsize=64)
def _cell_pattern(delimiter: bytes, quote: bytes) -> re.Pattern[bytes]:
    d, q = re.escape(delimiter), re.escape(quote)
    plain = b"[^" + d + b"]*+"
    return re.compile(b"(" + _quoted(q) + plain + b"|" + plain + b")(?:" + d + rb"|\Z)")


def sniff_dialect(head: bytes) -> Dialect | None:
    """The dialect that splits the first rows into the most columns, equal in number; None where none gives two.

    Where the first row is no part of any table, a few rows above a header are passed over.
    """
    text = head.removeprefix(UTF8_BOM)
    newline = newline_of(text)
    read = [(d, *_first_rows(text, Dialect(d, newline=newline))) for d in DELIMITERS]
    plain = _widest([(d, 0, rows) for d, _, rows in read], newline)
    if plain is not None:
        return plain
    below = [(d, numbers, rows, _above_header(rows)) for d, numbers, rows in read]
    return _widest([(d, numbers[above], rows[above:]) for d, numbers, rows, above in below if above], newline)


def _widest(tables: list[tuple[bytes, int, list[list[str]]]], newline: bytes) -> Dialect | None:
    best: tuple[float, int, Dialect] | None = None
    for delimiter, lead, rows in tables:
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        same = sum(1 for r in rows if len(r) == width) / len(rows)
        header = _is_header(rows[0], rows[1:])
        columns = _names(rows[0]) if header else tuple(map(_by_place, range(width)))
        if best is None or (same, width) > best[:2]:
            best = (same, width, Dialect(delimiter, b'"', header, columns, newline, lead))
    return best[2] if best and best[0] >= 0.5 else None


def _above_header(rows: list[list[str]]) -> int:
    """How many rows stand above a header that all rows behind it fit, and are of another width."""
    for above in range(1, min(_MOST_ABOVE + 1, len(rows) - 1)):
        width = len(rows[above])
        if width >= _LEAST_WIDTH and len(rows[0]) < width and all(len(r) == width for r in rows[above:]):
            return above if _is_header(rows[above], rows[above + 1 :]) else 0
    return 0


def _first_rows(text: bytes, dialect: Dialect) -> tuple[list[int], list[list[str]]]:
    """The first rows that are not empty, and how many rows there are before each."""
    pattern = row_pattern(dialect)
    rows: list[list[str]] = []
    numbers: list[int] = []
    at = number = 0
    while at < len(text) and len(rows) < _SNIFFED_ROWS and (match := pattern.match(text, at)):
        if match.end() == len(text) and rows and not match.group().endswith(dialect.newline):
            break  # most likely cut by the end of the head
        cells = cells_of(match.group(), dialect)
        at = match.end()
        if any(cells):
            rows.append(cells)
            numbers.append(number)
        number += 1
    return numbers, rows


def cells_of(row: bytes, dialect: Dialect) -> list[str]:
    """The cells of one row by our own reading, exact where the standard reader refuses."""
    row = _without_end(row, dialect.newline)
    q = dialect.quote
    cells = []
    at = 0
    pattern = _cell_pattern(dialect.delimiter, q)
    while match := pattern.match(row, at):
        cell = match.group(1)
        if cell.startswith(q) and cell.count(q) > 1:
            close = _closing(cell, q)
            cell = cell[1:close].replace(q + q, q) + cell[close + 1 :]
        cells.append(cell.decode("utf-8", "replace"))
        if match.end() == match.end(1):
            break
        at = match.end()
    return cells


def _closing(cell: bytes, quote: bytes) -> int:
    at = 1
    while True:
        at = cell.find(quote, at)
        if at < 0:
            return len(cell)
        if cell[at + 1 : at + 2] != quote:
            return at
        at += 2


def _without_end(row: bytes, newline: bytes) -> bytes:
    row = row.removesuffix(newline)
    return row.removesuffix(b"\r") if newline == b"\n" else row


def _is_header(cells: list[str], below: list[list[str]]) -> bool:
    names = [name for c in cells if (name := c.strip())]
    most, different = 2 * len(names) > len(cells), len(set(names)) == len(names)
    named = most and different and not any(_NUMBER.fullmatch(n) or _TIME.match(n) for n in names)
    return named and (len(names) == len(cells) or _may_be_nameless(cells, below))


def _may_be_nameless(cells: list[str], below: list[list[str]]) -> bool:
    """Whether what has no name is an index, or what a delimiter at the end of each row makes; else it is a row with gaps."""
    nameless = [at for at, c in enumerate(cells) if not c.strip()]
    last = max(at for at, c in enumerate(cells) if c.strip())
    held = {at: [row[at].strip() for row in below if at < len(row)] for at in nameless}
    return bool(below) and all(
        all(map(_INDEX.fullmatch, held[at])) if at == 0 else at > last and not any(held[at]) for at in nameless
    )


def _names(header: list[str]) -> tuple[str, ...]:
    """The names of a header's columns; one without a name has that of its place."""
    return tuple(name if name.strip() else _by_place(place) for place, name in enumerate(header))


def _by_place(place: int) -> str:
    return f"column_{place + 1}"


def split_rows(data: bytes, dialect: Dialect) -> list[bytes]:
    """The rows of a block with their line ends."""
    newline = dialect.newline
    if dialect.quote not in data:
        parts = data.split(newline)
        last = parts.pop()
        return [p + newline for p in parts] + ([last] if last else [])
    pattern = row_pattern(dialect)
    rows = []
    at = 0
    while at < len(data) and (match := pattern.match(data, at)):
        rows.append(match.group())
        at = match.end()
    return rows


def is_utf8(raw: bytes) -> bool:
    """Whether the bytes are strict UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def are_plain_lines(data: bytes, dialect: Dialect) -> bool:
    """Whether every row is one physical line with the right number of cells, quotes only around whole cells.

    Counts instead of looking at each row, so that it is cheap; never wrongly yes where the fast reader finds no row with
    too many cells, as then none has too few either.
    """
    d, q, n = dialect.delimiter, dialect.quote, dialect.newline
    gaps = len(dialect.columns) - 1
    if gaps < 1 or n != b"\n" or data.count(b"\r") != data.count(b"\r\n") or _MARK in data:
        return False
    if q in data:
        # What is left of quotes once doubled ones are gone opens and closes cells, in turn.
        parts = data.replace(q + q, _MARK).split(q)
        outside = parts[::2]
        if len(parts) % 2 == 0 or n in b"".join(parts[1::2]):
            return False
        # A cell begins behind a delimiter or a line end, and ends before one; a CR is always part of a line end here.
        before = {p[-1:] for p in outside[1:-1]} | {outside[0][-1:] or n}
        behind = {p[:1] for p in outside[1:-1]} | {outside[-1][:1] or n}
        if not before <= {d, n} or not behind <= {d, n, b"\r"}:
            return False
        data = b"".join((*outside, q)) if not outside[-1] else b"".join(outside)
        if _MARK in data:
            return False
    rows = data.count(n) + (not data.endswith(n))
    return bool(data) and data.count(d) == gaps * rows


def are_regular(rows: list[bytes], dialect: Dialect) -> bool:
    """Whether every row has the right number of cells and no reader could differ on it."""
    gaps, d, q = len(dialect.columns) - 1, dialect.delimiter, dialect.quote
    if gaps < 1:
        return False
    regular = _regular_pattern(dialect).fullmatch
    if dialect.newline == b"\r" or any(b"\r" in row[:-2] for row in rows):
        return all(map(regular, rows))
    return all(regular(row) if q in row else row.count(d) == gaps for row in rows)


def regular_frame(data: bytes, height: int, dialect: Dialect) -> pl.DataFrame | None:
    """The cells of regular rows by the fast reader, None where it does not see as many rows as we do."""
    try:
        frame = pl.read_csv(
            data, has_header=False, new_columns=list(dialect.columns), separator=dialect.delimiter.decode(),
            quote_char=dialect.quote.decode(), eol_char=dialect.newline.decode(), infer_schema=False, raise_if_empty=False,
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (height, len(dialect.columns)):
        return None
    return _nulls(frame, marked=NULL_MARK in data)


def read_cells(rows: list[bytes], dialect: Dialect) -> list[list[str]]:
    """The cells of each row, by the standard reader where it can."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    texts = [_without_end(row, dialect.newline).decode("utf-8", "replace") + "\n" for row in rows]
    if any(text[-2:-1] in ("\r", "\n") for text in texts):
        return [cells_of(row, dialect) for row in rows]  # the standard reader takes any of these for the end of the row
    try:
        reader = csv.reader(texts, delimiter=dialect.delimiter.decode(), quotechar=dialect.quote.decode())
        read = list(reader)
        if len(read) == len(rows) and reader.line_num == len(rows):
            return read
    except csv.Error:
        pass
    return [cells_of(row, dialect) for row in rows]


def frame_of(rows: list[list[str]], dialect: Dialect) -> pl.DataFrame:
    """Rows of cells as text columns."""
    names = dialect.columns
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    columns = zip(*rows, strict=True)
    frame = pl.DataFrame(
        {name: pl.Series(name, list(column), dtype=pl.String) for name, column in zip(names, columns, strict=True)}
    )
    return _nulls(frame, marked=True)


def _nulls(frame: pl.DataFrame, *, marked: bool) -> pl.DataFrame:
    r"""An empty cell says nothing, and neither does `\N`, by which databases write that there is no value."""
    if marked:
        frame = frame.with_columns(pl.when(pl.all() != NULL_MARK.decode()).then(pl.all()).name.keep())
    return frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())
