"""Which records are outside whatever else is known of them?

A prompt that is surely below the threshold makes a record outside, and so does a request that surely was not answered.
Such a record is counted, and needs no further look unless a record that may be flagged carries one of its ids. A replay is
never settled: its own tokens do not count.
"""

from __future__ import annotations

import polars as pl

from kvforensics.clashes import FAILED, ON_MODEL, OVER, REPLAY, UNTOLD_REPLAY
from kvforensics.incident import Incident
from kvforensics.normalise import said_replay, served
from kvforensics.spec import Format
from kvforensics.tokens import read_count

_COUNTS = ("prompt", "cache_read", "cache_write", "total")
WEIGHING = frozenset((*_COUNTS, "from_cache", "replay_of"))
"""The slots of a raw batch that `tags_of_others` looks at."""


def is_settled(incident: Incident) -> pl.Expr:
    """Whether a canonical row is outside by its tokens, and no replay."""
    below = (pl.col("prompt_tokens_max") < incident.uncertain_from) & (
        pl.col("prompt_tokens_min") <= pl.col("prompt_tokens_max")
    ).fill_null(value=True)
    return below.fill_null(value=False) & ~pl.col("from_cache").fill_null(value=False)


def is_failed() -> pl.Expr:
    """Whether a canonical row is outside as it was surely not answered, as query 110 reads it, and tells nothing of its prompt.

    One that tells its prompt may be outside by that, by the threshold of its node.
    """
    status, error = pl.col("http_status"), pl.col("error_status")
    failed = (pl.col("outcome") == "failed") | (pl.col("outcome").is_null() & error.is_not_null())
    unserved = (
        pl.when(status.is_between(200, 299) | (status == 499) | (pl.col("outcome") == "aborted")).then(statement=False)
        .when(status >= 100).then(statement=True)
        .otherwise(failed & (error != 499).fill_null(value=True))
    )  # fmt: skip
    untold = pl.col("prompt_tokens_min").is_null() & pl.col("prompt_tokens_max").is_null()
    known = pl.col("has_output").fill_null(value=False) | pl.col("from_cache").fill_null(value=False)
    return unserved.fill_null(value=False) & untold & ~known


def are_failed(told: pl.DataFrame, raw: pl.DataFrame, fmt: Format) -> pl.Series:
    """`is_failed` of a raw batch, of which `normalise.settling` told the rest."""
    untold = told["prompt_tokens_min"].is_null() & told["prompt_tokens_max"].is_null()
    at = untold.arg_true()
    found = untold.clear().extend_constant(value=False, n=told.height)
    if at.is_empty():
        return found
    own = told[at]
    failed = own.hstack(raw[at].with_columns(own["completion_tokens"]).select(served(fmt))).select(f=is_failed())["f"]
    return found.scatter(at.filter(failed), values=True)


def not_in_window(incident: Incident) -> pl.Expr:
    """Whether all of a row's interval of starts is outside the window, as query 110 reads it."""
    early = pl.col("started_latest") < incident.start_us
    late = pl.col("started_earliest") >= incident.uncertain_until_us
    ordered = pl.col("started_earliest") <= pl.col("started_latest")
    return (ordered & (early | late)).fill_null(value=False)


def tags_of_others(raw: pl.DataFrame, over: int) -> pl.Series:
    """Of each raw record of another model what it may contradict, see `clashes`. `over` is exceeded strictly."""
    tags = pl.Series("tag", [0], dtype=pl.UInt8).new_from_index(0, raw.height)
    # So many counts can add up to a prompt, so that one of them is its share; what is no plain number is looked at too.
    told = [s for s in _COUNTS if raw[s].null_count() < raw.height]
    counts = [pl.col(s).cast(pl.Int64, strict=False).fill_null(over) for s in told]
    long = [(n >= over // len(told)) & pl.col(s).is_not_null() for s, n in zip(told, counts, strict=True)]
    if long:
        at = raw.select(l=pl.any_horizontal(long).fill_null(value=False))["l"].arg_true()
        counted = pl.DataFrame({s: read_count(raw[s][at], None)[0] for s in _COUNTS})
        prompt = pl.sum_horizontal("prompt", "cache_read", "cache_write")
        high = counted.select(h=(prompt > over) | (pl.col("total") > over).fill_null(value=False))["h"]
        tags = tags.scatter(at.filter(high), OVER)
    said = (raw["from_cache"] != "false").fill_null(value=False) | raw["replay_of"].is_not_null()
    if (at := said.arg_true()).len():
        replays = said_replay(raw[at]).fill_null(value=False)
        which = at.filter(replays)
        tags = tags.scatter(which, tags[which] | REPLAY)
    return tags


def tags_of_settled(frame: pl.DataFrame, match: pl.Series, failed: pl.Series | None = None) -> pl.Series:
    """The same of settled canonical rows; `match` tells which are on the model, `failed` which were not answered."""
    untold = pl.when(pl.col("from_cache").is_null()).then(ON_MODEL | UNTOLD_REPLAY).otherwise(ON_MODEL)
    sure = pl.lit(match.fill_null(value=False))
    tags = frame.select(tag=pl.when(sure).then(untold).otherwise(0).cast(pl.UInt8))["tag"]
    return tags if failed is None else tags.set(failed, FAILED)
