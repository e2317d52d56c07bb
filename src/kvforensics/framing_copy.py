r"""Where are the rows in a dump of a PostgreSQL database, and what is in their cells?

    COPY public."LiteLLM_SpendLogs" (request_id, "startTime", model) FROM stdin;
    chatcmpl-1<tab>2026-09-01 10:15:30.123<tab>m
    \.

Each row is one line, as line ends inside a cell are written `\n`. Everything else in a dump is SQL, and is not read. The
escapes are those of the text format of `COPY` (postgresql.org/docs/current/sql-copy.html); `\N` is no value, and so is an
empty cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

import polars as pl

from kvforensics.csv_rows import is_utf8
from kvforensics.framing import EXCERPT, Block
from kvforensics.framing_csv import RowReject, Rows

BANNER = b"-- PostgreSQL database dump"
BEGINS = b" FROM stdin;"
_BEGIN = re.compile(rb"^COPY [^\n]*?\(([^\n]*)\) FROM stdin;\r?(?:\n|\Z)", re.MULTILINE)
_END = re.compile(rb"^\\\.\r?(?:\n|\Z)", re.MULTILINE)
_TABLE = re.compile(rb"^CREATE (?:UNLOGGED )?TABLE [^\n]*\(\r?\n((?:[ \t]+[^\n]*\n)+)\)", re.MULTILINE)
_NAME = re.compile(rb'"((?:[^"]|"")*)"|([^\s,"]+)')
_NO_COLUMNS = (b"CONSTRAINT", b"PRIMARY", b"UNIQUE", b"CHECK", b"FOREIGN", b"EXCLUDE", b"LIKE")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MARK = "\x01"


Section = tuple[tuple[str, ...] | None, Block]
"""Whole lines of a dump: rows of a table of these columns, or, where there are none, SQL."""


def copy_sections(blocks: Iterable[Block]) -> Iterator[Section]:
    """The sections of a dump in order; every line is in exactly one. A block with `reject` is a section as it is."""
    columns: tuple[str, ...] | None = None
    for block in blocks:
        if block.reject is not None:
            yield columns, block
            continue
        data, at, line = block.data, 0, block.first_line
        while at < len(data):
            border = (_BEGIN if columns is None else _END).search(data, at)
            # The line that begins rows is SQL, and so is the one that ends them.
            end = len(data) if border is None else border.end() if columns is None else border.start()
            if end > at:
                part = data[at:end]
                count = part.count(b"\n") + (not part.endswith(b"\n"))
                yield columns, Block(part, line, block.offset + at, count)
                at, line = end, line + count
            if border is not None:
                columns = _names(border[1]) if columns is None else None


def told_tables(text: bytes) -> list[tuple[str, ...]]:
    """The columns of every table whose rows or definition are in the text."""
    copied = [_names(found[1]) for found in _BEGIN.finditer(text)]
    defined = [[b.lstrip() for b in found[1].splitlines()] for found in _TABLE.finditer(text)]
    columns = [[b for b in lines if not b.startswith(_NO_COLUMNS)] for lines in defined]
    return [*copied, *(tuple(n for b in lines for n in _names(b)[:1]) for lines in columns)]


def _names(text: bytes) -> tuple[str, ...]:
    return tuple((q.replace(b'""', b'"') or plain).decode("utf-8", "replace") for q, plain in _NAME.findall(text))


def parse_copied(names: tuple[str, ...], block: Block) -> Rows:
    """The rows of a section of a table: one with another number of cells is rejected as `wrong_columns`."""
    data = block.data.removesuffix(b"\n")
    lines, text = data.split(b"\n"), data.decode("utf-8", "replace")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=block.offset))
    texts = pl.Series(text.split("\n"), dtype=pl.String).str.strip_suffix("\r")
    whole = texts.str.count_matches("\t", literal=True) == len(names) - 1
    places = whole.arg_true().to_list()
    rejects = [
        RowReject(block.first_line + i, offsets[i], len(lines[i]), "wrong_columns", lines[i][:EXCERPT])
        for i in (~whole).arg_true().to_list()
    ]
    cells = texts.filter(whole).str.split_exact("\t", len(names) - 1).struct.unnest()
    frame = pl.DataFrame([_read(cells.to_series(i)).alias(name) for i, name in enumerate(names)])
    broken = [k for k, i in enumerate(places) if not is_utf8(lines[i])] if "\ufffd" in text else []
    if broken:
        unknown = pl.all().str.contains("\ufffd", literal=True) & pl.lit(pl.Series(range(frame.height)).is_in(broken))
        frame = frame.with_columns(pl.when(~unknown).then(pl.all()).name.keep())
    return Rows(
        frame, [block.first_line + i for i in places], [offsets[i] for i in places], [len(lines[i]) for i in places],
        rejects, 0, 0, dict.fromkeys(broken, ("invalid_utf8",)),
    )  # fmt: skip


def _read(cells: pl.Series) -> pl.Series:
    """What cells say once their escapes are read."""
    cells = cells.set((cells == r"\N") | (cells == ""), None)
    if not cells.str.contains("\\", literal=True).any():
        return cells
    marked = cells.str.replace_all(r"\\", _MARK, literal=True)
    if cells.str.contains(_MARK, literal=True).any() or marked.str.contains(r"\\(?:[^bfnrtv]|$)").any():
        return pl.Series([None if c is None else _ESCAPE.sub(_unescaped, c) for c in cells], dtype=pl.String)
    for letter, control in _CONTROLS.items():
        marked = marked.str.replace_all(f"\\{letter}", control, literal=True)
    return marked.str.replace_all(_MARK, "\\", literal=True)


def _unescaped(found: re.Match[str]) -> str:
    octal, hexadecimal, other = found.groups()
    if other is not None:
        return _CONTROLS.get(other, other)
    code = int(octal, 8) if octal else int(hexadecimal, 16)
    return chr(code) if code < 128 else "\ufffd"
