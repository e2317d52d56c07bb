"""How many, and how sure? Reads the estimate out of a case and prints it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kvforensics.cli import emit
from kvforensics.errors import UsageError


@click.command(name="size")
@click.argument("case", metavar="CASE")
@click.option("--json", "as_json", is_flag=True, help="Print the estimate as JSON.")
def command(case: str, *, as_json: bool) -> int:
    """Print how many responses and tenants are affected, in layers, and how sure each number is.

    CASE is a folder that `kvforensics check --case` wrote. What is stated about sampling, tenants and independence is stated
    to `check`; see its options.
    """
    from kvforensics.case_reader import open_case, read_as_told
    from kvforensics.reports.sizing import sizing_text

    summary = open_case(Path(case)).summary
    estimate = summary.get("estimate")
    if not isinstance(estimate, dict):
        raise UsageError("has no estimate: an older version wrote it", where=case, advice="run the check again")
    with read_as_told(Path(case).name):
        text = json.dumps(estimate, indent=2, ensure_ascii=True) if as_json else sizing_text(estimate, summary["coverage"])
    emit(text)
    return 0
