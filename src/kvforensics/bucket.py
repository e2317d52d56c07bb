"""How many prompts over the threshold can a sum over several requests hold?

Sums (a minute, an hour or a day of one model) never flag a request. But a sum of T input tokens holds at most
T // (threshold + 1) prompts over the threshold, and none at all where T stays below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from kvforensics.clock import read_instants
from kvforensics.incident import Incident
from kvforensics.model_id import ModelReader
from kvforensics.normalise import read_model
from kvforensics.paths import compile_path, lookup, text_of
from kvforensics.raw import Extractor
from kvforensics.tokens import TokenLimits, read_count, read_tokens

DAY_US = 86_400_000_000
KEYS = ("start_earliest", "start_latest", "length_us", "on_model")
SCHEMA = {
    "start_earliest": pl.Int64, "start_latest": pl.Int64, "length_us": pl.Int64, "on_model": pl.Boolean,
    "rows": pl.Int64, "tokens": pl.Int64, "requests": pl.Int64, "at_most": pl.Int64, "may_hold": pl.Boolean,
    "interval": pl.Float64,
}  # fmt: skip
_UNITS = {"s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


def read_buckets(
    values: Sequence[Any], extractor: Extractor, reader: ModelReader, incident: Incident, zone: str | None
) -> pl.DataFrame:
    """The buckets of sums, one row for each distinct time, length and answer to *is it the model?*.

    `tokens` and `requests` are sums, null where one is not told; `at_most` is the sum of the bounds of the rows, null where
    one has none; `may_hold` whether a row can hold a prompt that is not known to be below the threshold; `interval` the
    largest sampling interval, over 1 where sums are extrapolated.
    """
    fmt = extractor.format
    raw = extractor.batch(values)
    stamps = [_stamp(v, extractor) for v in values]
    told = raw.select(pl.coalesce("start", "stamp"))["start"]
    starts = pl.Series([a if a is not None else b for (a, _), b in zip(stamps, told, strict=True)], dtype=pl.String)
    times = read_instants(starts, zone or fmt.zone)
    lengths = [_microseconds(a or b) for (_, a), b in zip(stamps, raw["bucket"], strict=True)]
    limits = TokenLimits(template_allowance=0, absurd_over=None)
    tokens = read_tokens(
        raw, rule=fmt.cache_rule, incident_limits=limits, cache_visible=True, own_total=fmt.own_total, estimate=False
    )
    over, unsure = incident.prompt_tokens_over + 1, incident.uncertain_from
    t, r = pl.col("tokens"), pl.col("requests")
    frame = pl.DataFrame(
        {
            # A day or an hour is written by its first instant; where the zone is open, so is the start.
            "start_earliest": times["earliest"],
            "start_latest": times.select(_start_latest())["latest"],
            "length_us": pl.Series(lengths, dtype=pl.Int64),
            "on_model": read_model(raw, fmt, reader),
            "tokens": tokens["prompt_tokens_max"],
            "requests": read_count(raw["requests"], None)[0],
            "interval": raw["sample_interval"].cast(pl.Float64, strict=False),
        }
    ).with_columns(
        pl.min_horizontal(t // over, r).alias("at_most"),
        ((t >= unsure).fill_null(value=True) & (r != 0).fill_null(value=True)).alias("may_hold"),
        pl.lit(1, pl.Int64).alias("rows"),
    )
    return joined([frame.select(list(SCHEMA))])


def _start_latest() -> pl.Expr:
    """The last possible start: the precision of a text is no doubt about a bucket, only its zone is."""
    width = pl.col("latest") - pl.col("earliest")
    day = pl.when(pl.col("basis") == "date-only").then(pl.lit(DAY_US, pl.Int64)).otherwise(pl.lit(0, pl.Int64))
    certain = pl.when(width <= DAY_US).then(pl.col("earliest")).otherwise(pl.col("latest") - day)
    return certain.alias("latest")


def joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Several tables of buckets as one, without repeats, in total order."""
    known = {c: pl.col(c).null_count() == 0 for c in ("tokens", "requests", "at_most")}
    sums = [pl.when(told).then(pl.col(c).sum()).alias(c) for c, told in known.items()]
    grouped = pl.concat(frames).group_by(KEYS)
    return (
        grouped.agg(pl.col("rows").sum(), *sums, pl.col("may_hold").any(), pl.col("interval").max())
        .select(list(SCHEMA))
        .sort(KEYS, nulls_last=True)
    )


def _stamp(value: Any, extractor: Extractor) -> tuple[str | None, str | None]:
    """The start by the finest path of the format that is there, and the length that this path means."""
    for path, length in extractor.format.buckets.items():
        text = text_of(lookup(value, compile_path(path)))
        if text is not None:
            return text, length
    return None, None


def _microseconds(length: str | None) -> int | None:
    """A length such as `60s`, `5m`, `1h`, `1d`, or seconds."""
    if length is None:
        return None
    number, unit = (length[:-1], length[-1]) if length[-1:] in _UNITS else (length, "s")
    return int(number) * _UNITS[unit] if number.isdecimal() and 0 < int(number) < 10**7 else None
