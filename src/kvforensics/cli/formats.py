"""Which log formats are read, and what can each show?"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from kvforensics.cli import emit

if TYPE_CHECKING:
    from kvforensics.spec import Format
    from kvforensics.wrapper_spec import Wrapper

SCHEMA = "kvforensics.formats/1"
WRAPPERS = "Wrappers around another line of log"
WIDTH = 80
NAME = 34


@click.command(name="formats")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, name: str | None, as_json: bool) -> None:
    """List the log formats and wrappers, or say what NAME can and cannot show."""
    if name is None:
        emit(json.dumps(_catalogue(), indent=2, ensure_ascii=True) if as_json else "\n".join(_listed()))
        return
    from kvforensics.cli.format_page import document, page_text

    of = _named(name)
    emit(json.dumps({"schema": SCHEMA, **document(of)}, indent=2, ensure_ascii=True) if as_json else page_text(of))


def _named(name: str) -> Format | Wrapper:
    """A format of that name, else a wrapper; a layer that is a log of its own is both, and its format tells more."""
    from kvforensics.formats import all_formats, by_name
    from kvforensics.wrappers import all_wrappers

    if name not in {f.name for f in all_formats()}:
        wrapper = next((w for w in all_wrappers() if w.name == name), None)
        if wrapper is not None:
            return wrapper
    return by_name(name)


def _groups() -> dict[str, tuple[Format | Wrapper, ...]]:
    from kvforensics.formats import grouped
    from kvforensics.wrappers import all_wrappers

    return {**grouped(), WRAPPERS: tuple(w for w in all_wrappers() if not w.is_record)}


def _catalogue() -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "groups": [
            {"title": title, "members": [{"name": m.name, "title": m.title} for m in members]}
            for title, members in _groups().items()
        ],
    }


def _listed() -> Iterator[str]:
    for title, members in _groups().items():
        yield title
        yield from _rows(members)
        yield ""
    yield "kvforensics formats NAME says what one can show and how to export it."
    yield "kvforensics detect PATH says which formats your logs have."


def _rows(members: Iterable[Format | Wrapper]) -> Iterator[str]:
    for member in members:
        yield from textwrap.wrap(
            member.title, WIDTH, initial_indent=f"  {member.name:<{NAME}}", subsequent_indent=" " * (NAME + 2),
            break_on_hyphens=False,
        )  # fmt: skip
