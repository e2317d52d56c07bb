"""What else can be asked of a case? Runs one SELECT over its tables and prints the answer."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvforensics.cli import emit, wrapped
from kvforensics.cli.check import parse_size

if TYPE_CHECKING:
    import pyarrow as pa

WIDEST = 60


@click.command(name="sql")
@click.argument("case_dir", metavar="CASE")
@click.argument("query", metavar="[SELECT]", required=False)
@click.option("--output", type=click.Choice(("table", "csv", "json")), default="table", show_default=True,
              help="How to print the answer; csv is defused, json is one object a line.")  # fmt: skip
@click.option("--memory", metavar="SIZE", help="Memory bound, such as 4GB.")
def command(case_dir: str, query: str | None, output: str, memory: str | None) -> int:
    """Run one SELECT over a case: tables findings, records, context, rejected, inputs.

    `-` reads the query from standard input. The database is locked: it sees these tables and nothing else of the machine,
    and nothing in the case can be changed.
    """
    from kvforensics.case_reader import open_case, read_as_told
    from kvforensics.case_tables import case_tables
    from kvforensics.store import Store

    text = sys.stdin.read() if query == "-" else query
    with Store(memory_bytes=parse_size(memory) if memory else None) as store:
        with read_as_told(Path(case_dir).name):
            tables = case_tables(open_case(Path(case_dir)))
        for name, table in tables.items():
            store.register(name, table)
        if text is None:
            columns = (wrapped(f"{name}: {', '.join(table.schema.names)}") for name, table in tables.items())
            emit("\n".join(line for lines in columns for line in lines))
            return 0
        answer = store.select(text)
        emit({"table": _table, "csv": _csv, "json": _json}[output](answer))
    return 0


def _rows(answer: pa.Table) -> Iterator[tuple[Any, ...]]:
    # By place, not by name: an answer may have two columns of one name.
    for batch in answer.to_batches(max_chunksize=8192):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _table(answer: pa.Table) -> str:
    from kvforensics.escape import terminal
    from kvforensics.plural import counted

    def shown(value: Any) -> str:
        text = "" if value is None else terminal(value if isinstance(value, str) else json.dumps(_plain(value)).strip('"'))
        return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."

    rows = [[shown(n) for n in answer.column_names], *([shown(v) for v in row] for row in _rows(answer))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join((lines[0], "  ".join("-" * w for w in widths), *lines[1:], f"({counted(answer.num_rows, 'row')})"))


def _csv(answer: pa.Table) -> str:
    from kvforensics.escape import spreadsheet
    from kvforensics.finding_rows import LONGEST_CELL

    def cell(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return spreadsheet(value if isinstance(value, str) else json.dumps(_plain(value)).strip('"'))[0][:LONGEST_CELL]

    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([cell(name) for name in answer.column_names])
    table.writerows([cell(v) for v in row] for row in _rows(answer))
    return out.getvalue()


def _json(answer: pa.Table) -> str:
    names = answer.column_names
    return "\n".join(json.dumps(_plain(dict(zip(names, row, strict=True))), ensure_ascii=True) for row in _rows(answer))


def _plain(value: Any) -> Any:
    """The value as JSON can say it: instants in RFC 3339, bytes in hexadecimal, what else it cannot as text."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
