"""What is a case told as? Reads the options, has the report made, says what was written."""

from __future__ import annotations

import sys
from typing import Any

import click

from kvforensics.cli import emit
from kvforensics.errors import UsageError


@click.command(name="report")
@click.argument("case", metavar="CASE")
@click.option("-o", "--output", multiple=True, metavar="FILE", help="Write here; .html, .md, .json or .pdf (repeatable).")
@click.option("--format", "medium", type=click.Choice(["html", "markdown", "json", "pdf"]),
              help="The medium; default by the name of FILE, else html.")  # fmt: skip
@click.option("--tenant", metavar="T", help="A notice for this tenant, with its own requests only.")
@click.option("--each-tenant", metavar="DIR", help="A notice for each tenant concerned, into a new folder.")
@click.option("--whose", metavar="FILE", help="What `whose --json` wrote: adds whose data was in reach, and its notices.")
@click.option("--worksheet", is_flag=True, help="The regulator worksheet alone.")
@click.option("--as-of", metavar="TIME", help="When the figures hold, such as 2026-09-30T12:00:00Z; default the last record.")
def command(**given: Any) -> int:
    """Tell a case to people: a page, a ticket, a document, a notice.

    CASE is a folder that `kvforensics check --case` wrote; it stays as it is. Without -o the report goes to standard
    output. HTML and PDF show the first 1,000 findings; with -o, all of them are in a CSV file beside the page.
    """
    if sum([given["tenant"] is not None, given["each_tenant"] is not None, given["worksheet"]]) > 1:
        raise UsageError("only one of --tenant, --each-tenant and --worksheet makes sense")
    if given["each_tenant"] is not None and given["output"]:
        raise UsageError("--each-tenant names its files itself", where="--output", advice="leave out -o")

    from kvforensics.page_files import medium_of
    from kvforensics.report_job import ReportOptions, write_notices, write_report

    if given["each_tenant"] is not None:
        count = write_notices(given["case"], given["each_tenant"], given["medium"] or "html", given["whose"])
        emit(f"{count:,} {'notice' if count == 1 else 'notices'} written to {given['each_tenant']}")
        return 0
    options = ReportOptions(
        given["case"], as_of=_as_of(given["as_of"]), tenant=given["tenant"], worksheet=given["worksheet"],
        exposure=given["whose"],
    )  # fmt: skip
    if not given["output"]:
        _to_standard_output(options, given["medium"] or "html")
    for path in given["output"]:
        for name in write_report(options, path, given["medium"] or medium_of(path)):
            emit(f"written: {name}")
    return 0


def _as_of(text: str | None) -> str | None:
    if text is None:
        return None
    import datetime as dt

    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(f"{text!r} is no time with an offset", where="--as-of", advice="write it like 2026-09-30T12:00:00Z")
    return moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _to_standard_output(options: Any, medium: str) -> None:
    from kvforensics.report_job import report_bytes

    if medium == "pdf" and sys.stdout.isatty():
        raise UsageError("a PDF is nothing for a terminal", advice="give it a file with -o")
    out = getattr(sys.stdout, "buffer", None)
    for chunk in report_bytes(options, medium):
        if out is None:
            emit(chunk.decode())
        else:
            out.write(chunk)
            out.flush()
