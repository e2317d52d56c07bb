"""Which earlier request wrote the pages that a request was given, on one decode rank?

Replays the page allocator of an engine that does prefill and decode apart, as in `srt/mem_cache/allocator` of the released
SGLang packages 0.5.1 to 0.5.23: pages are taken from the front of an ascending free list; freed pages wait in a stage and
join it, sorted, only when a request might not fit. The content of a page is that of its last writer: a request that got no
keys and values writes its first page and what it generates, and leaves the rest as it was.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

Ints = npt.NDArray[np.int64]
Pages = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
NOBODY = -1
MOST_GROWTH_EVENTS = 2_000_000
_CHUNK = 65_536


class Schedule(Struct, frozen=True):
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
    flushes: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    """When the free list was set back to all pages; what they hold stays."""

    def __len__(self) -> int:
        return len(self.prompt)


class Reads(Struct, frozen=True):
    """Rows of stale memory in the reach of each stale request: parallel columns. A writer of -1 is nobody (zeroes)."""

    reader: Ints
    writer: Ints
    rows: Ints
    shortfalls: int
    """How often the log had a request where no page was left: a measure of what the log does not show."""


class _Pool:
    """The free list of one rank, in runs of pages; pages count from 0.

    A prompt takes thousands of pages and most of them lie side by side, so runs are few where pages are many. Who wrote
    each page last is one array.
    """

    def __init__(self, pool_pages: int, page: int, requests: int) -> None:
        self.page = page
        self.pages = pool_pages
        self.writer: Pages = np.full(pool_pages, requests, np.int32)
        self.held: dict[int, list[int]] = {}
        """Of each living request its runs, start and end in turn."""
        self.starts, self.ends, self.head, self.left = [0], [pool_pages], 0, pool_pages

    def merge(self) -> None:
        """Sort everything that nobody holds into the free list."""
        taken = np.array([edge for runs in self.held.values() for edge in runs], np.int64).reshape(-1, 2)
        taken = taken[np.argsort(taken[:, 0])]
        starts = np.concatenate([[0], taken[:, 1]])
        ends = np.concatenate([taken[:, 0], [self.pages]])
        some = ends > starts
        self.starts, self.ends, self.head = starts[some].tolist(), ends[some].tolist(), 0
        self.left = int((ends - starts).sum())

    def take(self, count: int, bound: int) -> list[int] | None:
        """The next pages as runs, None where there are not enough even after a merge."""
        if bound > self.left:
            self.merge()
        if count > self.left:
            return None
        self.left -= count
        runs: list[int] = []
        starts, ends, head = self.starts, self.ends, self.head
        while count:
            start, end = starts[head], ends[head]
            if end - start > count:
                end = starts[head] = start + count
            else:
                head += 1
            runs += (start, end)
            count -= end - start
        self.head = head
        return runs

    def write(self, runs: list[int], who: int) -> None:
        """Note the writer of pages."""
        for at in range(0, len(runs), 2):
            self.writer[runs[at] : runs[at + 1]] = who

    def behind_first(self, runs: list[int]) -> Pages:
        """Who wrote each page but the first."""
        pieces = [self.writer[runs[at] : runs[at + 1]] for at in range(0, len(runs), 2)]
        return np.concatenate(pieces)[1:]

    def grow(self, owners: list[int], counts: list[int]) -> int:
        """Give each owner that lives its next pages in turn; the number that found none."""
        # A decode step merges first where it might need a page for every running request.
        reserve = len(self.held) if self.page > 1 else 0
        short = 0
        for who, count in zip(owners, counts, strict=True):
            wanted = count
            mine = self.held.get(who)
            while wanted and mine is not None:
                usable = self.left - reserve
                if usable <= 0:
                    self.merge()
                    usable = self.left
                    if usable <= 0:
                        short += wanted
                        break
                start, end = self.starts[self.head], self.ends[self.head]
                end = min(end, start + min(usable, wanted))
                if end == self.ends[self.head]:
                    self.head += 1
                else:
                    self.starts[self.head] = end
                self.left -= end - start
                wanted -= end - start
                self.writer[start:end] = who
                if mine[-1] == start:
                    mine[-1] = end
                else:
                    mine += (start, end)
        return short


def replay(schedule: Schedule, pool_tokens: int, page: int) -> Reads:
    """Run a schedule through the allocator of a pool of `pool_tokens`, with pages of `page` tokens."""
    pool = _Pool(pool_tokens // page, page, len(schedule))
    times = np.concatenate([schedule.allocated, schedule.finished, schedule.flushes])
    order = np.argsort(times, kind="stable")
    owners, weights, upto = _growth(schedule, times[order], page)
    seen: list[tuple[int, Ints, Ints]] = []
    waiting: deque[int] = deque()
    short, grown, requests = 0, 0, len(schedule)

    def admit(one: int) -> bool:
        tokens = int(schedule.prompt[one])
        count = -(-tokens // page)
        taken = pool.take(count, count if page == 1 else tokens // page + 2)
        if taken is None:
            return False
        pool.held[one] = taken
        if schedule.stale[one]:
            # It writes its first page; the others keep what they hold.
            seen.append((one, *_stale_rows(pool.behind_first(taken), tokens, page)))
            pool.write([taken[0], taken[0] + 1], one)
        else:
            pool.write(taken, one)
        return True

    for start in range(0, len(order), _CHUNK):
        ends = upto[start : start + _CHUNK].tolist()
        for event, end in zip(order[start : start + _CHUNK].tolist(), ends, strict=True):
            if end > grown:
                each = [1] * (end - grown) if weights is None else weights[grown:end].tolist()
                short += pool.grow(owners[grown:end].tolist(), each)
                grown = end
            if event < requests:
                if waiting or not admit(event):
                    waiting.append(event)
                    short += 1
                continue
            if event >= 2 * requests:
                pool.merge()
                continue
            gone = event - requests
            if pool.held.pop(gone, None) is None and gone in waiting:
                waiting.remove(gone)
            while waiting and admit(waiting[0]):
                waiting.popleft()
    return _reads(seen, short, requests)


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
    before = (np.cumsum(events) - events).astype(np.int32)
    place = np.arange(len(owner), dtype=np.int32) - np.repeat(before, events)
    # In place, as each of these columns is as long as all takings.
    when = place.astype(np.float64)
    when *= page * together
    when += begin[owner]
    when /= np.maximum(steps, 1)[owner]
    when *= (schedule.finished - schedule.first)[owner]
    when += schedule.first[owner]
    order = np.argsort(when, kind="stable")
    upto = np.searchsorted(when[order], event_times, side="left")
    weights = None
    if together > 1:
        weights = np.minimum(counts[owner] - place.astype(np.int64) * together, together)[order]
    return owner[order], weights, upto


def _reads(seen: list[tuple[int, Ints, Ints]], short: int, nobody: int) -> Reads:
    if not seen:
        nothing = np.empty(0, np.int64)
        return Reads(nothing, nothing, nothing, short)
    reader = np.concatenate([np.full(len(who), one, np.int64) for one, who, _ in seen])
    writer = np.concatenate([w for _, w, _ in seen])
    writer[writer == nobody] = NOBODY
    return Reads(reader, writer, np.concatenate([r for _, _, r in seen]), short)
