"""How does a case become a CSV that no spreadsheet acts on?

A copy for people: text that a spreadsheet would run or hide is written out, and the column `altered` says in which columns.
Exact values are in the case's JSON Lines and Parquet. UTF-8 with a mark, RFC 4180.
"""

from __future__ import annotations

import csv
from pathlib import Path

from kvforensics.case_reader import StoredCase
from kvforensics.finding_rows import ALTERED, COLUMNS, defused, finding_rows, flat
from kvforensics.whole import whole_file

_TRUTH = {True: "true", False: "false"}


def write_csv(case: StoredCase, target: Path) -> int:
    """Write the findings, one a row; the number of rows."""
    rows = 0
    with whole_file(target, "the CSV") as partial, partial.open("w", encoding="utf-8-sig", newline="") as out:
        table = csv.writer(out)
        table.writerow((*COLUMNS, ALTERED))
        for row in finding_rows(case):
            cells = defused(flat(row))
            table.writerow(_TRUTH[v] if isinstance(v, bool) else v for v in cells.values())
            rows += 1
    return rows
