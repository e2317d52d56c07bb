"""What may lie beyond everything that was seen?

Two ways that rest on what nothing in a log can show, so each is asked for, and neither is part of another number: gaps
that are like the rest of the window, and two logs that miss calls independently.
"""

from __future__ import annotations

from typing import Any

from kvforensics.catalog import query
from kvforensics.counts import Counts
from kvforensics.estimate import Number, Stratum, chapman, told, totals
from kvforensics.sampling import Sampled
from kvforensics.store import Store
from kvforensics.worst_case import WorstCase

Json = dict[str, Any]


def scaled(counts: Counts, sampled: Sampled, worst: WorstCase, share: float) -> Json:
    """The counts as they would be if the gaps were like the rest; `share` of the window has evidence."""
    found = counts.responses
    flagged = found.upper if found.upper is not None else found.affected + found.possible
    strata = sampled.strata or (Stratum(1.0, found.affected, flagged),)
    assumed = "affected responses fall evenly over the window, and gaps are no busier or quieter than the rest"
    method = f"scaled over gaps: {share:.4f} of the window has evidence; exact binomial inversion at 95 %"
    if share <= 0:
        nothing = Number(None, found.affected, None, "nothing of the window has evidence", assumed, estimated=True)
        return {"share_covered": 0.0, "responses": told(nothing), "tenants": told(nothing)}
    result = totals([Stratum(s.rate * share, s.sure, s.flagged) for s in strata])
    responses = Number(result.value, result.lower, result.upper, method, assumed, estimated=True)
    tenants = Number(
        None, worst.tenants.lower, None if counts.tenants.upper is None
        else counts.tenants.upper + result.upper - sum(s.flagged for s in strata),
        "observed tenants, and one more for every response that gaps may hide", assumed, estimated=True,
    )  # fmt: skip
    return {"share_covered": round(share, 6), "responses": told(responses), "tenants": told(tenants)}


def two_sources(store: Store, sides: tuple[str, str], *, independent: bool) -> Json:
    """What two logs of the same traffic say about what both missed. The relation `sides` says which sources are which."""
    row = store.run(query("316_two_sources")).to_pylist()[0]
    value, low, high = chapman(row["in_first"], row["in_second"], row["in_both"])
    union = row["in_first"] + row["in_second"] - row["in_both"]
    if independent:
        assumed = (
            "stated by the person who ran this: both logs hold the same traffic, and each missed calls independently"
        )
        # Without a single match the overlap bounds nothing from above.
        upper = high if row["in_both"] else None
        method = "Chapman's estimator on matched ids, hypergeometric inversion at 95 %"
        found = Number(value, max(low, union), upper, method, assumed, estimated=True)
    else:
        assumed = "both logs hold the same traffic; logs that miss the same calls make the estimate too low"
        found = Number(
            value, union, None, "Chapman's estimator on matched ids, a lower bound", assumed, estimated=True
        )  # fmt: skip
    return {
        "first": sides[0], "second": sides[1], **row, "assumed_independent": independent,
        "responses": told(found),
    }  # fmt: skip
