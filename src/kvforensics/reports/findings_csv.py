"""How do all findings read in a spreadsheet?

The file that a page links to when it cannot show every finding. It is a defused copy: cells that a spreadsheet would take
for a formula, and characters that act instead of being seen, are altered, and the last column says so. Exact values are
in the case.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from kvforensics import escape
from kvforensics.page import Cell, Code, Column, Link, Quoted


def chunks(columns: Sequence[Column], rows: Iterable[tuple[Cell, ...]]) -> Iterator[bytes]:
    """The file in pieces, UTF-8 with a header."""
    yield _line([column.title for column in columns] + ["Altered cells"])
    for row in rows:
        cells, altered = [], []
        for cell, column in zip(row, columns, strict=True):
            text, changed = _cell(cell)
            cells.append(text)
            if changed:
                altered.append(column.title)
        yield _line([*cells, "; ".join(altered)])


def _cell(cell: Cell) -> tuple[str, bool]:
    match cell:
        case None:
            return "", False
        case int() | float():
            return str(cell), False
        case Quoted(text, cut):
            safe, changed = escape.spreadsheet(text)
            return (f"{safe} ({cut:,} more characters)", True) if cut else (safe, changed)
        case Code(text) | Link(text):
            return escape.spreadsheet(text)
        case _:
            return escape.spreadsheet(cell)


def _line(cells: Sequence[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode("utf-8")
