"""Which rows of a table may name the affected model in a cell that is not read as a value?

A record of another model may keep a call of the affected one, such as an attempt that a router made before. Of such rows the
cells are looked at one by one; here is only told which they are.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import polars as pl

from kvforensics.masks import Mask, some

BESIDE = "\x00beside"
"""The column that tells it of each row of a batch; no table can have one of that name."""


def marked(frame: pl.DataFrame, names: Sequence[str], marks: Sequence[str], wanted: Container[str]) -> pl.DataFrame:
    """The frame with `BESIDE`: whether one of the marks is in any of the columns, as far as the frame has them.

    Without those of them that are not wanted for anything else.
    """
    here = {n: told for n in names if n in frame.columns and (told := _under(n, pl.col(n), frame.schema[n], marks)) is not None}
    if not here:
        return frame
    frame = frame.with_columns(pl.any_horizontal(here.values()).fill_null(value=False).alias(BESIDE))
    return frame.drop(n for n in here if n not in wanted)


def that_may_name(schema: pl.Schema, names: Container[str], marks: Sequence[str]) -> list[str]:
    """Those of the columns of which a cell can have a text, or is under a name that has one of the marks."""
    return [n for n, kind in schema.items() if n in names and _under(n, pl.col(n), kind, marks) is not None]


def of_others(frame: pl.DataFrame, other: pl.Series) -> Mask:
    """Which rows of other models may tell of a call on the affected one, as far as the frame is `marked`."""
    return some(frame[BESIDE] & other) if BESIDE in frame.columns else None


def _under(key: str, held: pl.Expr, kind: object, marks: Sequence[str]) -> pl.Expr | None:
    """The same of a value under a key, which may be the name itself."""
    return held.is_not_null() if any(mark in key for mark in marks) else _names(held, kind, marks)


def _names(held: pl.Expr, kind: object, marks: Sequence[str]) -> pl.Expr | None:
    """Whether a value has one of the marks in a text, None where it can have no text."""
    if kind == pl.String:
        return held.str.contains_any(list(marks))
    if isinstance(kind, pl.Categorical | pl.Enum):
        return _names(held.cast(pl.String), pl.String(), marks)
    if kind == pl.Binary:
        return pl.any_horizontal(held.bin.contains(mark.encode()) for mark in marks)
    if isinstance(kind, pl.Struct):
        fields = [_under(f.name, held.struct.field(f.name), f.dtype, marks) for f in kind.fields]
        told = [f for f in fields if f is not None]
        return pl.any_horizontal(told) if told else None
    if isinstance(kind, pl.List | pl.Array):
        inside = _names(pl.element(), kind.inner, marks)
        held = held.arr.to_list() if isinstance(kind, pl.Array) else held
        return None if inside is None else held.list.eval(inside).list.any()
    return held.is_not_null() if isinstance(kind, pl.DataType) and kind.is_nested() else None
