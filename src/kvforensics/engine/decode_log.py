"""What happened on each decode rank, and how exactly do the logs tell it?

Rows of one request (time statistics, request log, metrics export) become one, joined by the id that the decode node gave
it. Each gets an interval for its end and one for the time between taking its pages and its end; where clocks have no
offset, all times of a rank are on the node's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from kvforensics.engine.pages import Flags, Floats, Ints, Schedule

MILLISECOND, SECOND = 1_000.0, 1_000_000.0
HANDSHAKE = 1.0 * SECOND
"""The longest that taking the pages is believed to follow the arrival of a request by, where no statistics tell."""


CLOSE = 5 * MILLISECOND


@dataclass(frozen=True, slots=True)
class RankLog:
    """The requests of one decode rank, in the order of their ends. Times in microseconds.

    `end_low`, `end_high` bound the end; `span_low`, `span_high` the time from taking the pages to the end; `decoding` is
    the time from the first step to the end. `stale` marks affected requests.
    """

    node: str
    dp: int
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
    batches: tuple[tuple[float, int], ...]
    """(time, running requests) as the rank itself printed them."""
    flushes: int

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
        return Schedule(allocated, began, end, self.prompt, self.output, self.stale)

    def _in_line(self, allocated: Floats) -> Floats:
        """The same, with pages taken in the order of the line where times are too close to tell: nobody overtakes."""
        if not len(self) or np.isnan(self.ready).any():
            return allocated
        order = np.lexsort((allocated, self.ready))
        fifo = np.empty_like(allocated)
        fifo[order] = np.sort(allocated)
        return np.where(np.abs(fifo - allocated) <= CLOSE, fifo, allocated)


def read_ranks(records: pl.DataFrame, stale: pl.DataFrame) -> Iterator[RankLog]:
    """Every decode rank in the records, in the order of names. `stale` has the column `rid` of affected requests."""
    requests = decode_requests(records)
    flagged = requests.join(stale.select("rid", pl.lit(value=True).alias("stale")).unique(), on="rid", how="left")
    flagged = flagged.with_columns(pl.col("stale").fill_null(value=False))
    batches = records.filter(pl.col("kind") == "batch")
    flushed = records.filter(pl.col("kind") == "flushed")
    for (node, dp), rank in sorted(
        flagged.group_by("node", "dp"), key=lambda item: (str(item[0][0]), _int(item[0][1]))
    ):
        rows = rank.sort("end_low", "source", "line", "rid")
        here = batches.filter((pl.col("node") == node) & (pl.col("dp").fill_null(0) == dp))
        clock = "local_us" if not rows["epoch"].all() else "utc_us"
        offset = 0 if clock == "local_us" else _offset(records, str(node))
        printed = [
            (float(at - offset), running)
            for at, running in here.select("local_us", "pages").iter_rows()
            if at is not None and running is not None and offset is not None
        ]
        named = rows["tenant"].unique().sort(nulls_last=False)
        yield RankLog(
            node=str(node),
            dp=_int(dp),
            rid=rows["rid"],
            room=rows["room"],
            tenants=tuple(named),
            owner=_places(rows["tenant"], named),
            utc=clock == "utc_us",
            **{
                k: rows[k].cast(pl.Float64).to_numpy()
                for k in ("end_low", "end_high", "span_low", "span_high", "decoding")
            },
            prompt=rows["prompt_tokens"].to_numpy(),
            output=rows["output_tokens"].to_numpy(),
            stale=rows["stale"].to_numpy(),
            ready=rows["ready"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
            batches=tuple(printed),
            flushes=flushed.filter(pl.col("node") == node).height,
        )


def _places(values: pl.Series, named: pl.Series) -> Ints:
    """Where each value stands among the names."""
    places = named.to_frame("name").with_row_index("place")
    found = values.to_frame("name").join(places, on="name", how="left", nulls_equal=True, maintain_order="left")
    return found["place"].cast(pl.Int64).to_numpy()


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _offset(records: pl.DataFrame, node: str) -> int | None:
    """Local time minus UTC of a node, from lines that tell both; None where no line does, or they disagree."""
    took = pl.sum_horizontal(
        *(pl.col(f"{k}_us").fill_null(0) for k in ("bootstrap", "wait", "transfer", "queue", "forward"))
    )
    told = records.filter((pl.col("node") == node) & pl.col("local_us").is_not_null()).select(
        pl.coalesce(pl.col("local_us") - pl.col("finished_us"), pl.col("local_us") - pl.col("entry_us") - took).alias(
            "gap"
        )
    )
    quarters = told.drop_nulls().select((pl.col("gap") / 900_000_000).round().cast(pl.Int64).alias("q"))["q"].unique()
    return int(quarters[0]) * 900_000_000 if len(quarters) == 1 else None


def decode_requests(records: pl.DataFrame) -> pl.DataFrame:
    """One row for each request on a decode node, with the intervals of `RankLog` in microseconds."""
    spoken = records.filter(pl.col("kind").is_in(["stats", "finish", "export"]) & pl.col("rid").is_not_null())
    # Prefill ends every request with "length 0"; its statistics say what they are.
    prefill = spoken.group_by("rid").agg(
        ((pl.col("role") == "prefill") | ((pl.col("finish") == "length") & (pl.col("finish_length") == 0)))
        .any()
        .alias("p")
    )
    spoken = spoken.join(prefill.filter(~pl.col("p").fill_null(value=False)), on="rid", how="semi")
    spoken = spoken.filter(~pl.col("rid").str.starts_with("HEALTH_CHECK"))
    stats = pl.col("kind") == "stats"
    first = {
        name: pl.col(name).drop_nulls().first()
        for name in (
            "room", "prompt_tokens", "output_tokens", "cached_tokens", "tenant", "entry_us", "bootstrap_us", "wait_us",
            "transfer_us", "queue_us", "forward_us", "received_us", "answered_us", "finished_us", "finish", "dp", "status",
        )
    }  # fmt: skip
    # The node is that of the statistics, which the rank itself prints; exports may be in a file of another name.
    merged = spoken.sort("source", "line").group_by("rid", maintain_order=True).agg(
        pl.coalesce(pl.col("node").filter(stats).first(), pl.col("node").first()).alias("node"),
        pl.col("source").first(), pl.col("line").first(),
        pl.col("local_us").filter(stats).first().alias("stats_local"),
        pl.col("local_us").filter(pl.col("kind") == "finish").first().alias("finish_local"),
        **first,
    )  # fmt: skip
    merged = merged.filter(pl.col("prompt_tokens").is_not_null() & pl.col("output_tokens").is_not_null())
    merged = merged.filter((pl.col("finish") != "abort").fill_null(value=True)).with_columns(pl.col("dp").fill_null(0))
    phases = pl.col("transfer_us") + pl.col("queue_us").fill_null(0) + pl.col("forward_us")
    by_entry = pl.col("entry_us") + pl.col("bootstrap_us").fill_null(0) + pl.col("wait_us").fill_null(0) + phases
    epoch_end = pl.coalesce(by_entry, pl.col("finished_us"))
    local_end = pl.coalesce("finish_local", "stats_local")
    # One clock for a node: epoch where every request of it has one, else its local one.
    framed = merged.with_columns(epoch_end.alias("epoch_end"), local_end.alias("local_end")).with_columns(
        pl.col("epoch_end").is_not_null().all().over("node").alias("epoch")
    )
    fine = pl.col("finish_local").is_not_null() & (pl.col("finish_local") % 1_000_000 != 0)
    precision = pl.when("epoch").then(MILLISECOND).when(fine).then(2 * MILLISECOND).otherwise(SECOND)
    end = pl.when("epoch").then("epoch_end").otherwise("local_end")
    waited = (epoch_end - pl.col("received_us")).cast(pl.Float64)
    span_high = pl.coalesce(
        phases.cast(pl.Float64) + MILLISECOND, waited, pl.col("forward_us").cast(pl.Float64) + HANDSHAKE
    )
    span_low = pl.coalesce(
        phases.cast(pl.Float64) - MILLISECOND, waited - HANDSHAKE, pl.col("forward_us").cast(pl.Float64)
    )
    decoding = pl.coalesce(pl.col("forward_us"), epoch_end - pl.col("answered_us")).cast(pl.Float64)
    # Time statistics are printed when a request ends, so a stamp of whole seconds is cut, not rounded.
    framed = framed.with_columns(
        pl.when("epoch").then(end - MILLISECOND).otherwise(end).cast(pl.Float64).alias("end_low"),
        (end.cast(pl.Float64) + precision).alias("end_high"),
        span_high.alias("span_high"),
        pl.max_horizontal(span_low, pl.lit(0.0)).alias("span_low"),
        pl.coalesce(decoding, span_low, pl.lit(0.0)).alias("decoding"),
        pl.when("epoch").then(pl.col("entry_us") + pl.col("bootstrap_us").fill_null(0)).alias("ready"),
    )
    return framed.filter(pl.col("end_low").is_not_null() & pl.col("span_high").is_not_null())
