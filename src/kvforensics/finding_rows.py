"""What does each finding of a stored case say, row by row, and as one flat row for tables?

Instants are microseconds since 1970 here. A flat row holds numbers, truth values and text only, one cell a column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kvforensics.case_reader import StoredCase
from kvforensics.escape import spreadsheet
from kvforensics.finding import KEYS, PARTS
from kvforensics.instant import rfc3339

Cell = str | int | bool | None
INSTANTS = ("started_earliest", "started_latest")
LONGEST_CELL = 32_000
"""Characters that a spreadsheet's cell surely holds; Excel's own limit is 32,767."""
ALTERED = "altered"
COLUMNS = tuple(c for key in KEYS for c in (PARTS if key == "parts" else (key,)))
"""The columns of a flat row, without `altered`."""


def finding_rows(case: StoredCase) -> Iterator[dict[str, Any]]:
    """Every finding in total order, with the keys of the contract."""
    for batch in case.findings():
        table = pa.Table.from_batches([batch])
        for name in INSTANTS:
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, table.column(at).cast(pa.int64()))
        for row in table.to_pylist():
            row["correlation"] = dict(row["correlation"] or ())
            yield row


def flat(row: Mapping[str, Any]) -> dict[str, Cell]:
    """One finding as cells: instants in RFC 3339, lists joined, ids as JSON."""
    cells: dict[str, Cell] = {}
    for key in KEYS:
        value = row[key]
        if key == "parts":
            cells |= {part: value[part] for part in PARTS}
        elif key in INSTANTS:
            cells[key] = None if value is None else rfc3339(value, precise=True)
        elif isinstance(value, list):
            cells[key] = "; ".join(value) or None
        elif isinstance(value, dict):
            cells[key] = json.dumps(value, sort_keys=True, ensure_ascii=False) if value else None
        else:
            cells[key] = value
    return cells


def defused(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """The cells with nothing in them that a spreadsheet acts on, and in `altered` the columns that are not exact."""
    safe = dict(cells)
    changed = []
    for name, value in cells.items():
        if isinstance(value, str):
            text, altered = spreadsheet(value)
            if altered or len(text) > LONGEST_CELL:
                safe[name] = text[:LONGEST_CELL]
                changed.append(name)
    safe[ALTERED] = " ".join(changed) or None
    return safe
