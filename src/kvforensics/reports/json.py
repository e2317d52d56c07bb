"""How does a program read a page?

The same page as `kvforensics.report/1`, with keys sorted and all characters beyond ASCII escaped. The findings follow in
full, as the case has them, so nothing that a page cuts is lost here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kvforensics.page import Block, Bullets, Cell, Code, Figure, Link, Page, Paragraph, Quoted, Span, Table, Terms

Json = Mapping[str, Any]


def chunks(page: Page, facts: Json, findings: Iterable[Json]) -> Iterator[bytes]:
    """The document in pieces. `facts` are further top-level keys; `findings` are written one by one, never held together."""
    document = {
        **facts,
        "schema": f"kvforensics.{page.kind}/1",
        "title": page.title,
        "subject": _span(page.subject),
        "verdict": page.verdict,
        "facts": [{"name": name, "text": [_span(s) for s in line]} for name, line in page.facts],
        "sections": [{"id": s.id, "title": s.title, "blocks": [_block(b) for b in s.blocks]} for s in page.sections],
    }
    # `findings` sorts somewhere in the middle; it comes last, so that it can be streamed.
    head = _dumped(document)
    yield head[:-1].encode() + b',"findings":['
    for number, finding in enumerate(findings):
        yield (b"," if number else b"") + b"\n" + _dumped(finding).encode()
    yield b"\n]}\n"


def _dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(line, tone):
            return {"type": "paragraph", "tone": tone, "text": [_span(s) for s in line]}
        case Bullets(lines):
            return {"type": "list", "items": [[_span(s) for s in line] for line in lines]}
        case Terms(pairs):
            return {"type": "terms", "terms": dict(pairs)}
        case Table():
            return _table(block)
        case Figure(chart, table):
            return {**_table(table), "chart": {"title": chart.title, "alt": chart.alt}}


def _table(table: Table) -> dict[str, Any]:
    keys = [column.key for column in table.columns]
    return {
        "type": "table", "id": table.id, "caption": table.caption,
        "columns": [{"key": column.key, "title": column.title} for column in table.columns],
        "rows": [dict(zip(keys, map(_cell, row), strict=True)) for row in table.rows],
    }  # fmt: skip


def _cell(cell: Cell) -> Any:
    return cell if cell is None or isinstance(cell, int | float) else _span(cell)


def _span(span: Span) -> Any:
    match span:
        case Quoted(text, 0) | Code(text):
            return text
        case Quoted(text, cut):
            return {"text": text, "cut_characters": cut}
        case Link(text, file):
            return {"text": text, "file": file}
        case _:
            return span
