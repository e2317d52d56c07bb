"""Whose data was in the reach of each affected response, how much of it, and how sure is that?

Replays each decode rank many times, each time with one of the schedules that its log allows, and keeps for each response
and each earlier tenant how many rows it could have read. What a page holds is exposure, not disclosure: a model may have
used few of those rows. The safe superset does not rest on the replay: every request that took pages on the same rank
before, since the process started.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvforensics.engine.decode_log import RankLog
from kvforensics.engine.pages import Floats, replay
from kvforensics.workers import count, pool

DRAWS = 24
FEW_DRAWS = 5
WORK = 1_500_000
"""Requests that are replayed in all draws together, before fewer draws are made."""
PARALLEL_FROM = 20_000
"""Requests below which several processes cost more than they save."""
INSIDE = 0.9
MARGIN = 0.01
"""Added to both ends of an interval, as a share of the rows: what the order inside one decode step can move."""
COARSE_MARGIN = 0.05
"""The same where ends are known to the second only, the log lacks requests (one shifts all behind it), or draws are few."""
COARSE = 100_000.0
STAMP = 1_000_000.0
SEED = 20260909


class Share(Struct, frozen=True):
    """Rows of one earlier tenant (or of one earlier request) in reach: the middle and the ends of the 90 % interval.

    `seen` is the share of the draws in which there were any. `tenant` is None where the logs do not name one; `request`
    is the place of the request in its rank's log, None for a tenant.
    """

    tenant: str | None
    request: int | None
    rows: float
    low: float
    high: float
    seen: float


class Exposed(Struct, frozen=True):
    """One affected response. `rows` are all stale rows in its reach; `nobody` those of pages that were never written."""

    rank: int
    request: int
    rows: int
    nobody: float
    tenants: tuple[Share, ...]
    requests: tuple[Share, ...]
    earlier: int
    """How many requests are in the safe superset."""
    earlier_tenants: tuple[str | None, ...]


class Replayed(Struct, frozen=True):
    """One rank: its affected responses, and how whole its log is (None where nothing tells)."""

    rank: int
    exposed: tuple[Exposed, ...]
    draws: int
    shortfalls: float
    completeness: float | None


class Memory(Struct, frozen=True):
    """The memory of one rank: tokens in its pool, and tokens in a page."""

    pool_tokens: int
    page_size: int


def replay_ranks(
    ranks: Sequence[RankLog], memories: Sequence[Memory], *, draws: int | None = None, workers: int = 1
) -> list[Replayed]:
    """The exposure of every rank, each with its memory."""
    total = sum(len(r) for r in ranks if r.stale.any())
    times = draws if draws is not None else int(min(DRAWS, max(1, WORK // max(total, 1))))
    # Ids are many bytes, and the replay does without them.
    slim = (replace(r, rid=r.rid.clear(), room=r.room.clear()) for r in ranks)
    tasks = [(number, *one, times) for number, one in enumerate(zip(slim, memories, strict=True))]
    hit = sum(bool(r.stale.any()) for r in ranks)
    if count(workers) > 1 and total > PARALLEL_FROM and hit > 1:
        with pool(min(count(workers), hit)) as processes:
            return list(processes.map(_one, tasks))
    return [_one(task) for task in tasks]


def _one(task: tuple[int, RankLog, Memory, int]) -> Replayed:
    number, rank, memory, draws = task
    page = memory.page_size
    whole = _completeness(rank)
    if not rank.stale.any():
        return Replayed(number, (), 0, 0.0, whole)
    readers = np.flatnonzero(rank.stale)
    counts: dict[int, dict[int, Floats]] = {int(reader): {} for reader in readers}
    shortfalls = 0
    for draw in range(draws):
        chance = None if draw == 0 else np.random.default_rng([SEED, number, draw])
        reads = replay(rank.drawn(chance), memory.pool_tokens, page)
        shortfalls += reads.shortfalls
        for reader, writer, rows in zip(reads.reader.tolist(), reads.writer.tolist(), reads.rows.tolist(), strict=True):
            mine = counts[reader]
            if writer not in mine:
                mine[writer] = np.zeros(draws)
            mine[writer][draw] = rows
    coarse = (
        float((rank.end_high - rank.end_low).max()) > COARSE or (whole is not None and whole < 1) or draws < FEW_DRAWS
    )
    margin = COARSE_MARGIN if coarse else MARGIN
    earlier = Earlier.on(rank)
    exposed = tuple(_exposed(number, reader, rank, mine, earlier, page, margin) for reader, mine in counts.items())
    return Replayed(number, exposed, draws, shortfalls / draws, whole)


class Earlier(Struct, frozen=True):
    """Who took pages on a rank before whom: the safe superset. Taking them decides; what is in doubt stays in it.

    `began` is when each request can have taken its pages at the earliest, sorted; `first` and `second` are the earliest of
    each tenant. `latest` is when each request took them at the latest.
    """

    rank: RankLog
    began: Floats
    first: Floats
    second: Floats
    latest: Floats

    @classmethod
    def on(cls, rank: RankLog) -> Earlier:
        """The superset of a rank."""
        began = rank.end_low - rank.span_high
        order = np.lexsort((began, rank.owner))
        owners, times = rank.owner[order], began[order]
        place = np.searchsorted(owners, np.arange(len(rank.tenants)))
        following = np.minimum(place + 1, len(times) - 1)
        alone = owners[following] != np.arange(len(rank.tenants)) if len(times) else np.empty(0, np.bool_)
        second = np.where(alone | (following == place), np.inf, times[following])
        return cls(rank, np.sort(began), times[place], second, rank.end_high - rank.span_low)

    def requests(self, reader: int) -> int:
        """How many requests of the rank are in the superset of a response."""
        # A response is in its own count, as nobody begins later than at the latest.
        return int(np.searchsorted(self.began, self.latest[reader], "right")) - 1

    def tenants(self, reader: int) -> tuple[str | None, ...]:
        """The tenants in the superset, with those that are not told last."""
        own = self.rank.owner[reader]
        began = self.first.copy()
        if self.rank.end_low[reader] - self.rank.span_high[reader] <= began[own]:
            began[own] = self.second[own]
        names = [self.rank.tenants[i] for i in np.flatnonzero(began <= self.latest[reader])]
        return tuple(sorted(names, key=lambda n: (n is None, n or "")))


def _exposed(
    number: int,
    reader: int,
    rank: RankLog,
    mine: dict[int, Floats],
    earlier: Earlier,
    page: int,
    margin: float,
) -> Exposed:
    total = int(rank.prompt[reader]) - min(page, int(rank.prompt[reader]))
    by_tenant: dict[str | None, Floats] = {}
    for writer, rows in mine.items():
        if writer >= 0:
            tenant = rank.tenant(writer)
            by_tenant[tenant] = by_tenant.get(tenant, np.zeros(len(rows))) + rows
    tenants = [_share(tenant, None, rows, total, margin) for tenant, rows in by_tenant.items()]
    requests = [_share(rank.tenant(w), w, rows, total, margin) for w, rows in mine.items() if w >= 0]
    nobody = mine.get(-1)
    return Exposed(
        rank=number,
        request=reader,
        rows=total,
        nobody=float(nobody.mean()) if nobody is not None else 0.0,
        tenants=tuple(sorted(tenants, key=lambda s: (-s.rows, s.tenant or ""))),
        requests=tuple(sorted(requests, key=lambda s: (-s.rows, s.request or 0))),
        earlier=earlier.requests(reader),
        earlier_tenants=earlier.tenants(reader),
    )


def _share(tenant: str | None, request: int | None, rows: Floats, total: int, margin: float) -> Share:
    few = (1 - INSIDE) / 2
    low, high = np.quantile(rows, [few, 1 - few])
    return Share(
        tenant=tenant,
        request=request,
        rows=float(rows.mean()),
        low=max(0.0, float(low) - margin * total),
        high=min(float(total), float(high) + margin * total),
        seen=float((rows > 0).mean()),
    )


def _completeness(rank: RankLog) -> float | None:
    """The running requests that the log explains, of those that the rank itself counted."""
    told = int(rank.counted.sum())
    if not told:
        return None
    middle = (rank.end_low + rank.end_high) / 2
    ends, begins = np.sort(middle), np.sort(middle - rank.decoding)
    # The stamp is cut to the second: whoever ran in any part of it may have been counted.
    here = np.searchsorted(begins, rank.counted_at + STAMP, "right") - np.searchsorted(ends, rank.counted_at, "left")
    return float(np.minimum(rank.counted, np.maximum(here, 0)).sum()) / told
