"""How few and how many may it be, with no statistics at all?

What was counted, then the bounds: fewer where nothing tells two records apart, more for everything that the evidence leaves
open. The bounds are about what the logs in hand could hold; times that no log covers are another layer's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvforensics.estimate import Number

if TYPE_CHECKING:
    from kvforensics.counts import Counts
    from kvforensics.observed import InputReport

_UNKNOWN = (
    ("unknown_model", "on_model", "responses whose model or provider is not told"),
    ("unknown_time", "in_window", "responses whose start may lie inside or outside the window"),
    ("unknown_tokens", "over_threshold", "responses whose prompt length is not told or lies in the uncertain band"),
    ("unknown_answer", "served", "requests of which it is not told whether an answer was given"),
)


class Term(Struct, frozen=True):
    """One thing that widens a bound. `count` None leaves no bound. A response can be in several terms."""

    code: str
    bound: str
    count: int | None
    text: str


class WorstCase(Struct, frozen=True):
    """The bounds of responses and tenants, and what widens them."""

    responses: Number
    tenants: Number
    terms: tuple[Term, ...]


def bounds(
    counts: Counts, findings: pa.Table, inputs: Sequence[InputReport], pairs: Sequence[tuple[int, int]] | None,
    sightings: Sequence[tuple[str, bool]], *, aliased: bool,
) -> WorstCase:  # fmt: skip
    """The worst case.

    `pairs` are affected calls that may be one (None: too many to look at), `sightings` the affected tenants, each with
    whether only a key or user stands for it, `aliased` whether somebody told which of these are one.
    """
    terms = [*_lower_terms(counts, pairs, sightings, aliased=aliased), *_open(findings), *_read(counts, inputs)]
    fewer = sum(t.count or 0 for t in terms if t.code in ("may_be_one", "many_may_be_one"))
    more = _more(inputs)
    unbounded = any(t.bound == "upper" and t.count is None for t in terms)
    r, t = counts.responses, counts.tenants
    keyed = sum(t.count or 0 for t in terms if t.code == "keys_may_be_one_tenant")
    method = "counted; nothing is estimated"
    return WorstCase(
        Number(r.affected, r.affected - fewer, None if unbounded or r.upper is None else r.upper + more, method),
        Number(
            t.affected, min(t.lower, t.lower - keyed), None if unbounded or t.upper is None else t.upper + more, method
        ),
        tuple(terms),
    )


def _lower_terms(
    counts: Counts, pairs: Sequence[tuple[int, int]] | None, sightings: Sequence[tuple[str, bool]], *, aliased: bool
) -> Iterable[Term]:
    if pairs is None:
        lost = counts.responses.affected - 1
        yield Term(
            "many_may_be_one", "lower", lost, "affected records that nothing tells apart, too many to look at in pairs"
        )
    elif pairs and (merged := may_be_fewer(pairs)):
        yield Term(
            "may_be_one", "lower", merged, "affected records that may be another record of a response already counted"
        )
    keyed = sum(by_key for _, by_key in sightings)
    if not aliased and keyed:
        lost = keyed - (keyed == len(sightings))
        text = "tenants that only a key or user stands for: several may be one (an alias file tells)"
        yield Term("keys_may_be_one_tenant", "lower", lost, text)


def may_be_fewer(pairs: Sequence[tuple[int, int]]) -> int:
    """By how many at the most the calls of these pairs shrink where each pair may be one call.

    A set of calls in which no two may be one are that many different calls; such a set is found greedily, fewest pairs first.
    """
    near: dict[int, set[int]] = {}
    for one, other in pairs:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    taken: set[int] = set()
    for call in sorted(near, key=lambda c: (len(near[c]), c)):
        if not near[call] & taken:
            taken.add(call)
    return len(near) - len(taken)


def _open(findings: pa.Table) -> Iterable[Term]:
    possible = findings.filter(pc.equal(findings["disposition"], "possible"))
    for code, part, text in _UNKNOWN:
        if count := possible[part].null_count:
            yield Term(code, "upper", count, text)


def _read(counts: Counts, inputs: Sequence[InputReport]) -> Iterable[Term]:
    if counts.replays:
        yield Term("replays", "upper", counts.replays, "answers that a response cache handed out again")
    if counts.guessed_duplicates:
        text = "likely duplicates that no id proves, kept apart"
        yield Term("guessed_duplicates", "upper", counts.guessed_duplicates, text)
    candidates = [i for i in inputs if _candidate(i)]
    if rejected := sum(i.rejected for i in candidates):
        yield Term(
            "rejected_lines", "upper", rejected, "lines that could not be read, each of which may be one request"
        )
    if stumps := sum(i.stumps for i in candidates):
        yield Term("stumps", "upper", stumps, "lines of no format that look like what is left of a record")
    if any(i.broken for i in inputs):
        names = _names(i.source for i in inputs if i.broken)
        yield Term(
            "not_read_to_the_end",
            "upper",
            None,
            f"what follows in sources that could not be read to their end: {names}",
        )
    if skipped := [i.source for i in inputs if any(p.startswith("skipped") for p in i.problems)]:
        yield Term("not_read", "upper", None, f"sources that were not read: {_names(skipped)}")
    if foreign := [i.source for i in inputs if not i.understood and i.mentions_model_in_rejects]:
        yield Term(
            "not_understood", "upper", None, f"sources that were not understood and name the model: {_names(foreign)}"
        )
    if counts.responses.upper is None:
        yield Term("sampled", "upper", None, "requests that a sampled log left out and no complete log has")


def _more(inputs: Sequence[InputReport]) -> int:
    return sum(i.rejected + i.stumps for i in inputs if _candidate(i))


def _candidate(report: InputReport) -> bool:
    """Whether a source can hold requests: sums cannot, and what is not understood is a term of its own."""
    return report.understood and not report.aggregates


def _names(sources: Iterable[str]) -> str:
    names = sorted(sources)
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
