"""What changed between two cases? Prints findings, numbers and their causes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from kvforensics.cli import emit, wrapped

if TYPE_CHECKING:
    from kvforensics.difference import Difference, Place

MOST = 50
WIDEST = 200
DIFFERENT = 10
_INSTANTS = frozenset({"started_earliest", "started_latest"})


@click.command(name="diff")
@click.argument("before", metavar="CASE")
@click.argument("after", metavar="CASE")
@click.option("--json", "as_json", is_flag=True, help="Print everything that differs as JSON.")
def command(before: str, after: str, as_json: bool) -> int:  # noqa: FBT001 - click hands it over by name
    """Say what changed from the first case to the second: new logs, another rule, other findings.

    Exit status: 0 nothing differs, 10 something does.
    """
    from kvforensics.case_reader import open_case, read_as_told
    from kvforensics.difference import compare

    with read_as_told(f"{Path(before).name} or {Path(after).name}"):
        found = compare(open_case(Path(before)), open_case(Path(after)))
        if as_json:
            document = {"schema": "kvforensics.diff/1", "different": found.found, **to_builtins(found)}
            text = json.dumps(document, indent=2, ensure_ascii=True)
        else:
            text = "\n".join(line for one in _lines(found) for line in wrapped(one, rest="    "))
    emit(text)
    return DIFFERENT if found.found else 0


def _lines(found: Difference) -> list[str]:
    from kvforensics.escape import terminal

    if not found.found:
        return ["Nothing differs."]
    lines = []
    if found.causes:
        lines += ["Why", *(f"  - {c.kind} {terminal(c.name)}: {c.change}" for c in found.causes)]
    if found.numbers:
        lines += ["Numbers", *(f"  - {terminal(path)}: {_value(one)} -> {_value(other)}" for path, one, other in found.numbers)]
    for title, places in (("New findings", found.added), ("Findings that are gone", found.removed)):
        if places:
            lines += [f"{title}: {len(places)}", *(f"  - {_place(p)}" for p in places[:MOST]), *_more(len(places))]
    if found.changed:
        lines.append(f"Findings that changed: {len(found.changed)}")
        for one in found.changed[:MOST]:
            changes = "; ".join(f"{key} {_value(_told(key, old))} -> {_value(_told(key, new))}" for key, old, new in one.fields)
            lines.append(f"  - {_place(one.place)}: {changes}")
        lines += _more(len(found.changed))
    return [*lines, f"Findings that are the same: {found.same}"]


def _place(place: Place) -> str:
    from kvforensics.escape import terminal

    return f"{terminal(place.source)}:{place.line} ({place.disposition})"


def _value(value: Any) -> str:
    text = "not known" if value is None else json.dumps(value, ensure_ascii=True)
    return f"({len(value):,} entries; --json has them)" if isinstance(value, list) and len(text) > WIDEST else text


def _told(key: str, value: Any) -> Any:
    """A value of a finding as its documents tell it: instants in RFC 3339, not in microseconds."""
    from kvforensics.instant import rfc3339

    return rfc3339(value) if key in _INSTANTS and value is not None else value


def _more(count: int) -> list[str]:
    return [f"  ... and {count - MOST} more; --json has them all"] if count > MOST else []
