"""What happened on each decode rank, from one start of its process to the next?

A process that starts has zeroed memory and a whole pool, so requests before and after a restart are logs of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from msgspec import Struct

from kvforensics.engine.decode_requests import MILLISECOND, SECOND
from kvforensics.engine.evidence import Evidence
from kvforensics.engine.node import Node
from kvforensics.engine.pages import Flags, Floats, Ints, Schedule

CLOSE = 5 * MILLISECOND
QUARTER_US = 900_000_000
_NOBODY = np.empty(0, np.float64)


class RankLog(Struct, frozen=True):
    """The requests of one decode rank during one run of its process, in the order of their ends. Times in microseconds.

    `end_low`, `end_high` bound the end; `span_low`, `span_high` the time from taking the pages to the end; `decoding` is
    the time from the first step to the end. `stale` marks affected requests.
    """

    node: str
    dp: int
    run: int
    """Which start of the node this is, from 0; requests before the first start that is told are of run 0 too."""
    rid: pl.Series
    room: pl.Series
    tenants: tuple[str | None, ...]
    """Every tenant that the log names, sorted, None (not told) first; `owner` is the place of each request's tenant here."""
    owner: Ints
    utc: bool
    """Whether times are since 1970 in UTC, and not on the node's own clock."""
    end_low: Floats
    end_high: Floats
    span_low: Floats
    span_high: Floats
    decoding: Floats
    prompt: Ints
    output: Ints
    stale: Flags
    ready: Floats
    """When the handshake was done and the request stood in line for its pages; NaN where no statistics tell."""
    counted_at: Floats
    counted: Ints
    """Running requests as the rank itself printed them, and when."""
    flushes: Floats
    """When the free list was set back, in the middle of the second that its line tells."""

    def __len__(self) -> int:
        return len(self.owner)

    def tenant(self, request: int) -> str | None:
        """The tenant of a request, None where the log does not name it."""
        return self.tenants[int(self.owner[request])]

    def drawn(self, chance: np.random.Generator | None) -> Schedule:
        """One schedule that the log allows; the middle one where no chance is given."""
        n = len(self)
        if chance is None:
            end = (self.end_low + self.end_high) / 2
            span = (self.span_low + self.span_high) / 2
        else:
            end = self.end_low + chance.random(n) * (self.end_high - self.end_low)
            span = self.span_low + chance.random(n) * (self.span_high - self.span_low)
        # Ends that share a stamp came in the order of their lines.
        order = np.lexsort((end, self.end_low))
        end = end[order]
        allocated = self._in_line(end - span)
        began = np.maximum(end - self.decoding, allocated)
        return Schedule(allocated, began, end, self.prompt, self.output, self.stale, self.flushes)

    def _in_line(self, allocated: Floats) -> Floats:
        """The same, with pages taken in the order of the line where times are too close to tell: nobody overtakes."""
        if not len(self) or np.isnan(self.ready).any():
            return allocated
        order = np.lexsort((allocated, self.ready))
        fifo = np.empty_like(allocated)
        fifo[order] = np.sort(allocated)
        return np.where(np.abs(fifo - allocated) <= CLOSE, fifo, allocated)


def read_ranks(
    requests: pl.DataFrame, events: pl.DataFrame, clocks: Mapping[str, int | None], nodes: Sequence[Node], stale: Sequence[str]
) -> Iterator[RankLog]:
    """Every run of every decode rank, in the order of names.

    `requests` are those of `decode_requests`, `clocks` those of `local_clocks`, `stale` the ids of affected requests.
    """
    affected = pl.Series(list(stale), dtype=pl.String).implode()
    requests = requests.with_columns(pl.col("rid").is_in(affected).alias("stale"), _runs(nodes, clocks))
    parts = requests.partition_by("node", "dp", "run", as_dict=True, include_key=False)
    for node, dp, run in sorted(parts, key=lambda key: (str(key[0]), key[1], key[2])):
        rows = parts.pop((node, dp, run)).sort("end_low", "source", "line", "rid")
        yield _rank(rows, events, (str(node), dp, run), clocks.get(str(node)))


