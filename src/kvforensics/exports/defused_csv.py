"""How does a case become a CSV that no spreadsheet acts on?

A copy for people: text that a spreadsheet would run or hide is written out, and the column `altered` says in which columns.
Exact values are in the case's JSON Lines and Parquet. UTF-8 with a mark, RFC 4180.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from kvforensics.case_reader import StoredCase
from kvforensics.finding_rows import ALTERED, COLUMNS, Cell, defused, finding_rows, flat
from kvforensics.whole import whole_file

_TRUTH = {True: "true", False: "false"}


def write_csv(case: StoredCase, target: Path) -> int:
    """Write the findings, one a row; the number of rows."""
    with whole_file(target, "the CSV") as partial, partial.open("w", encoding="utf-8-sig", newline="") as out:
        return _write(out, COLUMNS, map(flat, finding_rows(case)))


def table_bytes(columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> bytes:
    """Any other table in the same form."""
    out = io.StringIO(newline="")
    _write(out, columns, rows)
    return out.getvalue().encode("utf-8-sig")


def _write(out: TextIO, columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> int:
    table = csv.writer(out)
    table.writerow((*columns, ALTERED))
    count = 0
    for row in rows:
        table.writerow(_TRUTH[v] if isinstance(v, bool) else v for v in defused(row).values())
        count += 1
    return count
