"""How does a case become a workbook?

A defused copy for people, as the CSV is: no cell is a formula or a link, and no macro, outside source or clock is in it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kvforensics import __version__
from kvforensics.case_reader import StoredCase
from kvforensics.errors import UsageError
from kvforensics.finding_rows import ALTERED, COLUMNS, Cell, defused, finding_rows, flat
from kvforensics.whole import whole_file

ROWS_PER_SHEET = 1_000_000
"""A sheet of a workbook has 1,048,576 rows."""
_EPOCH = dt.datetime(1980, 1, 1)  # noqa: DTZ001 - the least date of a zip file; the format has no zone
_INPUTS = ("source", "format", "sha256", "bytes", "lines", "records", "rejected", "blank", "framing", "timezone")


def write_xlsx(case: StoredCase, target: Path) -> int:
    """Write the workbook: summary, findings, inputs, rules, notes. The number of findings."""
    try:
        import xlsxwriter
    except ImportError as error:
        raise UsageError("needs XlsxWriter", where="xlsx", advice="pip install 'kvforensics[xlsx]'") from error
    options = {
        "constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
    }  # fmt: skip
    with whole_file(target, "the workbook") as partial, xlsxwriter.Workbook(str(partial), options) as book:
        # The only date in the file, or it would be today's.
        book.set_properties({"title": "kvforensics findings", "created": _EPOCH})
        head = book.add_format({"bold": True, "bottom": 1})
        _sheet(book, head, "Summary", ("what", "value"), ({"what": k, "value": v} for k, v in _summary(case)))
        rows = _findings(book, head, case)
        _sheet(book, head, "Inputs", _INPUTS, case.document["inputs"])
        _sheet(book, head, "Exclusions", ("rule", *_RULE), _rules(case.summary))
        _sheet(book, head, "About", ("note",), ({"note": note} for note in _ABOUT))
    return rows


def _findings(book: Any, head: Any, case: StoredCase) -> int:
    waiting = finding_rows(case)
    total = number = 0
    while number == 0 or total == number * ROWS_PER_SHEET:
        number += 1
        name = "Findings" if number == 1 else f"Findings {number}"
        page = (flat(row) for _, row in zip(range(ROWS_PER_SHEET), waiting, strict=False))
        total += _sheet(book, head, name, COLUMNS, page)
    return total


def _sheet(book: Any, head: Any, name: str, columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> int:
    """One sheet with a heading that stays in sight; every text is defused, and `altered` says where that changed it."""
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    wanted = (*columns, ALTERED)
    sheet.set_column(0, len(wanted) - 1, 18)
    for at, column in enumerate(wanted):
        sheet.write_string(0, at, column, head)
    last = 0
    for last, row in enumerate(rows, 1):
        cells = defused({column: row.get(column) for column in columns})
        for at, column in enumerate(wanted):
            _write(sheet, last, at, cells[column])
    sheet.autofilter(0, 0, last, len(wanted) - 1)
    return last


def _write(sheet: Any, row: int, at: int, value: Cell) -> None:
    if isinstance(value, bool):
        sheet.write_boolean(row, at, value)
    elif isinstance(value, int) and abs(value) < 10**15:  # a sheet counts in doubles
        sheet.write_number(row, at, value)
    elif value is not None:
        sheet.write_string(row, at, str(value))


def _summary(case: StoredCase) -> Iterator[tuple[str, Cell]]:
    summary = case.summary
    yield "incident", summary["incident"]
    yield "verdict", summary["verdict"]
    yield "complete", summary["complete"]
    for what in ("responses", "tenants", "outside", "ledger"):
        for key, value in summary[what].items():
            yield f"{what} {key}", "no bound" if value is None else value
    yield "excluded records", summary["excluded"]["records"]
    yield "duplicates", summary["duplicates"]
    yield "replays", summary["replays"]
    yield "first record", summary["coverage"]["first"]
    yield "last record", summary["coverage"]["last"]
    yield "window covered", summary["coverage"]["window_covered"]


_RULE = ("hits", "would_be_affected", "category", "reason", "approved_by")


def _rules(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, counts in summary["excluded"]["by_rule"].items():
        yield {"rule": name, **{key: counts.get(key) for key in _RULE}}


_ABOUT = (
    f"Made by kvforensics {__version__} from a case folder.",
    "This is a copy for reading: text that a spreadsheet would act on is written out, and the column 'altered' names where.",
    "Exact values are in findings.jsonl and findings.parquet of the case. Do not import this workbook back.",
    "An empty cell means that the evidence does not say, never zero.",
)
