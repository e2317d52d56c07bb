"""What does a Parquet file hold, as far as its first rows tell, and may it be about the model where that is not understood?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec.json import encode

from kvforensics.cells import plain_columns, records
from kvforensics.detect import SAMPLE_RECORDS, table_plans
from kvforensics.model_id import ModelReader
from kvforensics.parquet_rows import BROKEN, ParquetRows
from kvforensics.plan import Plan
from kvforensics.spec import Format
from kvforensics.wrapper_spec import Wrapper

PARQUET = b"PAR1"
_ROWS = 4096


def parquet_plans(path: str, formats: Sequence[Format], wrappers: Sequence[Wrapper]) -> list[Plan]:
    """The plan for a Parquet file, none where it is not understood."""
    try:
        with ParquetRows(path) as file:
            frame = next(file.frames(file.empty.columns, SAMPLE_RECORDS), file.empty)
        rows = list(records(plain_columns(frame)[0]))
    except BROKEN:
        return []
    return table_plans("parquet", rows, formats, wrappers)


def parquet_names_model(path: str, reader: ModelReader) -> bool:
    """Whether any cell names the model, or may, as it cannot be read. Pages are compressed, so the bytes do not tell."""
    try:
        with ParquetRows(path) as file:
            frames = (plain_columns(frame) for frame in file.frames(file.empty.columns, _ROWS))
            return any(reader.mentions(_written(frame, nested=bool(nested))) for frame, nested in frames)
    except BROKEN:
        return True


def _written(frame: pl.DataFrame, *, nested: bool) -> bytes:
    return encode(list(records(frame))) if nested else frame.write_ndjson().encode()
