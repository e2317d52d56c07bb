"""A small engine with the bug: page allocator, prefill that rejects, decode that reads what it was not sent.

Slow and obviously right: it knows for every page which request wrote it last. Time is in milliseconds of a made-up clock.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Request:
    number: int
    tenant: str
    arrives: float
    prompt: int
    output: int
    rank: int = 0
    prefill_rank: int = 0
    affected: bool = False
    room: int = 0
    allocated: float = 0.0
    arrived: float = 0.0
    began: float = 0.0
    finished: float = 0.0
    steps: int = 0
    held: list[int] = field(default_factory=list)
    truth: dict[int, int] = field(default_factory=dict)
    """Rows of earlier requests that it could read: number of the writer (-1: nobody) to rows."""


class Allocator:
    """Free list ascending, freed pages staged, merged and sorted only when a request might not fit."""

    def __init__(self, pool: int, page: int) -> None:
        self.page = page
        self.free: deque[int] = deque(range(1, pool // page + 1))
        self.staged: list[int] = []

    def take(self, count: int, bound: int) -> list[int] | None:
        if bound > len(self.free):
            self.free = deque(sorted([*self.free, *self.staged]))
            self.staged = []
        if count > len(self.free):
            return None
        return [self.free.popleft() for _ in range(count)]


class DecodeRank:
    """One decode rank: FIFO pre-allocation with a reserve, transfer, decoding in steps, chunk cache."""

    RESERVED = 8

    def __init__(self, pool: int, page: int, chance: random.Random, step: float) -> None:
        self.pool, self.page, self.chance, self.step = pool, page, chance, step
        self.allocator = Allocator(pool, page)
        self.writer: dict[int, int] = {}
        self.queue: deque[Request] = deque()
        self.transferring: list[Request] = []
        self.running: list[Request] = []
        self.usage: list[tuple[float, int, int]] = []

    def run(self, requests: list[Request], prefill_rate: float) -> None:
        """Every request to its end."""
        coming = deque(sorted(requests, key=lambda r: (r.arrives, r.number)))
        now = coming[0].arrives if coming else 0.0
        ticks = 0
        while coming or self.queue or self.transferring or self.running:
            while coming and coming[0].arrives <= now:
                self.queue.append(coming.popleft())
            self._admit(now, prefill_rate)
            for request in [r for r in self.transferring if r.arrived <= now]:
                self._arrive(request, now)
            self._decode(now)
            ticks += 1
            if ticks % 40 == 0:
                held = sum(len(r.held) for r in (*self.running, *self.transferring)) * self.page
                self.usage.append((now, len(self.running), held))
            now += self.step * self.chance.uniform(0.9, 1.1)
            if not (self.queue or self.transferring or self.running) and coming:
                now = max(now, coming[0].arrives)

    def _admit(self, now: float, prefill_rate: float) -> None:
        while self.queue:
            request = self.queue[0]
            busy = len(self.running) + len(self.transferring)
            room = (len(self.allocator.free) + len(self.allocator.staged)) * self.page
            if request.prompt + self.RESERVED * self.page * (busy + 1) > room and busy:
                return
            count = -(-request.prompt // self.page)
            pages = self.allocator.take(count, count if self.page == 1 else request.prompt // self.page + 2)
            if pages is None:
                return
            self.queue.popleft()
            request.held, request.allocated = pages, now
            if request.affected:
                rows = [self.page] * (len(pages) - 1)
                if rows:
                    rows[-1] = request.prompt - (len(pages) - 1) * self.page
                for page, count_of in zip(pages[1:], rows, strict=True):
                    writer = self.writer.get(page, -1)
                    request.truth[writer] = request.truth.get(writer, 0) + count_of
            slow = request.prompt / prefill_rate if not request.affected else 1.0
            request.arrived = now + 5.0 + slow * self.chance.uniform(0.9, 1.2)
            self.transferring.append(request)

    def _arrive(self, request: Request, now: float) -> None:
        self.transferring.remove(request)
        request.arrived = now
        for page in request.held[:1] if request.affected else request.held:
            self.writer[page] = request.number
        request.began = now
        self.running.append(request)

    def _decode(self, now: float) -> None:
        for request in [r for r in self.running if r.steps >= r.output - 1]:
            self.running.remove(request)
            request.finished = now
            self.allocator.staged += request.held
        batch = [r for r in self.running if r.began < now]
        crossing = [r for r in batch if (r.prompt + r.steps) % self.page == 0 or self.page == 1]
        pages = self.allocator.take(len(crossing), len(crossing) if self.page == 1 else len(batch))
        while pages is None:
            # The pool is full: the engine takes the last one back; here it is ended, as retraction is not simulated.
            last = self.running.pop()
            last.finished, last.output = now, last.steps + 1
            self.allocator.staged += last.held
            batch = [r for r in batch if r is not last]
            crossing = [r for r in crossing if r is not last]
            pages = self.allocator.take(len(crossing), len(crossing) if self.page == 1 else len(batch))
        for request, page in zip(crossing, pages, strict=True):
            request.held.append(page)
            self.writer[page] = request.number
        for request in batch:
            request.steps += 1


@dataclass
class Incident:
    """One simulated incident: its settings, its requests with the truth, and what the decode ranks saw of their pools."""

    seed: int
    page: int
    dp: int
    decode_pool: int
    prefill_pool: int
    context: int
    requests: list[Request]
    usage: dict[int, list[tuple[float, int, int]]]

    @property
    def limit(self) -> int:
        return min(self.context, self.prefill_pool) - 6

    @property
    def affected(self) -> list[Request]:
        return [r for r in self.requests if r.affected]


def simulate(seed: int, *, page: int, dp: int, per_rank: int = 150) -> Incident:
    """An incident with a few affected requests on each of some ranks."""
    chance = random.Random(seed)
    scale = 1 if page > 1 else 8
    decode_pool = chance.randrange(60_000, 120_000) // scale // page * page
    prefill_pool = int(decode_pool * chance.uniform(0.35, 0.6)) // page * page
    context = int(decode_pool * 0.9)
    limit = min(context, prefill_pool) - 6
    tenants = [f"tenant-{n}" for n in range(chance.randrange(4, 16))]
    requests: list[Request] = []
    now = 1_000.0
    total = per_rank * dp
    mean_gap = chance.uniform(60.0, 200.0) / dp
    for number in range(total):
        now += chance.expovariate(1.0 / mean_gap)
        long = number > total // 3 and chance.random() < 6.0 / per_rank
        prompt = chance.randrange(limit, context - 8) if long else max(4, int(chance.lognormvariate(0.0, 1.0) * limit / 12))
        if not long:
            prompt = min(prompt, limit - 1)
        request = Request(number, chance.choice(tenants), now, prompt, chance.randrange(2, 160))
        request.rank, request.prefill_rank = chance.randrange(dp), chance.randrange(dp)
        request.affected = limit <= prompt < context
        request.room = chance.randrange(1 << 53, 1 << 63)
        requests.append(request)
    usage = {}
    for rank in range(dp):
        decode = DecodeRank(decode_pool, page, random.Random(seed * 1_000 + rank), chance.uniform(12.0, 30.0))
        decode.run([r for r in requests if r.rank == rank], prefill_rate=limit / 700.0)
        usage[rank] = decode.usage
    return Incident(seed, page, dp, decode_pool, prefill_pool, context, requests, usage)
