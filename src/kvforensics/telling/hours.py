"""Which hours of the window have evidence, log by log and node by node, and where are the gaps?

Shows the coverage of a case's estimate, gap by gap, with its edges and what found it. What no log covers at all is told
beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.page import Block, Cell, Column, Paragraph, Table, quoted, stored
from kvforensics.plural import counted

Json = Mapping[str, Any]
DETECTORS = {
    "silence": "silent against its own habit",
    "before": "no record yet",
    "after": "no record any more",
    "log_names": "no file is named for it",
}


def hours(coverage: Json) -> Iterator[Block]:
    """The blocks. `coverage` is the object of that name in the estimate."""
    window = coverage["window_hours"]
    yield Paragraph((
        f"{coverage['hours_with_evidence']:,} of {counted(window, 'hour')} of the window have a record in at least one log.",
    ))  # fmt: skip
    columns: tuple[Column, ...]
    entries = [("log", e) for e in coverage["sources"]] + [("node", e) for e in coverage["nodes"]]
    if entries:
        columns = (
            Column("name", "Log or node", wide=True), Column("kind", "Kind"), Column("files", "Files"),
            Column("records", "Records"), Column("hours", "Hours of the window"), Column("first", "First record (UTC)", "-"),
            Column("last", "Last record (UTC)", "-"), Column("gaps", "Gaps"),
        )  # fmt: skip
        rows = tuple(
            (quoted(e["name"]), kind, e["files"], e["records"], f"{e['hours']:,} of {window:,}", e["first"], e["last"],
             len(e["gaps"]) + e["more_gaps"])
            for kind, e in entries
        )  # fmt: skip
        yield Table("coverage-hours", "Hours with records, by log and by node", columns, rows, details=True)
    yield from _left_out(
        coverage["more_sources"] + coverage["more_nodes"], "further log or node", "further logs or nodes"
    )
    gaps = tuple(_gap(kind, e, gap) for kind, e in entries for gap in e["gaps"])
    if gaps:
        columns = (
            Column("name", "Log or node", wide=True), Column("kind", "Kind"), Column("from", "From (UTC)"),
            Column("until", "Until (UTC)"), Column("minutes", "Minutes"), Column("found", "What was found"),
            Column("detail", "Why it counts as a gap", wide=True),
        )  # fmt: skip
        yield Table("coverage-silences", "Gaps of single logs and nodes", columns, gaps, details=True)
    yield from _left_out(sum(e["more_gaps"] for _, e in entries), "further gap", "further gaps")
    if coverage["sequence_holes"]:
        columns = (
            Column("pattern", "Names like", wide=True),
            Column("missing", "Missing", wide=True),
            Column("count", "How many"),
        )
        holes = tuple(
            (quoted(h["pattern"]), quoted(", ".join(h["missing"])), len(h["missing"]) + h["more"])
            for h in coverage["sequence_holes"]
        )
        yield Table("coverage-missing", "Files and nodes that are missing from a row of names", columns, holes)


def _gap(kind: str, entry: Json, gap: Json) -> tuple[Cell, ...]:
    found = DETECTORS.get(gap["detector"])
    return (
        quoted(entry["name"]), kind, gap["from"], gap["until"], gap["minutes"],
        found or quoted(gap["detector"]), stored(gap["detail"]),
    )  # fmt: skip


def _left_out(count: int, one: str, many: str) -> Iterator[Block]:
    if count:
        yield Paragraph(
            (f"{count:,} {one if count == 1 else many} {'is' if count == 1 else 'are'} not listed.",), "note"
        )
