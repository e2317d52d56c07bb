"""When did each request on a decode node take its pages and end, and how exactly is that told?

Rows of one request (time statistics, request log, metrics export) become one, joined by the id that the decode node gave
it. All times of a node are on one clock: since 1970 where every request of it tells that, else the node's own.
"""

from __future__ import annotations

import polars as pl

from kvforensics.engine.evidence import Evidence

MILLISECOND, SECOND = 1_000.0, 1_000_000.0
HANDSHAKE = 1.0 * SECOND
"""The longest that taking the pages is believed to follow the arrival of a request by, where no statistics tell."""
_TOLD = ("source", "line", "node", "room", "dp", "prompt_tokens", "output_tokens", "tenant")
"""What each kind of row may tell; statistics, which the rank itself prints, are believed first."""
_STATS = ("local_us", "entry_us", "bootstrap_us", "wait_us", "transfer_us", "queue_us", "forward_us")
_ANSWERS = ("local_us", "finish", "received_us", "answered_us", "finished_us")


def decode_requests(evidence: Evidence) -> pl.DataFrame:
    """One row for each request on a decode node: `node`, `dp`, `rid`, `room`, `tenant`, `source`, `line`, tokens, and times.

    `end_low`, `end_high` bound the end, `span_low`, `span_high` the time from taking the pages to the end, in microseconds;
    `decoding` is the time from the first step to the end, `ready` when the handshake was done (None where not told);
    `epoch` says that times are since 1970.
    """
    tables = (evidence.stats, evidence.answers)
    parts = max(t.parts for t in tables)
    # Joined part by part, as all at once would need the memory of all at once.
    whole = [_joined(*(t.part(n, parts) for t in tables)) for n in range(parts)]
    untold = pl.concat([w.filter(pl.col("epoch_end").is_null()).select("node") for w in whole]).unique()["node"].implode()
    timed = []
    while whole:
        timed.append(_timed(whole.pop(0).with_columns((~pl.col("node").is_in(untold)).alias("epoch"))))
    return pl.concat(timed)


def _joined(stats: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    # Prefill ends every request with "length 0"; its statistics say what they are.
    prefill = pl.concat([
        stats.filter(pl.col("role") == "prefill").select("rid"),
        answers.filter((pl.col("finish") == "length") & (pl.col("finish_length") == 0)).select("rid"),
    ]).unique()  # fmt: skip
    kinds = (
        (stats.filter((pl.col("role") != "prefill").fill_null(value=True)), "stats", _STATS),
        (answers.filter(pl.col("kind") == "finish"), "finish", _ANSWERS),
        (answers.filter(pl.col("kind") == "export"), "export", _ANSWERS),
    )
    joined: pl.DataFrame | None = None
    for rows, kind, columns in kinds:
        spoken = rows.filter(pl.col("rid").is_not_null() & ~pl.col("rid").str.starts_with("HEALTH_CHECK"))
        spoken = spoken.join(prefill, on="rid", how="anti").unique("rid", keep="first", maintain_order=True)
        spoken = spoken.select("rid", *(pl.col(c).name.prefix(f"{kind}_") for c in (*_TOLD, *columns)))
        joined = spoken if joined is None else joined.join(spoken, on="rid", how="full", coalesce=True)
    assert joined is not None  # noqa: S101 - there are three kinds
    names = ("stats", "finish", "export")
    return _phased(joined.select(
        "rid",
        *(pl.coalesce(f"{kind}_{c}" for kind in names).alias(c) for c in _TOLD),
        *(pl.col(f"stats_{c}").alias(c) for c in _STATS[1:]),
        *(pl.coalesce(f"{kind}_{c}" for kind in names[1:]).alias(c) for c in _ANSWERS[1:]),
        pl.col("stats_local_us").alias("stats_local"),
        pl.col("finish_local_us").alias("finish_local"),
    ))


def _phased(joined: pl.DataFrame) -> pl.DataFrame:
    """Only what ended as an answer, with the sums that times are made of."""
    whole = joined.filter(pl.col("prompt_tokens").is_not_null() & pl.col("output_tokens").is_not_null())
    whole = whole.filter((pl.col("finish") != "abort").fill_null(value=True)).with_columns(pl.col("dp").fill_null(0))
    phases = pl.col("transfer_us") + pl.col("queue_us").fill_null(0) + pl.col("forward_us")
    by_entry = pl.col("entry_us") + pl.col("bootstrap_us").fill_null(0) + pl.col("wait_us").fill_null(0) + phases
    epoch_end = pl.coalesce(by_entry, pl.col("finished_us"))
    return whole.with_columns(
        phases.alias("phases"), epoch_end.alias("epoch_end"), pl.coalesce("finish_local", "stats_local").alias("local_end")
    ).with_columns((pl.col("epoch_end") - pl.col("received_us")).alias("waited")).select(
        *("rid", "room", "tenant", "node", "dp", "source", "line", "prompt_tokens", "output_tokens", "finish_local"),
        *("local_end", "epoch_end", "phases", "waited", "forward_us"),
        (pl.col("epoch_end") - pl.col("answered_us")).alias("decoded"),
        (pl.col("entry_us") + pl.col("bootstrap_us").fill_null(0)).alias("ready"),
    )  # fmt: skip


def _timed(whole: pl.DataFrame) -> pl.DataFrame:
    fine = pl.col("finish_local").is_not_null() & (pl.col("finish_local") % 1_000_000 != 0)
    precision = pl.when("epoch").then(MILLISECOND).when(fine).then(2 * MILLISECOND).otherwise(SECOND)
    end = pl.when("epoch").then("epoch_end").otherwise("local_end").cast(pl.Float64)
    waited, phases = pl.col("waited").cast(pl.Float64), pl.col("phases").cast(pl.Float64)
    forward = pl.col("forward_us").cast(pl.Float64)
    span_high = pl.coalesce(phases + MILLISECOND, waited, forward + HANDSHAKE)
    span_low = pl.coalesce(phases - MILLISECOND, waited - HANDSHAKE, forward)
    decoding = pl.coalesce(forward, pl.col("decoded").cast(pl.Float64), span_low, pl.lit(0.0))
    # Time statistics are printed when a request ends, so a stamp of whole seconds is cut, not rounded.
    timed = whole.select(
        *("rid", "room", "tenant", "node", "dp", "source", "line", "prompt_tokens", "output_tokens", "epoch"),
        pl.when("epoch").then(end - MILLISECOND).otherwise(end).alias("end_low"),
        (end + precision).alias("end_high"),
        span_high.alias("span_high"),
        pl.max_horizontal(span_low, pl.lit(0.0)).alias("span_low"),
        decoding.alias("decoding"),
        pl.when("epoch").then(pl.col("ready")).cast(pl.Float64).alias("ready"),
    )
    return timed.filter(pl.col("end_low").is_not_null() & pl.col("span_high").is_not_null())
