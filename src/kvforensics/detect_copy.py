"""Which formats are in the tables of a database's dump?"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence

from kvforensics.framing import line_blocks
from kvforensics.framing_copy import BANNER, BEGINS, copy_sections, told_tables
from kvforensics.made_once import extractor_of
from kvforensics.paths import lookup
from kvforensics.plan import Plan
from kvforensics.spec import Format

_TIME = re.compile(r"time|stamp|date|created|started|_?at$|^ts$")
_KEPT_UP = re.compile(r"(?:updated|changed|checked)_?by|budget")


def copy_plans(head: bytes, formats: Sequence[Format]) -> tuple[Plan, ...]:
    """The plan for a source that starts with `head`, none where it is no dump or shows no table that may hold requests."""
    if not (BANNER in head[:4096] or BEGINS in head):
        return ()
    tables = {columns: table_format(columns, formats) for columns in told_tables(head)}
    shown = {f.name: f for f in tables.values() if f is not None}
    counts = Counter(dict.fromkeys(shown, 0))
    seen = 0
    for columns, block in copy_sections(line_blocks(io.BytesIO(head))):
        fmt = tables.get(columns) if columns is not None else None
        seen += block.lines if columns is not None else 0
        counts.update({fmt.name: block.lines} if fmt is not None else {})
    ranked = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    # A table that comes behind the head may have another format than those in it.
    read = tuple(f for f in formats if f.name in shown or ("csv" in f.containers and not f.view))
    return (Plan("copy", read, ranked, seen),) if shown else ()


def table_format(columns: Sequence[str], formats: Sequence[Format]) -> Format | None:
    """The format of a table's rows, None where they are no requests. A home-made one has to count their tokens."""
    filled = dict.fromkeys(columns, "1")
    found = next((e for f in formats if "csv" in f.containers and (e := extractor_of(f)).matches(filled)), None)
    if found is None:
        return None
    counted = any(lookup(filled, steps) is not None for steps, _ in found.slots.get("prompt", ()))
    return found.format if counted or not found.format.name.startswith("app-json") else None


def may_hold_calls(columns: Sequence[str]) -> bool:
    """Whether rows that are not read may be calls: they count tokens, or have a time and are no settings.

    A table of settings names models too, but tells who changed it or what may be spent.
    """
    names = [c.casefold() for c in columns]
    counts = any("tokens" in n and not n.startswith("max") for n in names)
    return counts or (any(map(_TIME.search, names)) and not any(map(_KEPT_UP.search, names)))
