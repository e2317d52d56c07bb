"""Does a deployment pass? Reads the options, runs the audit, prints the answer."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from kvforensics.cli import emit
from kvforensics.cli.check import choice
from kvforensics.errors import UsageError


@click.command(name="audit")
@click.argument("logs", nargs=-1, metavar="LOG...")
@click.option("--env", "env", multiple=True, metavar="[GLOB=]FILE",
              help="Compose file, pod spec, env dump or launch command of the nodes (repeatable).")  # fmt: skip
@click.option("--timezone", multiple=True, metavar="[GLOB=]ZONE", help="Zone of the engines' local times (repeatable).")
@click.option("--attest", multiple=True, type=click.Choice(["proxy-aborts", "content-tests"]),
              help="What you vouch for yourself; recorded as your word.")  # fmt: skip
@click.option("--compare", nargs=2, metavar="OLD NEW", help="Compare the logs of two states of a deployment.")
@click.option("-o", "--output", multiple=True, metavar="FILE", help="Write here; .html, .md, .json or .pdf (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default one for each core.")
def command(**given: Any) -> int:
    """Check start-up logs and configuration of engines that do prefill and decode apart.

    LOG is a file or a folder, in any wrapper of a container runtime or shipper.

    Exit status: 0 every check passes, 10 one fails, 12 one is not told, 2 usage error. With --compare: of NEW.
    """
    from kvforensics.clock import check_zone
    from kvforensics.engine.audit import AuditOptions, audit
    from kvforensics.engine.comparison import compare
    from kvforensics.engine.environment import read_surroundings
    from kvforensics.page_files import medium_of, write_page
    from kvforensics.reports.audit_text import audit_text, comparison_text
    from kvforensics.telling.audit import audit_page, comparison_page

    if bool(given["logs"]) == bool(given["compare"]):
        raise UsageError("name logs, or two states with --compare, not both", where="audit")
    for path in given["output"]:
        medium_of(path)
    zones = tuple(choice(text) for text in given["timezone"])
    for _, zone in zones:
        check_zone(zone)
    surroundings = read_surroundings([choice(text) for text in given["env"]])

    def run(*paths: str) -> Any:
        return audit(AuditOptions(paths, surroundings, zones, given["attest"], given["workers"] or os.cpu_count() or 1))

    if given["compare"]:
        compared = compare(*(run(path) for path in given["compare"]))
        document = compared.document()
        emit(json.dumps(document, indent=2) if given["as_json"] else comparison_text(document))
        for path in given["output"]:
            write_page(path, comparison_page(document), document)
        return compared.exit_status
    found = run(*given["logs"])
    document = found.document()
    emit(json.dumps(document, indent=2) if given["as_json"] else audit_text(document))
    for path in given["output"]:
        write_page(path, audit_page(document), document)
    return int(found.exit_status)
