"""What do the spans of one request tell of each other?

The status of an HTTP span belongs to the model call around it. A span around several model calls may have added them up:
what it counts is then no prompt, only a bound of each, unless one of the calls counts the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from kvforensics.span_units import SUMS

BY_CHILD = "status_of_child_span"
_KEYS = ("trace_id", "span_id", "parent_span_id")
_READ = ("ids", "http_status", "outcome", "reasons", "prompt_tokens_min", "prompt_tokens_max", "token_basis")
_SETTLED = ("http_status", "outcome", "reasons", "prompt_tokens_min", "token_basis")


def settle(table: pa.Table, statuses: Mapping[tuple[str, str], int]) -> pa.Table:
    """The records with what their families tell. `statuses`: HTTP status of child spans by (trace, span) of the parent.

    The evidence stays apart where it contradicts itself: an error after a 2xx broke off.
    """
    frame = pl.DataFrame(pl.from_arrow(table.select(list(_READ))))
    spans = _spans(frame)
    if spans is None:
        return table
    frame = pl.concat([frame, spans], how="horizontal")
    before = frame
    if statuses:
        frame = _with_statuses(frame, statuses)
    frame = _without_sums(frame)
    for name in _SETTLED:
        if not frame[name].equals(before[name]):
            at = table.schema.get_field_index(name)
            column = frame[name].to_arrow(compat_level=pl.CompatLevel.oldest())
            table = table.set_column(at, table.schema.field(at), column.cast(table.schema.field(at).type))
    return table


def _spans(frame: pl.DataFrame) -> pl.DataFrame | None:
    """The ids of each record's span; None where no record has one, nor counts that may add up several calls."""
    listed = frame.select("ids").with_row_index("row").explode("ids", empty_as_null=True).unnest("ids")
    listed = listed.filter(pl.col("kind").is_in(_KEYS) & (pl.col("value") != ""))
    if not (listed["kind"] == "span_id").any() and not frame.select(_flagged().any()).item():
        return None
    rows = pl.DataFrame({"row": pl.Series(range(frame.height), dtype=listed["row"].dtype)})
    for key in _KEYS:
        own = listed.filter(pl.col("kind") == key).group_by("row").agg(pl.col("value").first().alias(key))
        rows = rows.join(own, on="row", how="left", maintain_order="left")
    return rows


def _with_statuses(frame: pl.DataFrame, statuses: Mapping[tuple[str, str], int]) -> pl.DataFrame:
    told = pl.DataFrame(
        [(*key, status) for key, status in statuses.items()],
        schema={"trace_id": pl.String, "span_id": pl.String, "told": frame["http_status"].dtype},
        orient="row",
    )
    frame = frame.join(told, on=["trace_id", "span_id"], how="left", maintain_order="left")
    takes = pl.col("told").is_not_null() & pl.col("http_status").is_null()
    broke_off = pl.col("told").is_between(200, 299) & (pl.col("outcome") == "failed").fill_null(value=False)
    return frame.with_columns(
        pl.when(takes & ~broke_off).then("told").otherwise("http_status").alias("http_status"),
        pl.when(takes & broke_off).then(pl.lit("aborted")).otherwise("outcome").alias("outcome"),
        pl.when(takes).then(pl.col("reasons").list.concat(pl.lit([BY_CHILD]))).otherwise("reasons").alias("reasons"),
    )


def _flagged() -> pl.Expr:
    return pl.col("reasons").list.contains(SUMS)


def _without_sums(frame: pl.DataFrame) -> pl.DataFrame:
    """Counts that may add up several calls become an upper bound of each."""
    flagged = _flagged()
    counted = frame.filter(pl.col("parent_span_id").is_not_null() & pl.col("prompt_tokens_max").is_not_null())
    if counted.is_empty() and not frame.select(flagged.any()).item():
        return frame
    children = counted.select(
        "trace_id", pl.col("parent_span_id").alias("span_id"), pl.col("span_id").alias("child"),
        pl.col("prompt_tokens_min").alias("low"), pl.col("prompt_tokens_max").alias("high"),
    )  # fmt: skip
    families = (
        frame.select("row", "trace_id", "span_id", "prompt_tokens_min", "prompt_tokens_max")
        .join(children, on=["trace_id", "span_id"], how="inner")
        .group_by("row")
        .agg(
            pl.col("child").n_unique().alias("children"),
            ((pl.col("low") == pl.col("prompt_tokens_min")) & (pl.col("high") == pl.col("prompt_tokens_max"))).any()
            .alias("confirmed"),
        )
    )  # fmt: skip
    frame = frame.join(families, on="row", how="left", maintain_order="left")
    may_be_sum = flagged | (pl.col("children") > 1)
    has_count = pl.col("prompt_tokens_min").is_not_null()
    is_sum = (may_be_sum & has_count & ~pl.col("confirmed").fill_null(value=False)).fill_null(value=False)
    others = pl.col("reasons").list.set_difference(pl.lit([SUMS]))
    return frame.with_columns(
        pl.when(is_sum).then(None).otherwise("prompt_tokens_min").alias("prompt_tokens_min"),
        pl.when(is_sum).then(pl.lit("unknown")).otherwise("token_basis").alias("token_basis"),
        pl.when(is_sum).then(others.list.concat(pl.lit([SUMS])))
        .when(flagged).then(others).otherwise("reasons").alias("reasons"),
    )  # fmt: skip