def _rank(rows: pl.DataFrame, events: pl.DataFrame, key: tuple[str, int, int], clock: int | None) -> RankLog:
    node, dp, run = key
    utc = bool(rows["epoch"].all())
    offset = clock if utc else 0
    times = {k: rows[k].to_numpy() for k in ("end_low", "end_high", "span_low", "span_high", "decoding")}
    counted_at, counted = _printed(events, "batch", node, dp, offset)
    flushes, _ = _printed(events, "flushed", node, dp, offset)
    # Those of other runs of the process are not about these requests.
    here = (counted_at >= (times["end_low"] - times["span_high"]).min()) & (counted_at <= times["end_high"].max())
    tenants = rows["tenant"].cast(pl.String)
    named = tenants.unique().sort(nulls_last=False)
    return RankLog(
        node=node,
        dp=dp,
        run=run,
        rid=rows["rid"],
        room=rows["room"],
        tenants=tuple(named),
        owner=_places(tenants, named),
        utc=utc,
        **times,
        prompt=rows["prompt_tokens"].to_numpy(),
        output=rows["output_tokens"].to_numpy(),
        stale=rows["stale"].to_numpy(),
        ready=rows["ready"].fill_null(float("nan")).to_numpy(),
        counted_at=counted_at[here],
        counted=counted[here],
        flushes=flushes + SECOND / 2,
    )


def _printed(events: pl.DataFrame, kind: str, node: str, dp: int, offset: int | None) -> tuple[Floats, Ints]:
    """When a rank printed lines of a kind, on the clock of its log, and the number in them."""
    if offset is None:
        return _NOBODY, _NOBODY.astype(np.int64)
    here = (pl.col("kind") == kind) & (pl.col("node") == node) & (pl.col("dp").fill_null(dp) == dp)
    lines = events.filter(here & pl.col("local_us").is_not_null()).select("local_us", pl.col("pages").fill_null(0))
    return (lines["local_us"] - offset).cast(pl.Float64).to_numpy(), lines["pages"].to_numpy()


def _places(values: pl.Series, named: pl.Series) -> Ints:
    """Where each value stands among the names."""
    places = named.to_frame("name").with_row_index("place")
    found = values.to_frame("name").join(places, on="name", how="left", nulls_equal=True, maintain_order="left")
    return found["place"].cast(pl.Int64).to_numpy()


def _runs(nodes: Sequence[Node], clocks: Mapping[str, int | None]) -> pl.Expr:
    """How many restarts of its node came before each request ended: by the line in the same source, else by the time.

    A restart whose time is not told parts nothing where requests are in other sources too: the superset only holds more.
    """
    passed = pl.lit(0)
    for node in nodes:
        if node.ordinal < 2 or not node.start.began:
            continue
        here, same = pl.col("node") == node.name, pl.col("source") == node.start.source
        moments = (node.start.local_us, began(node, clocks.get(node.name)))
        local, utc = (pl.lit(at, dtype=pl.Float64) for at in moments)
        at = pl.when("epoch").then(utc).otherwise(local)
        later = pl.when(same).then(pl.col("line") > node.start.line).otherwise(pl.col("end_low") >= at)
        if None in moments:
            later &= at.is_not_null() | same.all().over("node")
        passed += (here & later.fill_null(value=False)).cast(pl.Int32)
    return passed.cast(pl.Int64).alias("run")


def began(node: Node, clock: int | None) -> int | None:
    """When a start of a node came, since 1970 in microseconds; None where that is not told to the second."""
    earliest, latest = node.started
    if earliest is not None and latest is not None and latest - earliest <= SECOND:
        return earliest
    return node.start.local_us - clock if node.start.local_us is not None and clock is not None else None


def local_clocks(evidence: Evidence) -> dict[str, int | None]:
    """Local time minus UTC of each node, from lines that tell both; None where none does, or they disagree."""
    took = pl.sum_horizontal(
        *(pl.col(f"{k}_us").fill_null(0) for k in ("bootstrap", "wait", "transfer", "queue", "forward"))
    )
    by_entry = pl.col("local_us") - pl.col("entry_us") - took
    told: set[tuple[str, int]] = set()
    for table, gap in ((evidence.stats, by_entry), (evidence.answers, pl.col("local_us") - pl.col("finished_us"))):
        rounded = (gap / QUARTER_US).round().cast(pl.Int64).alias("quarters")
        for piece in table.pieces():
            told.update(piece.select("node", rounded).drop_nulls().unique().iter_rows())
    clocks: dict[str, int | None] = {}
    for node, quarters in told:
        clocks[node] = None if node in clocks else quarters * QUARTER_US
    return clocks
