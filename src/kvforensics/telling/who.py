"""Whose responses are flagged, when, and by which node, key and user agent?

Shows what a case's estimate counts: tokens, days and evidence of each tenant, and the whole by time and by sender.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.page import Block, Cell, Column, Paragraph, Section, Table, quoted
from kvforensics.plural import counted

Json = Mapping[str, Any]
LINES = 5
"""Evidence lines of a tenant that a page names; the case has them all."""
_COUNTS = (
    Column("affected", "Affected"), Column("possible", "Possibly affected"), Column("replays", "Replays"),
    Column("excluded", "Excluded"),
)  # fmt: skip
_BY = (
    ("day", "Day (UTC)", "day"), ("hour", "Hour from (UTC)", "hour"), ("node", "Node", "node"), ("key", "Key", "key"),
    ("user_agent", "User agent", "user agent"),
)  # fmt: skip


def section(estimate: Json) -> Section | None:
    """Flagged responses by time and by sender; None where an older version made the case, or nothing is flagged."""
    blocks = tuple(_blocks(estimate.get("by") or {}))
    return Section("who", "By time and by sender", blocks) if blocks else None


def _blocks(by: Json) -> Iterator[Block]:
    silent = []
    for key, title, name in _BY:
        table = by.get(key)
        if not table or not table["rows"]:
            continue
        if [row["name"] for row in table["rows"]] == [None]:
            silent.append(name)
            continue
        columns = (
            Column(key, title, "not told", wide=key not in {"day", "hour"}),
            *_COUNTS,
            Column("tenants", "Tenants"),
        )
        yield Table(f"who-{key.replace('_', '-')}", f"Flagged responses by {name}", columns,
                    tuple(_bucket(key, row) for row in table["rows"]), sortable=True, details=True)  # fmt: skip
        if table["more"]:
            yield Paragraph((f"{counted(table['more'], f'further {name}')} with fewer are not listed.",), "note")
    if silent:
        yield Paragraph((f"No flagged record tells its {' or '.join(silent)}.",), "note")


def _bucket(key: str, row: Json) -> tuple[Cell, ...]:
    name = row["name"] if key in {"day", "hour"} else quoted(row["name"])
    return (name, *(row[column.key] for column in _COUNTS), row["tenants"])


def tenant_details(estimate: Json) -> Iterator[Block]:
    """Tokens, days and evidence lines of each tenant."""
    table = estimate.get("per_tenant")
    if not table or not table["rows"]:
        return
    columns = (
        Column("tenant", "Tenant", "not told", wide=True), *_COUNTS, Column("tokens_min", "Prompt tokens, least"),
        Column("tokens_max", "Prompt tokens, most", "no bound"), Column("longest", "Longest prompt"), Column("days", "Days"),
        Column("which_days", "Which (UTC)", "not known", wide=True),
        Column("evidence", "Where the evidence lies", "-", wide=True),
    )  # fmt: skip
    rows = tuple(_tenant(row) for row in table["rows"])
    yield Table(
        "tenants-details", "Tokens, days and evidence of each tenant", columns, rows, sortable=True, details=True
    )
    if table["more"]:
        yield Paragraph((f"{counted(table['more'], 'further tenant')} with fewer are not listed.",), "note")


def _tenant(row: Json) -> tuple[Cell, ...]:
    lines = len(row["evidence"]) + row["more_evidence"]
    first = ", ".join(row["evidence"][:LINES]) + (" ..." if lines > LINES else "")
    return (
        quoted(row["tenant"]), *(row[column.key] for column in _COUNTS), row["prompt_tokens_min"],
        row["prompt_tokens_max"], row["longest_prompt"], len(row["days"]), ", ".join(row["days"]) or None,
        quoted(f"{counted(lines, 'line')}: {first}" if lines else None),
    )  # fmt: skip
