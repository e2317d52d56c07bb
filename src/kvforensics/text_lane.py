"""Which lines of text need no reading line by line?

A block of lines that are text, with nothing around them, is read by the patterns of the text formats and its groups as
columns. A block in which a line could be a record or be in a wrapper is left to the careful way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import polars as pl

from kvforensics.columns import Columns, can_read
from kvforensics.normalise import Located
from kvforensics.raw import Extractor
from kvforensics.spec import Format
from kvforensics.stumps import Shapes
from kvforensics.table_lane import ROW, TableLane
from kvforensics.text_lines import TextReader, TextRows
from kvforensics.wrapper_spec import Wrapper

_RECORD = re.compile(rb"\n[ \t\r\v\f\xef\xbb\xbf]*(?:\{|\[\s*[\[{])")
"""A line that may be JSON: an object, or a nested list."""
_LIST = re.compile(rb"\n[ \t\r\v\f\xef\xbb\xbf]*\[[^\n]*\][ \t\r]*(?:\n|\Z)")
"""A line that may be a list, as it ends as one. A stamp in brackets is none."""
_LIST_END = re.compile(rb"\][ \t\r]*(?:\n|\Z)")
"""Much quicker to look for, and seldom there."""
_WORTH = 2
"""One line in so many has to be taken, or the lane is not tried again."""


class TextLane:
    """Reads the text lines of one piece; what it does not take is for the careful way."""

    def __init__(
        self, lane: TableLane, extractors: Sequence[Extractor], wrappers: Sequence[Wrapper], shapes: Shapes
    ) -> None:
        self._lane, self._shapes = lane, shapes
        self._extractors = {e.format.name: e for e in extractors if e.format.pattern}
        self._reader = TextReader([e.format for e in extractors])
        self._around = [
            (w.holds.encode(), re.compile(rb"\n(?:" + w.pattern.encode() + rb")", re.MULTILINE)) for w in wrappers if w.pattern
        ]
        self._columns: dict[tuple[str, tuple[str, ...]], Columns | None] = {}
        self._is_worth_it = bool(self._extractors)

    def take(self, data: bytes, lines: Sequence[bytes], first: int, offset: int) -> list[tuple[int, int]] | None:
        """Which lines are left, and where each starts; None where the whole block is.

        The block begins with line `first` at `offset`; its lines end with LF.
        """
        if not self._is_worth_it or b"\x1b" in data or self._may_hold_records(b"\n" + data, lines):
            return None
        texts = pl.Series(data.decode("utf-8", "replace").removesuffix("\n").split("\n"), dtype=pl.String)
        if len(texts) != len(lines):
            return None
        taken, rest = self._reader.read(texts.str.strip_chars_end("\r\n"))
        self._is_worth_it = len(rest) * _WORTH <= len(lines)
        ends = list(accumulate(map(len, lines), initial=offset))
        left = list(rest)

        def locate(rows: Sequence[int]) -> Located:
            raw = [lines[i] for i in rows]
            return Located([first + i for i in rows], [ends[i] + i for i in rows], list(map(len, raw)), raw)

        for rows in taken:
            columns = self._columns_of(rows)
            if columns is None:
                left += rows.rows
                continue
            frame = rows.groups.with_columns(pl.Series(ROW, rows.rows, dtype=pl.UInt32))
            self._shapes.record(dict.fromkeys(rows.groups.columns))
            looked = self._lane.take(columns, frame)
            left += looked.unsure
            for near in looked.near:
                left += self._lane.keep(near, frame.filter(pl.col(ROW).is_in(near.rows.implode())), locate)
        return [(i, ends[i] + i) for i in sorted(left)]

    def _may_hold_records(self, data: bytes, lines: Sequence[bytes]) -> bool:
        if _RECORD.search(data) or (_LIST_END.search(data) and _LIST.search(data)):
            return True
        for held, around in self._around:
            if held in data:
                tried = b"\n" + b"\n".join([line for line in lines if held in line]) if held else data
                if around.search(tried):
                    return True
        return False

    def _columns_of(self, rows: TextRows) -> Columns | None:
        fmt: Format = rows.format
        key = (fmt.name, tuple(rows.groups.columns))
        if key not in self._columns:
            extractor = self._extractors[fmt.name]
            self._columns[key] = Columns(extractor, key[1], ()) if can_read(extractor, key[1]) else None
        return self._columns[key]
