"""What does a responder read on the terminal about shared content? Scores, never text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvforensics.escape import terminal
from kvforensics.plural import counted

Json = Mapping[str, Any]
_RULED_OUT = "; the replay rules that tenant out, so not counted"


def content_text(document: Json) -> str:
    """Matches with their scores and the measured false-positive rate, then sightings of canaries."""
    lines: list[str] = []
    if (found := document["comparison"]) is not None:
        rate, left = found["false_positive_rate_at_most"], found["not_compared"]
        said = "not measured: no other answers in the evidence" if rate is None else f"at most {rate:.4%} (95 %)"
        lines += [
            f"{counted(len(found['matches']), 'match', 'matches')} in {counted(found['compared'], 'affected answer')}",
            f"false-positive rate {said}, {found['false_positives_among_controls']:,} of "
            f"{counted(found['controls'], 'control')}",
            f"not compared: {left['tenant_not_told']:,} without a tenant, "
            f"{left['answer_not_in_evidence']:,} without an answer",
        ]
        lines += [
            f"  {terminal(match['rid'])}: {terminal(match['tenant'])} <- {terminal(match['source_tenant'])}, "
            f"{match['shared']:,} rare sequences, {match['containment']:.1%} of the answer"
            f"{_RULED_OUT if match['in_superset'] is False else ''}"
            for match in found["matches"]
        ]
        lines += _openings(found["openings"])
    if (seen := document["canaries"]) is not None:
        lines.append(f"{counted(len(seen), 'canary', 'canaries')} in answers to others")
        for one in seen:
            receiver = "tenant not told" if one["tenant"] is None else terminal(one["tenant"])
            lines.append(f"  {terminal(one['canary'])} of {terminal(one['owner'])} in {terminal(one['rid'])}, {receiver}")
    return "\n".join(lines) + "\n"


def _openings(rows: Sequence[Json]) -> list[str]:
    """S11 confirms, and proves nothing."""
    said = []
    for row in rows:
        who = "affected answers" if row["affected"] else "other answers"
        said.append(
            f"S11: of {row['answers']:,} {who} {row['open_with_the_commonest']:,} open with the commonest first word of the "
            f"affected ones, {row['open_with_thinking']:,} with thinking"
        )
    return said
