"""What stays of the lines that were not looked at closely?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import polars as pl
import pyarrow as pa
from msgspec import Struct, field

from kvforensics.paths import text_of
from kvforensics.reading import TIMES

SPANS = (*TIMES, "duration")
_WHOLE = {int, type(None)}


class Passed(Struct):
    """What was not looked at closely: times for the coverage, ids, and times and durations of the settled lines."""

    off_model: int = 0
    times: list[Any] = field(default_factory=list)
    ids: list[list[Any]] = field(default_factory=list)
    """One column for each id that a record can have, and one row for each record that has any."""
    tags: bytearray = field(default_factory=bytearray)
    """What each of them may contradict, see `clashes`."""
    settled: int = 0
    failed: list[bool] = field(default_factory=list)
    """Of each settled line whether it is outside as it was not answered."""
    starts: dict[str, list[Any]] = field(default_factory=lambda: {slot: [] for slot in SPANS})

    def remember(self, ids: Sequence[Sequence[Any]], tags: bytes) -> None:
        """Remember ids of records, column by column."""
        before = len(self.tags)
        if ids:
            self.ids += [[None] * before for _ in range(len(ids) - len(self.ids))]
            for column, more in zip_longest(self.ids, ids, fillvalue=[None] * len(tags)):
                column.extend(more)
            self.tags += tags

    def tag_column(self) -> pl.Series:
        """The tags as a column."""
        return pl.Series(pa.UInt8Array.from_buffers(pa.uint8(), len(self.tags), [None, pa.py_buffer(self.tags)]))


def texts(values: list[Any]) -> pl.Series:
    """Plain JSON values as a column of texts."""
    try:
        return pl.Series(values, dtype=pl.String)
    except TypeError:
        if set(map(type, values)) <= _WHOLE:
            with suppress(OverflowError):
                return pl.Series(values, dtype=pl.Int64).cast(pl.String)
        return pl.Series([v if type(v) is str else text_of(v) for v in values], dtype=pl.String)
