"""How does a page read in a browser?

One file that needs nothing else: no script to read it, no outside resource, styles and charts inside. The content policy
allows our own style and our own script, which sorts, by their digests, and nothing more. Templates are files of the package;
what is told of a case is only ever data, escaped as it is put in.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound
from markupsafe import Markup

from kvforensics import charts, escape
from kvforensics.page import Cell, Chart, Code, Column, Link, Page, Quoted, Span

LONGEST_WORD = 27
_PALETTE = {name: f"var(--c-{name})" for name in charts.LIGHT}


class _Package(BaseLoader):
    """Templates come from the package and from nowhere else."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, None]:  # noqa: ARG002
        """The text of a template, as jinja2 asks for it."""
        if template != "page.html.j2":
            raise TemplateNotFound(template)
        return _text(template), None, None


def _text(name: str) -> str:
    return files("kvforensics.reports").joinpath("templates", name).read_text(encoding="utf-8")


def render(page: Page) -> bytes:
    """The page as UTF-8 bytes."""
    style, script = _text("page.css"), _text("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    text = _environment().get_template("page.html.j2").render(
        page=page, policy=policy, style=Markup(style), script=Markup(script)  # noqa: S704 - our own files
    )  # fmt: skip
    return text.encode("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=_Package(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "span": _span,
        "cell": _cell,
        "line": _line,
        "drawn": _drawn,
        "kind": _kind,
        "sort": _sort_key,
        "whole": _whole,
    }
    return environment


def _kind(block: object) -> str:
    return type(block).__name__


def _drawn(chart: Chart) -> Markup:
    return Markup(charts.draw(chart, _PALETTE))  # noqa: S704 - drawn from numbers and our own words


def _line(line: tuple[Span, ...]) -> Markup:
    return Markup("").join(_span(span) for span in line)


def _span(span: Span) -> Markup:
    match span:
        case Quoted(text, cut, sentence):
            kind = "said" if sentence else "quoted"
            note = Markup(' <span class="cut">({} more characters)</span>').format(f"{cut:,}") if cut else ""
            return Markup('<bdi class="{}">{}</bdi>{}').format(kind, _safe(text), note)
        case Code(text):
            return Markup("<code>{}</code>").format(_safe(text))
        case Link(text, file):
            return Markup('<a href="{}">{}</a>').format(_safe(quote(file)), _safe(text))
        case _:
            return _safe(span)


def _safe(text: str) -> Markup:
    return Markup(escape.html(text))  # noqa: S704 - escaped here, once


def _cell(cell: Cell, column: Column) -> Markup:
    match cell:
        case None:
            return Markup('<span class="none">{}</span>').format(column.empty)
        case int() | float():
            return Markup("{}").format(f"{cell:,}")
        case _:
            return _span(cell)


def _whole(cell: Cell) -> bool:
    """Whether a cell holds one of our own short words, such as an instant, which reads badly when it is broken."""
    return isinstance(cell, str) and len(cell) <= LONGEST_WORD and " " not in cell


def _sort_key(cell: Cell) -> str | None:
    """What a number sorts by; other cells sort by their text."""
    return str(cell) if isinstance(cell, int | float) else None
