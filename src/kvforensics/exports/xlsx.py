"""How does a case become a workbook?

A defused copy for people, as the CSV is: no cell is a formula or a link, and no macro, outside source or clock is in it.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from kvforensics import __version__
from kvforensics.case_reader import StoredCase
from kvforensics.errors import UsageError
from kvforensics.finding_rows import ALTERED, COLUMNS, Cell, defused, defused_columns
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
    # Zipped in memory: a zip file whose disk is full complains a second time, to nobody, when it is thrown away.
    zipped = io.BytesIO()
    with whole_file(target, "the workbook") as partial:
        with xlsxwriter.Workbook(zipped, options) as book:
            rows = _filled_book(book, case)
        partial.write_bytes(zipped.getbuffer())
    return rows


def _filled_book(book: Any, case: StoredCase) -> int:
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
    rows = (row for columns in defused_columns(case) for row in zip(*columns, strict=True))
    total = number = 0
    while number == 0 or total == number * ROWS_PER_SHEET:
        number += 1
        name = "Findings" if number == 1 else f"Findings {number}"
        total += _filled(book, head, name, (*COLUMNS, ALTERED), islice(rows, ROWS_PER_SHEET))
    return total


def _sheet(book: Any, head: Any, name: str, columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> None:
    safe = (tuple(defused({column: row.get(column) for column in columns}).values()) for row in rows)
    _filled(book, head, name, (*columns, ALTERED), safe)


def _filled(book: Any, head: Any, name: str, columns: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> int:
    """One sheet with a heading that stays in sight. Every text is defused already, and `altered` says where."""
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, len(columns) - 1, 18)
    for at, column in enumerate(columns):
        sheet.write_string(0, at, column, head)
    write = {str: sheet.write_string, bool: sheet.write_boolean, int: sheet.write_number}
    last = 0
    for last, row in enumerate(rows, 1):
        for at, value in enumerate(row):
            if value is None:
                continue
            if type(value) is int and abs(value) >= 10**15:  # a sheet counts in doubles
                sheet.write_string(last, at, str(value))
            else:
                write[type(value)](last, at, value)
    sheet.autofilter(0, 0, last, len(columns) - 1)
    return last


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
