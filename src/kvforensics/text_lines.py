"""What do lines of text say, by the patterns of the text formats?

Runs the patterns over a whole batch of lines at once. The first pattern of the first format that takes a line wins.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from kvforensics.spec import Format

_WHOLE = "whole_line"


class TextRows(Struct, frozen=True):
    """The lines that one pattern took: their places in the batch, and one text column a group."""

    format: Format
    rows: list[int]
    groups: pl.DataFrame


class TextReader:
    """Reads lines by the patterns of some formats."""

    def __init__(self, formats: Sequence[Format]) -> None:
        self._patterns = [(f, f"(?P<{_WHOLE}>{p})") for f in formats for p in f.pattern]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def read(self, lines: Sequence[str] | pl.Series) -> tuple[list[TextRows], list[int]]:
        """What was taken, in the order of the patterns, and the places of the lines that none took."""
        left = pl.DataFrame({"row": pl.Series(range(len(lines)), dtype=pl.Int64), "line": pl.Series(lines, dtype=pl.String)})
        taken = []
        for fmt, pattern in self._patterns:
            if left.is_empty():
                break
            groups = left["line"].str.extract_groups(pattern).struct.unnest()
            hit = groups[_WHOLE].is_not_null()
            if hit.any():
                found = groups.filter(hit).drop(_WHOLE)
                taken.append(TextRows(fmt, left["row"].filter(hit).to_list(), found))
                left = left.filter(~hit)
        return taken, left["row"].to_list()
