"""How does a case become a CSV that no spreadsheet acts on?

A copy for people: text that a spreadsheet would run or hide is written out, and the column `altered` says in which columns.
Exact values are in the case's JSON Lines and Parquet. UTF-8 with a mark, RFC 4180.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kvforensics.case_reader import StoredCase
from kvforensics.finding import PARTS
from kvforensics.finding_rows import ALTERED, COLUMNS, Cell, defused, defused_columns
from kvforensics.whole import whole_file


def write_csv(case: StoredCase, target: Path) -> int:
    """Write the findings, one a row; the number of rows."""
    rows = 0
    with whole_file(target, "the CSV") as partial, partial.open("w", encoding="utf-8-sig", newline="") as out:
        table = csv.writer(out)
        table.writerow((*COLUMNS, ALTERED))
        for columns in defused_columns(case):
            for at in map(COLUMNS.index, PARTS):
                columns[at] = list(map(_told, columns[at]))
            table.writerows(zip(*columns, strict=True))
            rows += len(columns[0])
    return rows


def table_bytes(columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> bytes:
    """Any other table in the same form."""
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow((*columns, ALTERED))
    table.writerows(map(_told, defused(row).values()) for row in rows)
    return out.getvalue().encode("utf-8-sig")


def _told(value: Cell) -> Cell:
    return str(value).lower() if isinstance(value, bool) else value
