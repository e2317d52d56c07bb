"""What is in some columns of delimited text whose rows are all plain?

The fast reader splits rows as we do: a quote opens a cell only at its start and is doubled inside one, and what follows a
closing quote belongs to the cell. It refuses rows of another width. So where it finds as many rows as there are lines,
every row is one line with the right number of cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

from kvforensics.csv_rows import NULL_MARK, Dialect, is_utf8, row_pattern
from kvforensics.framing import UTF8_BOM

_BLANK = re.compile(rb"(?:\A|\n)[\t \r\x0b\x0c]+(?:\n|\Z)")
"""A line that is blank although it has cells."""
_READ_BYTES = 1 << 20
"""How much the fast reader splits at a time, small enough for the processor's cache."""


def read_columns(data: bytes, dialect: Dialect, names: Sequence[str]) -> tuple[pl.DataFrame, pl.Series] | None:
    """The cells of columns as text, one row for each line, and where the lines end.

    None where a row is not plain or open to doubt.
    """
    newline, width = dialect.newline, len(dialect.columns)
    if width < 2 or newline != b"\n" or not data or data.startswith(UTF8_BOM):
        return None
    if dialect.delimiter == b"\t" and _BLANK.search(data):
        return None
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    # A quote in the last line that does not close would end with the block.
    last = data.rfind(newline, 0, len(data) - 1) + 1
    if row_pattern(dialect, width).fullmatch(data, last) is None or not (data.isascii() or is_utf8(data)):
        return None
    places = {name: str(i) for i, name in enumerate(dialect.columns)}
    asked = [places[n] for n in names]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, column_names=list(places.values()), block_size=_READ_BYTES
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter.decode(), quote_char=dialect.quote.decode()
            ),
            convert_options=arrow_csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(asked, pa.string()), include_columns=asked,
                null_values=["", NULL_MARK.decode()], strings_can_be_null=True,
            ),
        )  # fmt: skip
    except pa.ArrowException:
        return None
    ends = _line_ends(data)
    if table.num_rows != len(ends):
        return None
    return pl.DataFrame(pl.from_arrow(table)).rename(dict(zip(asked, names, strict=True))), ends


def _line_ends(data: bytes) -> pl.Series:
    """Behind each line feed, and at the end."""
    held = pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])
    ends = (pl.Series(held) == ord(b"\n")).arg_true().cast(pl.Int64) + 1
    return ends if data.endswith(b"\n") else ends.extend_constant(len(data), 1)
