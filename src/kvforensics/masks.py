"""Of which rows of a table does something hold?

Most of what is asked of a table holds of no row, which costs nothing to say.
"""

from __future__ import annotations

import polars as pl

Mask = pl.Series | None
"""Which rows something holds of; None for no row."""


def every(frame: pl.DataFrame) -> pl.Series:
    """All rows."""
    return pl.Series([True], dtype=pl.Boolean).new_from_index(0, frame.height)


def some(mask: pl.Series) -> Mask:
    """The rows of a column of truths."""
    return mask if mask.any() else None


def either(one: Mask, other: Mask) -> Mask:
    """The rows of one or the other."""
    return other if one is None else one if other is None else one | other


def both(one: Mask, other: Mask) -> Mask:
    """The rows of the one and the other."""
    return None if one is None or other is None else some(one & other)


def without(mask: Mask, frame: pl.DataFrame) -> Mask:
    """All other rows."""
    return every(frame) if mask is None else some(~mask)
