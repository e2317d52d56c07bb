"""Of each earlier tenant: how many answers of others had its text in reach, and which of its requests were it?

Answers to the tenant itself are left out. Where the receiver is not told, the answer may be its own: it counts at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from kvforensics.engine.decode_log import RankLog
from kvforensics.engine.exposure import Exposed, Replayed, Share
from kvforensics.instant import rfc3339

MOST_REQUESTS = 1_000
"""Requests of one tenant that are listed, those with the most rows in reach first."""


class _Rows(Struct):
    """Rows in reach of how many answers, with the sums of the ends of their intervals."""

    answers: int = 0
    low: float = 0.0
    rows: float = 0.0
    high: float = 0.0

    def add(self, share: Share) -> None:
        self.answers += 1
        self.low += share.low
        self.rows += share.rows
        self.high += share.high

    def document(self) -> dict[str, int]:
        return {"rows_low": round(self.low), "rows": round(self.rows), "rows_high": round(self.high)}


class _Source(Struct):
    at_most: int = 0
    likely: int = 0
    requests_at_most: int = 0
    all: _Rows = field(default_factory=_Rows)
    requests: dict[tuple[int, int], _Rows] = field(default_factory=dict)


def sources(ranks: Sequence[RankLog], replayed: Sequence[Replayed]) -> Iterator[dict[str, Any]]:
    """One object for each tenant in the superset of an answer to somebody else, those that are not told last."""
    found: dict[str | None, _Source] = {}
    for log, one in zip(ranks, replayed, strict=True):
        for exposed in one.exposed:
            _take(found, log.tenant(exposed.request), exposed)
        for tenant, count in _earlier(log, one.exposed):
            if tenant in found:
                found[tenant].requests_at_most += count
    for tenant in sorted(found, key=lambda name: (name is None, name or "")):
        yield _document(tenant, found[tenant], ranks)


def _take(found: dict[str | None, _Source], receiver: str | None, exposed: Exposed) -> None:
    def another(tenant: str | None) -> bool:
        return tenant is None or tenant != receiver

    for tenant in exposed.earlier_tenants:
        if another(tenant):
            found.setdefault(tenant, _Source()).at_most += 1
    for share in exposed.tenants:
        # The replay finds nobody who is not in the superset.
        if share.seen > 0 and another(share.tenant) and share.tenant in found:
            source = found[share.tenant]
            source.all.add(share)
            source.likely += share.low > 0 and receiver is not None and share.tenant is not None
    for share in exposed.requests:
        if share.seen > 0 and another(share.tenant) and share.tenant in found and share.request is not None:
            place = (exposed.rank, share.request)
            found[share.tenant].requests.setdefault(place, _Rows()).add(share)


def _earlier(log: RankLog, exposed: Sequence[Exposed]) -> Iterator[tuple[str | None, int]]:
    """How many requests of each tenant took pages before an answer to somebody else did."""
    if not exposed:
        return
    latest = log.end_high - log.span_low
    readers = np.array([e.request for e in exposed])
    limit = np.full(len(log.tenants), latest[readers].max())
    last = int(log.owner[readers[np.argmax(latest[readers])]])
    if log.tenants[last] is not None:
        others = readers[log.owner[readers] != last]
        limit[last] = latest[others].max() if len(others) else -np.inf
    here = log.end_low - log.span_high <= limit[log.owner]
    counts = np.bincount(log.owner[here], minlength=len(log.tenants))
    yield from zip(log.tenants, counts.tolist(), strict=True)


def _document(tenant: str | None, source: _Source, ranks: Sequence[RankLog]) -> dict[str, Any]:
    order = sorted(source.requests.items(), key=lambda item: (-item[1].rows, item[0]))
    return {
        "tenant": tenant,
        "answers_likely": source.likely,
        "answers_in_replay": source.all.answers,
        "answers_at_most": source.at_most,
        **source.all.document(),
        "requests_at_most": source.requests_at_most,
        "requests_in_replay": len(order),
        "requests": [_request(ranks[rank], at, rows) for (rank, at), rows in order[:MOST_REQUESTS]],
    }


def _request(log: RankLog, at: int, rows: _Rows) -> Mapping[str, Any]:
    ends = (rfc3339(int(log.end_low[at])), rfc3339(int(log.end_high[at]))) if log.utc else (None, None)
    return {
        "rid": log.rid[at], "bootstrap_room": log.room[at], "ended_earliest": ends[0], "ended_latest": ends[1],
        "prompt_tokens": int(log.prompt[at]), "answers": rows.answers, **rows.document(),
    }  # fmt: skip
