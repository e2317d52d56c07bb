"""What does each finding of a stored case say, row by row, and as one flat row for tables?

Instants are microseconds since 1970 here. A flat row holds numbers, truth values and text only, one cell a column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from kvforensics.case_reader import StoredCase
from kvforensics.escape import PLAIN, spreadsheet
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
            safe[name], altered = _defused(value)
            if altered:
                changed.append(name)
    safe[ALTERED] = " ".join(changed) or None
    return safe


def _defused(text: str) -> tuple[str, bool]:
    safe, altered = spreadsheet(text)
    return safe[:LONGEST_CELL], altered or len(safe) > LONGEST_CELL


def defused_columns(case: StoredCase) -> Iterator[list[list[Cell]]]:
    """The findings in batches, each as its columns `COLUMNS` and `altered`: what `flat` and `defused` give, but quickly."""
    for batch in case.findings():
        frame = pl.from_arrow(batch)
        if not isinstance(frame, pl.DataFrame):  # pragma: no cover - a batch of records is a frame
            raise TypeError
        changed: list[list[str]] = [[] for _ in range(frame.height)]
        columns = [_column(name, values, changed) for name, values in _flat_columns(frame)]
        yield [*columns, [" ".join(names) or None for names in changed]]


def _flat_columns(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    for key in KEYS:
        values = frame[key]
        if key == "parts":
            yield from ((part, values.struct.field(part)) for part in PARTS)
        elif key in INSTANTS:
            instants = (None if us is None else rfc3339(us, precise=True) for us in values.dt.epoch("us").to_list())
            yield key, pl.Series(key, instants, dtype=pl.String)
        elif key == "correlation":
            written = (json.dumps(dict(p), sort_keys=True, ensure_ascii=False) if p else None for p in values.to_list())
            yield key, pl.Series(key, written, dtype=pl.String)
        elif isinstance(values.dtype, pl.List):
            joined = values.list.join("; ")
            yield key, joined.set(joined == "", None)
        else:
            yield key, values


def _column(name: str, values: pl.Series, changed: list[list[str]]) -> list[Cell]:
    """One column, its texts defused; `changed` takes its name in each row in which that alters it."""
    cells: list[Cell] = values.to_list()
    if values.dtype == pl.String:
        harmless = values.str.contains(f"^(?:{PLAIN})$") & (values.str.len_bytes() <= LONGEST_CELL)
        for at in (~harmless).fill_null(value=False).arg_true():
            cells[at], altered = _defused(str(cells[at]))
            if altered:
                changed[at].append(name)
    return cells
