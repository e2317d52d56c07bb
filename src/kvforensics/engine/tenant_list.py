"""Whose requests are these, by a list that the operator keeps?"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from msgspec import Struct

from kvforensics.errors import UsageError

_COLUMNS = "columns: rid or bootstrap_room, tenant"


class TenantList(Struct, frozen=True):
    """Tenants by the id of the request, and by its room: each a sorted column of keys and one of tenants beside it."""

    by_rid: tuple[pl.Series, pl.Series]
    by_room: tuple[pl.Series, pl.Series]

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the tenants of the list, where it has them."""
        told = (_looked_up(*self.by_rid, rows["rid"]), _looked_up(*self.by_room, rows["room"]), rows["tenant"])
        return rows.with_columns(pl.select(pl.coalesce(t.cast(pl.String) for t in told)).to_series()
                                 .cast(pl.Categorical()).alias("tenant"))  # fmt: skip


def read_tenants(path: Path) -> TenantList:
    """A CSV of the columns `rid` or `bootstrap_room`, and `tenant`; the last line of a request holds.

    Raises `UsageError` for a file that is none, or names no tenant.
    """
    try:
        rows = pl.read_csv(path.read_bytes(), infer_schema=False, truncate_ragged_lines=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError("cannot be read as CSV", where=str(path), advice=_COLUMNS) from error
    rows = rows.rename({rows.columns[0]: rows.columns[0].removeprefix("\ufeff")})
    absent = [pl.lit(None, pl.String).alias(c) for c in ("rid", "bootstrap_room", "tenant") if c not in rows.columns]
    rows = rows.with_columns(absent).filter(pl.col("tenant").str.len_bytes() > 0)
    found = TenantList(
        _sorted(rows.select(pl.col("rid").replace("", None).alias("key"), "tenant")),
        _sorted(rows.select(pl.col("bootstrap_room").cast(pl.Int64, strict=False).alias("key"), "tenant")),
    )
    if not len(found.by_rid[0]) and not len(found.by_room[0]):
        raise UsageError("names no tenant", where=str(path), advice=_COLUMNS)
    return found


def _sorted(rows: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    last = rows.drop_nulls("key").unique("key", keep="last").sort("key")
    return last["key"], last["tenant"].cast(pl.Categorical())


def _looked_up(keys: pl.Series, values: pl.Series, wanted: pl.Series) -> pl.Series:
    if not len(keys):
        return values.clear(len(wanted))
    place = keys.search_sorted(wanted).clip(0, len(keys) - 1)
    return values.gather(pl.select(pl.when((keys.gather(place) == wanted).fill_null(value=False)).then(place)).to_series())
