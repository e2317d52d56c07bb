"""How are numbers, instants and findings put in words?

Used wherever people read. Nothing here escapes: each medium does.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.plural import counted
from kvforensics.telling.unsure import why_unsure

Json = Mapping[str, Any]
DISPOSITIONS = {
    "affected": "Affected", "possible": "Possibly affected", "replay": "Replay from a cache", "excluded": "Excluded",
    "duplicate": "Duplicate",
}  # fmt: skip
PARTS = {
    "on_model": "whether the affected model answered",
    "in_window": "whether it started inside the window",
    "over_threshold": "whether the prompt was over the threshold",
    "served": "whether an answer was given",
}
OUTSIDE = {
    "on_model": "another model",
    "in_window": "outside the window",
    "over_threshold": "prompt not over the threshold",
    "served": "no answer given",
}


UNBOUNDED = "Hours without evidence bound nothing: these numbers are of what was read."


def bounds(counts: Json, *, of_all: bool = True) -> str:
    """The bounds `lower` and `upper`, of which the upper may be unknown; not `of_all` where they are of what was read."""
    lower, upper = counts["lower"], counts["upper"]
    if upper is None:
        return f"at least {lower:,}, no upper bound"
    whole = "in all" if of_all else "in what was read"
    return f"{lower:,} {whole}" if lower == upper else f"between {lower:,} and {upper:,}"


CLEARED = "Sums over all requests clear what no whole log covers of the window"


def cleared_by_sums(coverage: Json) -> bool:
    """Whether the window is covered although no log covers it whole and nobody asserts that the logs are complete."""
    logs = coverage.get("logs")
    if not coverage["window_covered"] or coverage.get("assumed") or logs is None:
        return False
    return not any(log["window_covered"] for log in logs)


def rounded(number: float | None) -> int | float | None:
    """A number to one decimal, without one where it is whole."""
    if number is None:
        return None
    return int(number) if float(number).is_integer() else round(float(number), 1)


def short(text: str) -> str:
    """An RFC 3339 instant without zeros at the end of its fraction."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


def start(finding: Json) -> str:
    """When a finding's request started, as far as is known."""
    earliest, latest = (instant(finding[key]) for key in ("started_earliest", "started_latest"))
    if earliest is None or latest is None:
        return "not known"
    if earliest[:19] == latest[:19]:
        return short(earliest)
    return f"{earliest[:19]}Z to {latest[:19]}Z"


def tokens(finding: Json) -> str | None:
    """How long the prompt was, in tokens; None where nothing is known."""
    low, high = finding["prompt_tokens_min"], finding["prompt_tokens_max"]
    if low is None and high is None:
        return None
    if low == high:
        return f"{low:,}"
    if high is None:
        return f"at least {low:,}"
    return f"{low or 0:,} to {high:,}"


def why(finding: Json, incident: Incident | None) -> str:
    """What the disposition rests on; `incident` where it is known, for what it leaves open itself."""
    unknown = [text for part, text in PARTS.items() if finding["parts"][part] is None]
    if finding["disposition"] == "replay":
        return "a cache handed out an earlier answer again"
    if not unknown:
        return "all four parts hold"
    basis = "; ".join(why_unsure(finding, incident))
    details = f" ({basis})" if basis else ""
    return f"not known: {', '.join(unknown)}{details}"


def answer(summary: Json) -> str:
    """The verdict in one sentence, without the name of the incident."""
    responses, tenants = summary["responses"], summary["tenants"]
    if summary["verdict"] == "exposed":
        return (
            f"{counted(responses['affected'], 'response')} to {counted(tenants['affected'], 'tenant')} came from the "
            "affected model, inside the exposure window, to a prompt over the threshold"
        )
    if summary["verdict"] == "possibly_exposed":
        flagged = responses["possible"] + summary["replays"]
        return f"No response is known to be affected, but {counted(flagged, 'response')} may be"
    if summary["verdict"] == "not_exposed":
        if cleared_by_sums(summary["coverage"]):
            return f"{CLEARED}, and no response in the logs was affected"
        return "The logs cover the whole exposure window and no response in them was affected"
    return "Nothing is flagged, but the logs cannot rule an exposure out"


def instant(value: object) -> str | None:
    """An instant as RFC 3339: findings come as documents, as microseconds or as typed rows."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return rfc3339(value, precise=True) if isinstance(value, int) else value if isinstance(value, str) else None
