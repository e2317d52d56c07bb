"""Is text of other tenants in affected answers? Reads the options, compares, prints scores."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import click

from kvforensics.cli import emit
from kvforensics.errors import UsageError


@click.command(name="content")
@click.argument("bodies", nargs=-1, required=True, metavar="BODIES...")
@click.option("--affected", metavar="FILE", help="Affected requests: the JSON of `whose`, or one request id a line.")
@click.option("--canary", metavar="FILE", help="Strings that a tenant calls its own, or keyed digests of them.")
@click.option("--key", metavar="TEXT", help="Key of the digests; left out, one that anybody can compute again.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(bodies: tuple[str, ...], affected: str | None, canary: str | None, key: str | None, *, as_json: bool) -> int:
    """Compare answers with what other tenants wrote, in evidence that keeps bodies (JSON lines).

    Nothing leaves this machine and no text is printed: the answer is scores and keyed digests.

    Exit status: 0 nothing found, 10 text of another tenant found, 12 nothing could be compared.
    """
    from kvforensics.engine.bodies import read_bodies
    from kvforensics.engine.canary import load_canaries, sightings
    from kvforensics.engine.content import check_content
    from kvforensics.reports.content_text import content_text

    if affected is None and canary is None:
        raise UsageError("nothing to look for", where="content", advice="give --affected or --canary")
    document: dict[str, Any] = {"schema": "kvforensics.content-check/1", "comparison": None, "canaries": None}
    statuses = []
    if affected is not None:
        wanted, first_page_rows = _affected(Path(affected))
        secret = hashlib.sha256((key or "kvforensics").encode()).digest()
        found = check_content(lambda: read_bodies(bodies), wanted, secret, first_page_rows)
        document["comparison"] = found.document()
        statuses.append(found.exit_status)
    if canary is not None:
        seen = list(sightings(read_bodies(bodies), load_canaries(canary)))
        document["canaries"] = [s.document() for s in seen]
        statuses.append(10 if seen else 0)
    emit(json.dumps(document, indent=2) if as_json else content_text(document))
    return max(statuses, key=lambda s: (s == 10, s))


def _affected(path: Path) -> tuple[dict[str, list[str | None] | None], int]:
    """The affected requests with their supersets, and the rows that may be the prefill node's own."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("cannot be read", where=str(path)) from error
    if not text.lstrip().startswith("{"):
        return {line.strip(): None for line in text.splitlines() if line.strip() and not line.startswith("#")}, 0
    try:
        told = json.loads(text)
        # Where the logs lack requests, it may be anybody's.
        supersets = {r["rid"]: (r["superset"], [] if r["superset"].get("whole") else [None]) for r in told["responses"]}
        return {rid: [*s["tenants"], *more] for rid, (s, more) in supersets.items()}, int(told["prefill_rows_of_first_page"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError("is no output of `whose --json`", where=str(path)) from error
