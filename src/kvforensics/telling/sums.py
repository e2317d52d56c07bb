"""What do sums over several requests prove?

Shows the aggregates of a case's estimate: which times they clear, and how many prompts the others can hold at the most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvforensics.page import Block, Cell, Column, Paragraph, Section, Table, quoted, stored
from kvforensics.telling.wording import rounded

Json = Mapping[str, Any]


def section(estimate: Json) -> Section | None:
    """The section; None where no log of sums was read."""
    sums = estimate.get("aggregates")
    return Section("sums", "Sums over time", tuple(_blocks(sums))) if sums else None


def _blocks(sums: Sequence[Json]) -> Iterator[Block]:
    yield Paragraph((
        "Some logs tell only sums of several requests. Such a sum flags no request, but it can prove that none in it was "
        "over the threshold: that time is cleared. Any other sum holds at most as many as its tokens allow.",
    ))  # fmt: skip
    columns: tuple[Column, ...] = (
        Column("log", "Log", wide=True), Column("buckets", "Sums"), Column("first", "First (UTC)", "-"),
        Column("last", "Last (UTC)", "-"), Column("hours", "Hours of the window cleared"),
        Column("whole", "Whole window"), Column("at_most", "Over the threshold elsewhere, at most", "no bound"),
        Column("kind", "Actual or estimate"), Column("method", "Method", wide=True),
        Column("assumption", "Takes for granted", "nothing", wide=True),
    )  # fmt: skip
    yield Table("sums-logs", "Logs of sums", columns, tuple(_log(s) for s in sums))
    cleared = tuple((quoted(s["log"]), c["from"], c["until"]) for s in sums for c in s["cleared"])
    if cleared:
        columns = (Column("log", "Log", wide=True), Column("from", "From (UTC)"), Column("until", "Until (UTC)"))
        yield Table("sums-cleared", "Times in which sums prove that no prompt was over the threshold", columns, cleared,
                    details=True)  # fmt: skip
    over = tuple(_over(s["log"], bucket) for s in sums for bucket in s["over"])
    if over:
        columns = (
            Column("log", "Log", wide=True), Column("from", "From (UTC)"), Column("until", "Until (UTC)"),
            Column("tokens", "Tokens"), Column("requests", "Requests"),
            Column("at_most", "Over the threshold, at most", "no bound"),
        )  # fmt: skip
        yield Table("sums-over", "Sums that can hold a prompt over the threshold", columns, over, details=True)
    more = sum(s["more_over"] for s in sums)
    if more:
        yield Paragraph((f"{more:,} further {'sum is' if more == 1 else 'sums are'} not listed.",), "note")


def _log(told: Json) -> tuple[Cell, ...]:
    at_most = told["at_most"]
    return (
        quoted(told["log"]), told["buckets"], told["first"], told["last"], rounded(told["hours_cleared"]),
        "cleared" if told["window_cleared"] else "not cleared", rounded(at_most["upper"]), at_most["kind"],
        stored(at_most["method"]), stored(at_most["assumption"]),
    )  # fmt: skip


def _over(log: str, bucket: Json) -> tuple[Cell, ...]:
    return (quoted(log), bucket["from"], bucket["until"], bucket["tokens"], bucket["requests"], bucket["at_most"])
