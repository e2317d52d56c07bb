"""Does what was found agree with the figure that the provider published, and if not, what could explain it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kvforensics.counts import Counts
from kvforensics.estimate import Number
from kvforensics.incident import Incident
from kvforensics.plural import counted
from kvforensics.sensitivity import Variation
from kvforensics.worst_case import WorstCase

Json = dict[str, Any]
_EXPLAINED = ("threshold_at_band", "without_assumed_zones")


def agreement(
    incident: Incident, counts: Counts, worst: WorstCase, sampled: Number | None, dark_us: int,
    variations: Sequence[Variation],
) -> Json | None:  # fmt: skip
    """The object `published` of the estimate; None where the incident file has no figure.

    Compared with the interval under sampling where there is one, else with the worst case.
    """
    figure = incident.published_affected_responses
    if figure is None:
        return None
    held = sampled or worst.responses
    lower, upper = held.lower, held.upper
    inside = (lower is None or lower <= figure) and (upper is None or figure <= upper)
    found = counts.responses.affected
    reasons = [] if found == figure else list(_reasons(figure, counts, worst, dark_us, variations))
    return {
        "affected_responses": figure,
        "inside": inside,
        "compared_with": "sampling" if sampled else "worst_case",
        "lower": lower,
        "upper": upper,
        "reasons": [{"code": code, "text": text} for code, text in reasons],
    }


def _reasons(
    figure: int, counts: Counts, worst: WorstCase, dark_us: int, variations: Sequence[Variation]
) -> Iterator[tuple[str, str]]:
    found = counts.responses.affected
    if found < figure:
        yield (
            "part_of_the_traffic",
            "the published figure counts all customers; these logs may hold the traffic of a few",
        )
        if dark_us:
            yield "gaps", f"{dark_us / 3_600_000_000:.1f} hours of the window have no evidence in any log"
        for term in worst.terms:
            if term.bound == "upper":
                yield term.code, f"{term.text}: {'nobody knows how many' if term.count is None else f'{term.count:,}'}"
        if counts.excluded.records:
            yield "excluded", f"responses that exclusion rules took out: {counts.excluded.records:,}"
    else:
        if not counts.excluded.records:
            yield (
                "tests_not_excluded",
                "the published figure leaves out tests and researchers; no rule took any out here",
            )
        for term in worst.terms:
            if term.bound == "lower" and term.count:
                yield term.code, f"{term.text}: {term.count:,}"
    for variation in variations:
        number = variation.responses.affected
        if variation.code in _EXPLAINED and abs(number - figure) < abs(found - figure):
            yield variation.code, f"{variation.change}: then {counted(number, 'response')} would be affected"
