"""Which signs of the bug are in engine logs? Reads the options, runs the queries, prints the answer."""

from __future__ import annotations

import json

import click

from kvforensics.cli import emit


@click.command(name="signatures")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--page-size", type=click.IntRange(min=1), help="Tokens in a page, where no start-up log tells it.")
@click.option("--first-rejected", type=click.IntRange(min=1), help="First length that prefill refused, likewise.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(logs: tuple[str, ...], page_size: int | None, first_rejected: int | None, *, as_json: bool) -> int:
    """Look for the bug's signatures in the logs of prefill, decode and gateway, each with what it proves.

    Exit status: 10 an affected request is proved, 11 one is possible or needs review, 12 nothing shows.
    """
    from kvforensics.engine.signatures import signatures
    from kvforensics.reports.signatures_text import signatures_text

    found = signatures(logs, first_rejected=first_rejected, page_size=page_size, workers=0)
    emit(json.dumps(found.document(), indent=2) if as_json else signatures_text(found.document()))
    return found.exit_status
