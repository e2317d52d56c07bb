"""What do sums over several requests prove about the window?

Pure. A log of sums clears a time where each of its buckets there stays below the threshold; elsewhere it bounds the number
of affected requests from above. It never flags one.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
from msgspec import Struct

from kvforensics.estimate import most_in_sampled_sum
from kvforensics.spans import Span, intersect, subtract, union


class SumLog(Struct, frozen=True):
    """The buckets of one log of sums, as `bucket.read_buckets` gives them."""

    log: str
    buckets: pl.DataFrame


def bucket_table(logs: Sequence[SumLog]) -> pa.Table:
    """The buckets of all logs, each row with the place and the name of its log."""
    frames = [
        log.buckets.select(pl.lit(at, pl.Int64).alias("log_no"), pl.lit(log.log).alias("log"), pl.all())
        for at, log in enumerate(logs)
    ]
    return pl.concat(frames).to_arrow()


def bucket_logs(table: pa.Table) -> tuple[SumLog, ...]:
    """The logs of such a table."""
    frame = pl.DataFrame(pl.from_arrow(table))
    parts = frame.group_by("log_no", "log", maintain_order=True)
    return tuple(SumLog(str(log), part.drop("log_no", "log")) for (_, log), part in parts)


class Bucket(Struct, frozen=True):
    """A bucket that may hold an affected request: its time (cut to nothing), sums, and the most that it can hold."""

    start_us: int
    until_us: int
    tokens: int | None
    requests: int | None
    at_most: int | None


class SumBounds(Struct, frozen=True):
    """What one log of sums proves.

    `cleared` are the times of the window in which no affected request can have started. `at_most` bounds the affected requests
    of the buckets that it has, None where one has no bound; `estimated` says that sums are extrapolated from a sample, so that
    `at_most` is the upper end of an interval and nothing is cleared by them.
    """

    log: str
    buckets: int
    first_us: int | None
    last_us: int | None
    cleared: tuple[Span, ...]
    over: tuple[Bucket, ...]
    at_most: int | None
    estimated: bool


def bound(log: SumLog, *, start_us: int, until_us: int, over: int, max_request_us: int) -> SumBounds:
    """Hold the buckets of a log against the window.

    It is not documented whether a sum counts a request where it starts or where it ends, so a start is cleared only if
    every bucket from there to the end of the longest request is.
    """
    rows = log.buckets.filter(pl.col("start_earliest").is_not_null() & pl.col("length_us").is_not_null())
    known = rows.with_columns((pl.col("start_latest") + pl.col("length_us")).alias("until"))
    reach = known.filter((pl.col("until") > start_us) & (pl.col("start_earliest") < until_us + max_request_us))
    sampled = pl.col("interval").fill_null(1.0) > 1
    mine = pl.col("on_model").fill_null(value=True)
    maybe = mine & (pl.col("may_hold") | sampled)
    covered = union(
        (a, b + n) for a, b, n in known.select("start_latest", "start_earliest", "length_us").iter_rows() if b + n > a
    )
    # A sample may have missed the model altogether, so it clears nothing, whatever it holds.
    dark = union(known.filter(maybe | sampled).select("start_earliest", "until").iter_rows())
    cleared = [(a, b - max_request_us) for a, b in subtract(covered, dark)]
    # A row without a time may lie anywhere.
    lost = log.buckets.height - rows.height
    suspects = reach.filter(maybe).sort("start_earliest", "start_latest", "length_us", "on_model", nulls_last=True)
    held = tuple(
        Bucket(r["start_earliest"], r["until"], r["tokens"], r["requests"], _most(r, over))
        for r in suspects.iter_rows(named=True)
    )
    bounds = [b.at_most for b in held]
    return SumBounds(
        log=log.log,
        buckets=log.buckets.height,
        first_us=None if known.is_empty() else int(known["start_earliest"].min()),  # type: ignore[arg-type]
        last_us=None if known.is_empty() else int(known["until"].max()),  # type: ignore[arg-type]
        cleared=() if lost else intersect(cleared, ((start_us, until_us),)),
        over=held,
        at_most=None if lost or None in bounds else sum(b for b in bounds if b is not None),
        estimated=not reach.filter(sampled).is_empty(),
    )  # fmt: skip


def _most(row: dict[str, int | float | None], over: int) -> int | None:
    tokens, interval, bounded = row["tokens"], row["interval"], row["at_most"]
    if interval is not None and interval > 1:
        return None if tokens is None else most_in_sampled_sum(int(tokens), over, float(interval))
    return None if bounded is None else int(bounded)
