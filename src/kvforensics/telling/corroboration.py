"""What speaks for or against each finding, though it proves nothing?

Shows the corroboration of a case's estimate, findings that contradict the incident first and marked as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.page import Block, Cell, Column, Paragraph, Section, Table, quoted
from kvforensics.plural import counted
from kvforensics.telling.wording import DISPOSITIONS, rounded

Json = Mapping[str, Any]
MARKS = {
    "conclusive_speed": "answered so soon that the prompt cannot have been read",
    "implausible_speed": "answered sooner than the prompt is likely to have been read",
    "took_a_full_prefill": "took as long as reading the whole prompt",
    "no_cached_tokens": "no token of the prompt came from a cache",
}
_BASES = {"first_token": "first token", "duration": "whole duration"}
_COLUMNS = (
    Column("record", "Record", wide=True), Column("finding", "Finding"), Column("contradicts", "For or against", "-"),
    Column("marks", "What it shows", "-", wide=True), Column("speed", "Tokens a second"), Column("basis", "Measured by", "-"),
    Column("first_token_ms", "First token (ms)"), Column("duration_ms", "Duration (ms)"),
    Column("cached_tokens", "Cached tokens"), Column("completion_tokens", "Answer tokens"),
    Column("response_bytes", "Answer bytes"), Column("finish_reason", "Finish reason"),
)  # fmt: skip


def section(estimate: Json) -> Section | None:
    """The section; None where no finding is flagged, or an older version made the case."""
    told = estimate.get("corroboration")
    if not told or not told["findings"]:
        return None
    return Section("corroboration", "For and against each finding", tuple(_blocks(told)))


def _blocks(told: Json) -> Iterator[Block]:
    yield Paragraph((
        "Whether an answer came sooner than its prompt can be read, and what else its record says. None of this is counted "
        "as proof, and none of it changes a number. A long duration alone contradicts nothing: a long answer takes long to "
        "write.",
    ))  # fmt: skip
    rate, seen = told["believable_tokens_per_second"], counted(told["believable_from"], "record")
    yield Paragraph((
        f"The fastest believable reading speed in these logs is {rate:,.0f} tokens a second, from {seen}." if rate else
        f"How fast prompts are read is not known from these logs ({seen} would tell), so speeds are shown without a judgement.",
    ))  # fmt: skip
    against = sum(f["contradicts"] for f in told["findings"])
    if against:
        yield Paragraph((
            f"{counted(against, 'finding')} {'contradicts' if against == 1 else 'contradict'} the incident: the first token "
            "took as long as reading the whole prompt would. Look at them first.",
        ))  # fmt: skip
    if told["counts"]:
        columns = (Column("mark", "What the records show", wide=True), Column("count", "Findings"))
        rows = tuple((_mark(mark), n) for mark, n in told["counts"].items())
        yield Table("corroboration-marks", "What speaks for or against, counted", columns, rows)
    found = sorted(told["findings"], key=lambda f: not f["contradicts"])
    yield Table("corroboration-findings", "Findings and what their records show", _COLUMNS, tuple(map(_row, found)),
                sortable=True, details=True)  # fmt: skip
    if told["more"]:
        yield Paragraph(
            (f"{counted(told['more'], 'further finding')} {'is' if told['more'] == 1 else 'are'} not listed.",), "note"
        )


def _row(finding: Json) -> tuple[Cell, ...]:
    speaks = "CONTRADICTS" if finding["contradicts"] else "supports" if _fast(finding) else None
    return (
        quoted(f"{finding['source']}:{finding['line']}"), DISPOSITIONS.get(finding["disposition"], "Unknown kind"), speaks,
        "; ".join(_mark(mark) for mark in finding["marks"]) or None,
        rounded(finding["tokens_per_second"]), _BASES.get(finding["speed_basis"]),
        rounded(finding["first_token_ms"]), rounded(finding["duration_ms"]),
        finding["cached_tokens"], finding["completion_tokens"], finding["response_bytes"], quoted(finding["finish_reason"]),
    )  # fmt: skip


def _fast(finding: Json) -> bool:
    return any(mark in finding["marks"] for mark in ("conclusive_speed", "implausible_speed"))


def _mark(mark: str) -> str:
    return MARKS.get(mark, mark.replace("_", " "))
