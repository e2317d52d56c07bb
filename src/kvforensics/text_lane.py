"""Which lines of text need no reading line by line?

A block of lines that are text, with nothing around them, is read by the patterns of the text formats and its groups as
columns. A block in which a line could be a record or be in a wrapper is left to the careful way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kvforensics.columns import Columns, can_read
from kvforensics.framing import Block
from kvforensics.learned import Near
from kvforensics.normalise import Located
from kvforensics.raw import Extractor
from kvforensics.spec import Format
from kvforensics.stumps import Shapes
from kvforensics.table_lane import ROW, Rest, TableLane
from kvforensics.text_lines import TextReader, TextRows
from kvforensics.wrapper_spec import Wrapper, unnamed

_RECORD = rb"[ \t\r\v\f\xef\xbb\xbf]*(?:\{|\[\s*[\[{])"
"""What a line begins with that may be JSON: an object, or a nested list."""
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
        layers = [(w.holds.encode(), unnamed(w.pattern).encode()) for w in wrappers if w.pattern]
        self._record = _begins([_RECORD, *(pattern for held, pattern in layers if not held)])
        self._around = [(held, _begins([pattern])) for held, pattern in layers if held]
        self._columns: dict[tuple[str, tuple[str, ...]], Columns | None] = {}
        self._is_worth_it = bool(self._extractors)

    def take(self, block: Block) -> list[Near] | None:
        """Which lines are left; None where the whole block is. Its lines end with LF."""
        data = block.data
        if not self._is_worth_it or b"\x1b" in data or self._may_hold_records(b"\n" + data):
            return None
        texts, sizes = _lines(data.removesuffix(b"\n"))
        if len(texts) != block.lines:
            return None
        taken, others = self._reader.read(texts.str.strip_chars_end("\r\n"))
        self._is_worth_it = len(others) * _WORTH <= len(texts)
        starts = (sizes + 1).cum_sum() - sizes - 1
        left = list(others)

        def located(rows: Sequence[int]) -> list[Near]:
            at = list(rows)
            spans = zip(at, starts.gather(at).to_list(), sizes.gather(at).to_list(), strict=True)
            return [(data[s : s + size], block.first_line + i, block.offset + s) for i, s, size in spans]

        def locate(rows: Sequence[int]) -> Located:
            found = located(rows)
            raw = [line for line, _, _ in found]
            return Located([n for _, n, _ in found], [at for _, _, at in found], list(map(len, raw)), raw)

        rest: list[Rest] = []
        for rows in taken:
            columns = self._columns_of(rows)
            if columns is None:
                left += rows.rows
                continue
            frame = rows.groups.with_columns(pl.Series(ROW, rows.rows, dtype=pl.UInt32))
            self._shapes.record(dict.fromkeys(rows.groups.columns))
            held, unsure = self._lane.take(columns, frame)
            left += unsure
            rest.append((columns, held))
        settled, unsure = self._lane.settle(rest)
        left += unsure
        for near in settled:
            left += self._lane.keep(near, near.cells, locate)
        return located(sorted(left))

    def _may_hold_records(self, data: bytes) -> bool:
        """Whether a line may be a record, or in a wrapper; one search for all that needs no certain text."""
        if self._record.search(data) or (_LIST_END.search(data) and _LIST.search(data)):
            return True
        return any(
            around.search(b"\n" + b"\n".join([line for line in data.split(b"\n") if held in line]))
            for held, around in self._around if held in data
        )  # fmt: skip

    def _columns_of(self, rows: TextRows) -> Columns | None:
        fmt: Format = rows.format
        key = (fmt.name, tuple(rows.groups.columns))
        if key not in self._columns:
            extractor = self._extractors[fmt.name]
            self._columns[key] = Columns(extractor, key[1], ()) if can_read(extractor, key[1]) else None
        return self._columns[key]


def _begins(patterns: Sequence[bytes]) -> re.Pattern[bytes]:
    """Finds a line that begins with one of the patterns."""
    return re.compile(rb"\n(?:" + b"|".join(b"(?:%b)" % p for p in patterns) + rb")", re.MULTILINE)


def _lines(data: bytes) -> tuple[pl.Series, pl.Series]:
    """Lines as a column of texts, and how many bytes each has."""
    text = data.decode("utf-8", "replace")
    found = pl.Series(pc.split_pattern(pa.array([text], pa.large_string()), "\n").flatten(), dtype=pl.String)
    if "\ufffd" in text:
        # What stands for broken bytes is longer than they are.
        return found, pl.Series(list(map(len, data.split(b"\n"))), dtype=pl.Int64)
    return found, found.str.len_bytes().cast(pl.Int64)
