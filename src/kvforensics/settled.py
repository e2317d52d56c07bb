"""Which records are outside whatever else is known of them?

A prompt that is surely below the threshold makes a record outside. Such a record is counted, and needs no further look
unless a record that may be flagged carries one of its ids. A replay is never settled: its own tokens do not count.
"""

from __future__ import annotations

import polars as pl

from kvforensics.incident import Incident

PARTS = ("on_model", "in_window", "over_threshold")


def is_settled(incident: Incident) -> pl.Expr:
    """Whether a canonical row is outside by its tokens, and no replay."""
    below = (pl.col("prompt_tokens_max") < incident.uncertain_from) & (
        pl.col("prompt_tokens_min") <= pl.col("prompt_tokens_max")
    ).fill_null(value=True)
    return below.fill_null(value=False) & ~pl.col("from_cache").fill_null(value=False)


def not_in_window(incident: Incident) -> pl.Expr:
    """Whether all of a row's interval of starts is outside the window, as query 110 reads it."""
    early = pl.col("started_latest") < incident.start_us
    late = pl.col("started_earliest") >= incident.uncertain_until_us
    ordered = pl.col("started_earliest") <= pl.col("started_latest")
    return (ordered & (early | late)).fill_null(value=False)
