"""Whose data was in the reach of each affected response? Reads the options, runs the replay, prints the answer."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from kvforensics.cli import emit


@click.command(name="whose")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--tenants", metavar="FILE", help="CSV with the columns rid or bootstrap_room, and tenant.")
@click.option("--tenant-by", metavar="FIELD", help="The label, header or field of the request log that names the tenant.")
@click.option("--pool-tokens", type=click.IntRange(min=1), help="Pool of one decode rank, where no start-up log tells it.")
@click.option("--page-size", type=click.IntRange(min=1), help="Tokens in a page, where no start-up log tells it.")
@click.option("--first-rejected", type=click.IntRange(min=1), help="First length that prefill refused, likewise.")
@click.option("--draws", type=click.IntRange(min=1), help="Replays with other orders of what the logs leave open.")
@click.option("-o", "--output", multiple=True, metavar="FILE", help="Write here; .html, .md, .json or .pdf (repeatable).")
@click.option("--each-tenant", metavar="DIR", help="A notice for each tenant whose text was in reach, into a new folder.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default one for each core.")
def command(**given: Any) -> int:
    """Replay the pages of each decode rank from engine logs: who could have read whose data.

    LOG are run-time and start-up logs, request logs and metrics exports of prefill and decode nodes.

    Exit status: 0 no affected response, 10 at least one, 12 the logs do not tell what the replay needs.
    """
    from kvforensics.engine.exposure_document import document_of
    from kvforensics.engine.trace import TraceOptions, trace
    from kvforensics.exposure_job import check_outputs, write_exposure
    from kvforensics.reports.exposure_text import exposure_text

    check_outputs(given["output"], given["each_tenant"])
    found = trace(
        TraceOptions(
            paths=given["logs"],
            pool_tokens=given["pool_tokens"],
            page_size=given["page_size"],
            first_rejected=given["first_rejected"],
            tenants=given["tenants"],
            tenant_by=given["tenant_by"],
            draws=given["draws"],
            workers=given["workers"] or os.cpu_count() or 1,
        )
    )
    document = document_of(found)
    emit(json.dumps(document, indent=2) if given["as_json"] else exposure_text(document))
    if given["output"] or given["each_tenant"] is not None:
        write_exposure(document, given["output"], given["each_tenant"])
    return 10 if found.exposed else 0
