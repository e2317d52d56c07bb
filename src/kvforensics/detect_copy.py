"""Which formats are in the tables of a database's dump?"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence

from kvforensics.framing import line_blocks
from kvforensics.framing_copy import BANNER, BEGINS, copy_sections, told_tables
from kvforensics.made_once import extractor_of
from kvforensics.paths import lookup
from kvforensics.plan import Plan
from kvforensics.spec import Format


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
    return (Plan("copy", tuple(f for f in formats if f.name in shown), ranked, seen),) if shown else ()


def table_format(columns: Sequence[str], formats: Sequence[Format]) -> Format | None:
    """The format of a table's rows, None where they are no requests. A home-made one has to count their tokens."""
    filled = dict.fromkeys(columns, "1")
    found = next((e for f in formats if "csv" in f.containers and (e := extractor_of(f)).matches(filled)), None)
    if found is None:
        return None
    counted = any(lookup(filled, steps) is not None for steps, _ in found.slots.get("prompt", ()))
    return found.format if counted or not found.format.name.startswith("app-json") else None
