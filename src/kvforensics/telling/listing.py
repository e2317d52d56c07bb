"""How do findings become rows?

One row is the same whether it stands in a page, in the file that a page links to, or in a program's hands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.case_reader import StoredCase
from kvforensics.incident import Incident
from kvforensics.page import Cell, Code, Column, quoted
from kvforensics.telling import wording
from kvforensics.telling.survey import ORDER

COLUMNS = (
    Column("disposition", "Finding"),
    Column("started", "Started (UTC)", wide=True),
    Column("prompt_tokens", "Prompt tokens", "not known"),
    Column("tenant", "Tenant"),
    Column("record_id", "Request id", wide=True),
    Column("source", "Source", wide=True),
    Column("line", "Line"),
    Column("basis", "What it rests on", wide=True),
    Column("sha256", "SHA-256 of the record", wide=True),
)
_WANTED = (
    "disposition", "started_earliest", "started_latest", "prompt_tokens_min", "prompt_tokens_max", "tenant", "record_id",
    "source", "line", "parts", "reasons", "time_basis", "token_basis", "excluded_by", "duplicate_of", "sha256",
)  # fmt: skip


def most_serious(case: StoredCase, most: int) -> tuple[tuple[Cell, ...], ...]:
    """The first findings, the most serious kind first, each kind in the case's own order."""
    kept: dict[str, list[tuple[Cell, ...]]] = {name: [] for name in ORDER}
    incident = case.incident()
    for finding in documents(case):
        rows = kept.get(finding["disposition"])
        if rows is not None and len(rows) < most:
            rows.append(row(finding, incident))
    return tuple(one for name in ORDER for one in kept[name])[:most]


def documents(case: StoredCase) -> Iterator[dict[str, Any]]:
    """What a row needs of each finding, in the case's own order."""
    for batch in case.findings(_WANTED):
        yield from batch.to_pylist()


def by_request(case: StoredCase, wanted: frozenset[str]) -> dict[str, tuple[str, str]]:
    """Disposition and finding id by the ids of requests, for those that are wanted; the most serious finding of each."""
    found: dict[str, tuple[str, str]] = {}
    for batch in case.findings(["finding_id", "disposition", "record_id", "correlation"]):
        for one in batch.to_pylist():
            names = {one["record_id"], *dict(one["correlation"] or ()).values()} & wanted
            for name in names:
                kept = found.get(name)
                if kept is None or ORDER.index(one["disposition"]) < ORDER.index(kept[0]):
                    found[name] = (one["disposition"], one["finding_id"])
    return found


def row(finding: Mapping[str, Any], incident: Incident | None) -> tuple[Cell, ...]:
    """A finding as cells under `COLUMNS`; `incident` is that of its case, where the case keeps it."""
    low, high = finding["prompt_tokens_min"], finding["prompt_tokens_max"]
    return (
        wording.DISPOSITIONS.get(finding["disposition"], "Unknown kind"),
        wording.start(finding),
        low if low == high else wording.tokens(finding),
        quoted(finding["tenant"]),
        quoted(finding["record_id"]),
        quoted(finding["source"]),
        finding["line"],
        _basis(finding, incident),
        None if finding["sha256"] is None else Code(finding["sha256"]),
    )


def _basis(finding: Mapping[str, Any], incident: Incident | None) -> Cell:
    if finding["disposition"] == "excluded":
        return quoted(f"excluded by {', '.join(finding['excluded_by'] or ())}")
    if finding["disposition"] == "duplicate":
        return quoted(f"another record of {finding['duplicate_of']}")
    return wording.why(finding, incident)
