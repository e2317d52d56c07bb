"""Which earlier request wrote the pages that a request was given, on one decode rank?

Replays the page allocator of an engine that does prefill and decode apart, as in `srt/mem_cache/allocator` of the released
SGLang packages 0.5.1 to 0.5.23: pages are taken from the front of an ascending free list; freed pages wait in a stage and
join it, sorted, only when a request might not fit. The content of a page is that of its last writer: a request that got no
keys and values writes its first page and what it generates, and leaves the rest as it was.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Pages = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
NOBODY = -1
MOST_GROWTH_EVENTS = 2_000_000
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Schedule:
    """What happened on one rank, one entry a request; times in microseconds on one clock.

    `allocated`: pages for the whole prompt were taken; `first`: decoding began; `finished`: pages were given back.
    `prompt` and `output` are in tokens; `stale` marks requests that got no keys and values.
    """

    allocated: Floats
    first: Floats
    finished: Floats
    prompt: Ints
    output: Ints
    stale: Flags

    def __len__(self) -> int:
        return len(self.prompt)


@dataclass(frozen=True, slots=True)
class Reads:
    """Rows of stale memory in the reach of each stale request: parallel columns. A writer of -1 is nobody (zeroes)."""

    reader: Ints
    writer: Ints
    rows: Ints
    shortfalls: int
    """How often the log had a request where no page was left: a measure of what the log does not show."""


class _Pool:
    """The free list of one rank. Who wrote each page is one array; no object is made for a page, and pages count from 0.

    A page is taken while its writer is alive. What a stale request holds was written by others, so `borrowed` marks it.
    """

    def __init__(self, pool_pages: int, page: int, requests: int) -> None:
        self.page = page
        self.nobody = requests
        self.gone: Flags = np.ones(requests + 1, np.bool_)
        self.writer: Pages = np.full(pool_pages, requests, np.int32)
        self.borrowed: Flags = np.zeros(pool_pages, np.bool_)
        self.lent: dict[int, Ints] = {}
        self.free: Ints = np.arange(pool_pages, dtype=np.int64)
        self.head = 0

    def merge(self) -> None:
        """Sort everything that nobody holds into the free list."""
        idle = self.gone[self.writer]
        if self.lent:
            idle &= ~self.borrowed
        self.free = np.flatnonzero(idle)
        self.head = 0

    def take(self, count: int, bound: int) -> Ints | None:
        """The next pages, None where there are not enough even after a merge."""
        if bound > len(self.free) - self.head:
            self.merge()
        if count > len(self.free) - self.head:
            return None
        taken = self.free[self.head : self.head + count]
        self.head += count
        return taken

    def write(self, pages: Ints, who: int) -> None:
        """Note the writer of pages; runs without a hole, which are common after a merge, cost little."""
        if len(pages) and pages[-1] - pages[0] == len(pages) - 1:
            self.writer[pages[0] : pages[-1] + 1] = who
        else:
            self.writer[pages] = who

    def lend(self, pages: Ints, who: int) -> None:
        """Give pages to a request that writes only the first one."""
        self.writer[pages[:1]] = who
        self.borrowed[pages[1:]] = True
        self.lent[who] = pages[1:]

    def end(self, who: int) -> None:
        """Give back everything that a request holds."""
        self.gone[who] = True
        if who in self.lent:
            self.borrowed[self.lent.pop(who)] = False

    def grow(self, owners: Pages, batch: int) -> int:
        """Give each owner one page in turn; the number that found none."""
        at, total = 0, len(owners)
        while at < total:
            # A decode step merges first where it might need a page for every running request.
            usable = len(self.free) - self.head - (batch if self.page > 1 else 0)
            if usable <= 0:
                self.merge()
                usable = len(self.free)
                if usable <= 0:
                    return total - at
            count = min(usable, total - at)
            taken = self.free[self.head : self.head + count]
            self.head += count
            self.writer[taken] = owners[at : at + count]
            at += count
        return 0


def replay(schedule: Schedule, pool_tokens: int, page: int) -> Reads:
    """Run a schedule through the allocator of a pool of `pool_tokens`, with pages of `page` tokens."""
    pool = _Pool(pool_tokens // page, page, len(schedule))
    times = np.concatenate([schedule.allocated, schedule.finished])
    order = np.argsort(times, kind="stable")
    owners, weights, upto = _growth(schedule, times[order], page)
    seen: list[tuple[int, Ints, Ints]] = []
    waiting: deque[int] = deque()
    short, grown, live, requests = 0, 0, 0, len(schedule)

    def admit(one: int) -> bool:
        tokens = int(schedule.prompt[one])
        count = -(-tokens // page)
        taken = pool.take(count, count if page == 1 else tokens // page + 2)
        if taken is None:
            return False
        pool.gone[one] = False
        if schedule.stale[one]:
            seen.append((one, *_stale_rows(pool.writer[taken[1:]], tokens, page)))
            pool.lend(taken, one)
        else:
            pool.write(taken, one)
        return True

    for start in range(0, len(order), _CHUNK):
        ends = upto[start : start + _CHUNK].tolist()
        for event, end in zip(order[start : start + _CHUNK].tolist(), ends, strict=True):
            if end > grown:
                taking = owners[grown:end] if weights is None else np.repeat(owners[grown:end], weights[grown:end])
                taking = taking[~pool.gone[taking]]
                short += pool.grow(taking, live)
                grown = end
            if event < requests:
                if waiting or not admit(event):
                    waiting.append(event)
                    short += 1
                else:
                    live += 1
                continue
            gone = event - requests
            if not pool.gone[gone]:
                pool.end(gone)
                live -= 1
            elif gone in waiting:
                waiting.remove(gone)
            while waiting and admit(waiting[0]):
                waiting.popleft()
                live += 1
    return _reads(seen, short, pool.nobody)


def _stale_rows(writers: Pages, tokens: int, page: int) -> tuple[Ints, Ints]:
    """Writers of the pages behind the first one, with the rows inside the prompt."""
    if not len(writers):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.full(len(writers), page, np.int64)
    rows[-1] = tokens - len(writers) * page
    who, place = np.unique(writers, return_inverse=True)
    return who.astype(np.int64), np.bincount(place, rows).astype(np.int64)


def _growth(schedule: Schedule, event_times: Floats, page: int) -> tuple[Pages, Ints | None, Ints]:
    """Who takes a page when, in order, and how many of these takings come before each event.

    Very many takings are put together to some at a time.
    """
    steps = np.maximum(schedule.output - 1, 0)
    begin = (-schedule.prompt) % page + 1
    counts = np.where(steps >= begin, (steps - begin) // page + 1, 0)
    together = max(1, -(-int(counts.sum()) // MOST_GROWTH_EVENTS))
    events = -(-counts // together)
    owner = np.repeat(np.arange(len(schedule), dtype=np.int32), events)
    place = np.arange(len(owner), dtype=np.int64) - np.repeat(np.cumsum(events) - events, events)
    step = begin[owner] + place * (page * together)
    span = schedule.finished - schedule.first
    when = schedule.first[owner] + span[owner] * (step / np.maximum(steps[owner], 1))
    order = np.argsort(when, kind="stable")
    upto = np.searchsorted(when[order], event_times, side="left")
    weights = None
    if together > 1:
        weights = np.minimum(counts[owner] - place * together, together)[order]
    return owner[order], weights, upto


def _reads(seen: list[tuple[int, Ints, Ints]], short: int, nobody: int) -> Reads:
    if not seen:
        nothing = np.empty(0, np.int64)
        return Reads(nothing, nothing, nothing, short)
    reader = np.concatenate([np.full(len(who), one, np.int64) for one, who, _ in seen])
    writer = np.concatenate([w for _, w, _ in seen])
    writer[writer == nobody] = NOBODY
    return Reads(reader, writer, np.concatenate([r for _, _, r in seen]), short)
