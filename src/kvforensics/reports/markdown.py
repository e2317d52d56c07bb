"""How does a page read in a ticket?

CommonMark with tables. Text of strangers stands in code spans, our own words have every mark of the language escaped;
charts are left out, as their data stands in tables. A page that no ticket takes has shorter tables, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from kvforensics import escape
from kvforensics.page import (
    Block,
    Bullets,
    Cell,
    Code,
    Column,
    Figure,
    Link,
    Page,
    Paragraph,
    Quoted,
    Span,
    Table,
    Terms,
    rest,
)

_MARKS = re.compile(r"([\\`*_\[\]<>|~#!&$])")
LARGEST = 65_536
"""Bytes of a ticket: an issue on GitHub holds this many characters."""
ROWS = (100, 50, 25, 10, 5, 2)
"""The most rows of a table; a ticket is no place for thousands. The first that make the page fit; other media have more."""
FOLDED = 10
"""Rows of a table of details that is long."""


def render(page: Page) -> bytes:
    """The page as UTF-8 bytes, at most `LARGEST`: with shorter tables where it has to be, then without its last sections."""
    data = b""
    for most in ROWS:
        data = _rendered(page, most)
        if len(data) <= LARGEST:
            return data
    sections, left_out = list(page.sections), [page.sections[-1].title]
    while len(data) > LARGEST and len(sections) > 1:
        sections.pop()
        data = _rendered(replace(page, sections=tuple(sections)), ROWS[-1], tuple(reversed(left_out)))
        left_out.append(sections[-1].title)
    return data


def _rendered(page: Page, most: int, left_out: tuple[str, ...] = ()) -> bytes:
    return ("\n".join(_lines(page, most, left_out)) + "\n").encode("utf-8")


def _lines(page: Page, most: int, left_out: tuple[str, ...]) -> Iterator[str]:
    yield f"# {_words(page.title)}: {_span(page.subject)}"
    yield ""
    if page.verdict:
        yield f"**{_words(page.verdict)}**"
        yield ""
    for name, line in page.facts:
        yield f"- {_words(name)}: {_line(line)}"
    if most < ROWS[0]:
        yield ""
        yield _words(f"So that it fits a ticket, tables show at most {most} rows; the HTML page and the JSON have more.")
    if left_out:
        yield _words(f"Left out for the same reason: {', '.join(left_out)}.")
    for section in page.sections:
        yield ""
        yield f"## {_words(section.title)}"
        for block in section.blocks:
            yield ""
            yield from _block(block, most)


def _block(block: Block, most: int) -> Iterator[str]:
    match block:
        case Paragraph(line):
            yield _line(line)
        case Bullets(lines):
            yield from (f"- {_line(line)}" for line in lines)
        case Terms(pairs):
            yield from (f"- **{_words(word)}**: {_words(meaning)}" for word, meaning in pairs)
        case Table():
            yield from _table(block, most)
        case Figure(table=table):
            yield from _table(table, most)


def _table(table: Table, longest: int) -> Iterator[str]:
    yield f"**{_words(table.caption)}**"
    yield ""
    yield f"| {' | '.join(_words(column.title) for column in table.columns)} |"
    yield f"|{'|'.join('---' for _ in table.columns)}|"
    most = min(FOLDED, longest) if table.folded else longest
    for row in table.rows[:most]:
        yield f"| {' | '.join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))} |"
    if len(table.rows) > most:
        yield ""
        yield rest(len(table.rows) - most)


def _cell(cell: Cell, column: Column) -> str:
    match cell:
        case None:
            return _words(column.empty)
        case int() | float():
            return f"{cell:,}"
        case _:
            return _span(cell)


def _line(line: tuple[Span, ...]) -> str:
    return "".join(_span(span) for span in line)


def _span(span: Span) -> str:
    match span:
        case Quoted(text, cut):
            return escape.markdown(text) + (f" ({cut:,} more characters)" if cut else "")
        case Code(text):
            return escape.markdown(text)
        case Link(text, file):
            return f"{_words(text)} {escape.markdown(file)}"
        case _:
            return _words(span)


def _words(text: str) -> str:
    return _MARKS.sub(r"\\\1", escape.terminal(text))
