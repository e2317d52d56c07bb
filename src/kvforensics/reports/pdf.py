"""How does a page read on paper?

Typst sets the page. The template is a file of the package; what is told of a case reaches it as one JSON file and is only
ever shown as text, so nothing in it can be a command. Fonts come with the installed packages: a character that they
cannot show is written out, and the bytes are the same on every machine.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kvforensics import charts, escape
from kvforensics.errors import KvForensicsError, UsageError
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

# A long name without a space would run out of its cell: it may break after this many characters.
_UNBROKEN = re.compile(r"(\S{10})(?=\S)")
_MAY_BREAK = "\\1\u200b"
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)(?=T)")
FOLDED = 60
"""Rows of a table of details that is long: paper is turned by hand."""
SHORT = 14
"""Characters of a cell up to which a column takes the room it needs, rather than a share of the line."""


def render(page: Page) -> bytes:
    """The page as a tagged PDF. Raises `UsageError` where the extra `pdf` is not installed."""
    try:
        import typst
    except ImportError as error:
        raise UsageError("the PDF report needs the extra `pdf`", advice="pip install 'kvforensics[pdf]'") from error
    with tempfile.TemporaryDirectory(prefix="kvforensics-pdf-") as name:
        folder = Path(name)
        (folder / "page.typ").write_bytes(files("kvforensics.reports").joinpath("templates", "page.typ").read_bytes())
        (folder / "page.json").write_text(
            json.dumps(_document(page), ensure_ascii=True, sort_keys=True), encoding="utf-8"
        )
        for chart in _charts(page):
            (folder / f"{chart.chart.id}.svg").write_text(charts.draw(chart.chart), encoding="utf-8")
        try:
            made = typst.compile(
                str(folder / "page.typ"), root=name, font_paths=[str(_fonts())], ignore_system_fonts=True, format="pdf",
                timestamp=0, pdf_standards=["ua-1"],
            )  # fmt: skip
        except (RuntimeError, ValueError) as error:
            raise KvForensicsError(f"the PDF could not be set: {error}") from error
    if not isinstance(made, bytes):
        raise KvForensicsError("the PDF could not be set: no pages")
    return made


def _fonts() -> Path:
    import matplotlib as mpl

    return Path(mpl.get_data_path()) / "fonts" / "ttf"


@cache
def _known() -> frozenset[int]:
    """The characters that the fonts can show."""
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(str(_fonts() / "DejaVuSans.ttf")).get_charmap())


def _text(text: str) -> str:
    seen = escape.terminal(text)
    return seen if seen.isascii() else "".join(c if ord(c) in _known() else f"\\u{{{ord(c):x}}}" for c in seen)


def _charts(page: Page) -> Iterator[Figure]:
    return (block for section in page.sections for block in section.blocks if isinstance(block, Figure))


def _document(page: Page) -> dict[str, Any]:
    return {
        "kind": page.kind,
        "title": _text(page.title),
        "subject": _span(page.subject),
        "verdict": _text(page.verdict),
        "facts": [[_text(name), [_span(s) for s in line]] for name, line in page.facts],
        "sections": [
            {
                "title": _text(section.title),
                "wide": section.broad,
                "blocks": [_block(b) for b in section.blocks],
            }
            for section in page.sections
        ],
    }


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(line, tone):
            return {"type": "paragraph", "tone": tone, "line": [_span(s) for s in line]}
        case Bullets(lines):
            return {"type": "list", "items": [[_span(s) for s in line] for line in lines]}
        case Terms(pairs):
            return {"type": "terms", "pairs": [[_text(word), _text(meaning)] for word, meaning in pairs]}
        case Table():
            return _table(block)
        case Figure(chart, table):
            return {"type": "figure", "file": f"{chart.id}.svg", "title": _text(chart.title), "alt": _text(chart.alt),
                    "table": _table(table)}  # fmt: skip


def _table(table: Table) -> dict[str, Any]:
    shown = table.rows[:FOLDED] if table.folded else table.rows
    rows = [[_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in shown]
    return {
        "type": "table", "caption": _text(table.caption), "rest": rest(len(table.rows) - len(shown)),
        "columns": [
            {"title": _text(c.title), "numeric": table.numeric(i),
             "weight": 0 if not c.wide and all(len(row[i]["text"]) <= SHORT for row in rows) else 2 if c.wide else 1}
            for i, c in enumerate(table.columns)
        ],
        "rows": rows,
    }  # fmt: skip


def _cell(cell: Cell, column: Column) -> dict[str, str]:
    match cell:
        case None:
            return {"kind": "none", "text": _text(column.empty)}
        case int() | float():
            return {"kind": "number", "text": f"{cell:,}"}
        case str():
            return {"kind": "words", "text": _INSTANT.sub("\\1\u200b", _text(cell))}
        case _:
            return _span(cell)


def _span(span: Span) -> dict[str, str]:
    match span:
        case Quoted(text, cut, sentence):
            return {
                "kind": "words" if sentence else "quoted",
                "text": _breakable(text) + (f" ({cut:,} more characters)" if cut else ""),
            }
        case Code(text):
            return {"kind": "code", "text": _breakable(text)}
        case Link(text, file):
            return {"kind": "words", "text": f"{_text(text)} ({_text(file)})"}
        case _:
            return {"kind": "words", "text": _text(span)}


def _breakable(text: str) -> str:
    return _UNBROKEN.sub(_MAY_BREAK, _text(text))
