"""How is it told what sums over several requests prove?"""

from __future__ import annotations

from typing import Any

from kvforensics.estimate import Number, told
from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.sums import Bucket, SumBounds, SumLog, bound

MOST_BUCKETS = 500
Json = dict[str, Any]


def bounded(log: SumLog, incident: Incident) -> SumBounds:
    """What a log of sums proves about the window of an incident."""
    return bound(
        log,
        start_us=incident.start_us,
        until_us=incident.uncertain_until_us,
        over=incident.prompt_tokens_over,
        max_request_us=incident.max_request_us,
    )


def shown(found: SumBounds, incident: Incident) -> Json:
    """One object of `aggregates` in the estimate."""
    cleared = sum(b - a for a, b in found.cleared)
    window = incident.uncertain_until_us - incident.start_us
    at_most = Number(
        None, 0, found.at_most,
        "upper end for each sampled sum, exact binomial inversion" if found.estimated
        else f"tokens of each sum // {incident.prompt_tokens_over + 1:,}, or its number of requests",
        "sums hold all requests of the model that the log is about", estimated=found.estimated,
    )  # fmt: skip
    return {
        "log": found.log,
        "buckets": found.buckets,
        "sampled": found.estimated,
        "first": None if found.first_us is None else rfc3339(found.first_us),
        "last": None if found.last_us is None else rfc3339(found.last_us),
        "window_cleared": cleared == window,
        "hours_cleared": round(cleared / 3_600_000_000, 3),
        "cleared": [{"from": rfc3339(a), "until": rfc3339(b)} for a, b in found.cleared[:MOST_BUCKETS]],
        "at_most": told(at_most),
        "over": [_bucket(b) for b in found.over[:MOST_BUCKETS]],
        "more_over": max(0, len(found.over) - MOST_BUCKETS),
    }


def _bucket(bucket: Bucket) -> Json:
    return {
        "from": rfc3339(bucket.start_us),
        "until": rfc3339(bucket.until_us),
        "tokens": bucket.tokens,
        "requests": bucket.requests,
        "at_most": bucket.at_most,
    }
