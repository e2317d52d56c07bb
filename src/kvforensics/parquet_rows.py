"""What is in some columns of a Parquet file, some rows at a time?

Polars reads it: it keeps a text that many rows share once, where Arrow would write it out for each of them. What Polars
does not read, or would read as another type, Arrow reads, with texts by their dictionaries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from polars.selectors import by_name

from kvforensics.arrow_types import is_bearable, known

BROKEN = (
    pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError,
)  # fmt: skip
"""What reading a file that is damaged raises."""
_CHANGED = "the file is another one than before"
_TWICE = "two columns have one name"
_FEWEST_ROWS = 64
_ARROW_ROWS = 8192
MOST_BYTES = 64 << 20
"""So many bytes of cells are held at once."""


class ParquetRows:
    """The rows of some row groups. Use it as a context manager."""

    def __init__(self, path: str, first: int = 0, count: int | None = None) -> None:
        """Row groups from `first` on, `count` of them or all. Raises one of `BROKEN`."""
        self._path = path
        self._file = pq.ParquetFile(path)
        about = self._file.metadata
        sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        self._groups = range(first, len(sizes) if count is None else first + count)
        if self._groups.stop > len(sizes):
            raise pa.ArrowInvalid(_CHANGED)
        self.before = sum(sizes[:first])
        """The rows of the file before these."""
        self._ends = list(accumulate(sizes[i] for i in self._groups))
        self.height = self._ends[-1] if self._ends else 0
        schema = self._file.schema_arrow
        self._names = {_plain_name(f.name): f.name for f in schema}
        self._types = {_plain_name(f.name): known(f.type) for f in schema}
        if len(self._types) < len(schema):
            raise pa.ArrowInvalid(_TWICE)
        empty = pl.DataFrame(pl.from_arrow(pa.schema(self._types.items()).empty_table()))
        self.empty = _spelled(empty)
        """The columns, without rows."""
        self.odd: dict[int, set[str]] = {}
        """The rows seen so far, counted from 0, with a text that is no UTF-8, and in which columns; such a text is null."""
        self._same = {n for n, kind in zip(self._types, schema.types, strict=True) if kind == self._types[n]}
        self._scan = self._lazy(empty.schema) if all(map(is_bearable, schema.types)) else None

    def _lazy(self, schema: pl.Schema) -> pl.LazyFrame | None:
        try:
            scan = pl.scan_parquet(self._path, glob=False, hive_partitioning=False, cache=False, use_statistics=False)
            told = {_plain_name(name): kind for name, kind in scan.collect_schema().items()}
        except BROKEN:
            return None
        return scan if all(told.get(name) == schema[name] for name in self._same) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def frames(self, names: Sequence[str], most: int) -> Iterator[pl.DataFrame]:
        """The columns of all rows, at most so many rows at once, fewer where their cells are long.

        Raises one of `BROKEN` behind the last row that can be read.
        """
        done, step = 0, min(most, self._few())
        while done < self.height:
            rows = self._whole(done, min(step, self.height - done))
            frame = self._read(names, done, rows)
            if frame is None:
                yield from self._by_arrow(names, done, step)
                return
            size = size_of(frame)
            yield from _bounded(frame, size)
            done += rows
            step = min(most, 8 * step, max(1, MOST_BYTES * rows // max(1, size)))

    def may_have(self, names: Sequence[str], pattern: str) -> bool:
        """Whether a text of any of these columns has a pattern, also where that cannot be told.

        Takes hardly more than the reading of the different texts of a column, where these are few.
        """
        try:
            return any(self._has(self._names[name], pattern) for name in names)
        except BROKEN:
            return True

    def _has(self, name: str, pattern: str) -> bool:
        if self._scan is None:
            return True
        held = self._scan.select(by_name(name)).slice(self.before, self.height)
        return bool(held.filter(by_name(name).as_expr().str.contains(pattern)).select(pl.len()).collect().item())

    def _whole(self, start: int, most: int) -> int:
        """How many rows from a place on are whole row groups, `most` where not even one is; a part of one costs all of it."""
        found = bisect_right(self._ends, start + most)
        return self._ends[found - 1] - start if found and self._ends[found - 1] > start else most

    def _few(self) -> int:
        """How many rows are not much in any of the row groups. What they say of columns is not asked: Arrow may not bear it."""
        about = [self._file.metadata.row_group(group) for group in self._groups]
        longest = max((g.total_byte_size // max(1, g.num_rows) for g in about), default=0)
        return max(_FEWEST_ROWS, MOST_BYTES // max(1, longest))

    def _read(self, names: Sequence[str], start: int, rows: int) -> pl.DataFrame | None:
        if self._scan is None or not self._same.issuperset(names):
            return None
        try:
            asked = by_name([self._names[n] for n in names])
            frame = self._scan.select(asked).slice(self.before + start, rows).collect()
            frame.columns = [_plain_name(name) for name in frame.columns]
        except BROKEN:
            self._scan = None
            return None
        return _spelled(frame) if frame.height == rows else None

    def _by_arrow(self, names: Sequence[str], start: int, step: int) -> Iterator[pl.DataFrame]:
        """The rows from a place on."""
        texts = [f.name for f in self._file.schema_arrow if _is_text(f.type)]
        columns = [self._names[n] for n in names]
        at = 0
        with pq.ParquetFile(self._path, read_dictionary=texts) as file:
            if not file.metadata.equals(self._file.metadata):
                raise pa.ArrowInvalid(_CHANGED)
            for group in self._groups:
                rows = file.metadata.row_group(group).num_rows
                if at + rows <= start:
                    at += rows
                    continue
                for batch in file.iter_batches(min(step, _ARROW_ROWS), row_groups=[group], columns=columns):
                    frame, odd = self._undone(batch)
                    for row, name in odd:
                        self.odd.setdefault(at + row, set()).add(name)
                    rest = frame[max(0, start - at) :]
                    yield from _bounded(rest, size_of(rest))
                    at += batch.num_rows

    def _undone(self, batch: pa.RecordBatch) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
        """A batch with texts instead of places in a dictionary, and where a text is no UTF-8, which is null now."""
        columns: dict[str, pl.Series] = {}
        odd: list[tuple[int, str]] = []
        for name, held in zip(map(_plain_name, batch.schema.names), batch.columns, strict=True):
            if pa.types.is_dictionary(held.type) and _is_text(held.type.value_type):
                texts, nulls = _texts(held.dictionary)
                codes = pl.Series(held.indices).cast(pl.Int64)
                if not codes.is_between(0, len(texts) - 1).all():
                    raise pa.ArrowInvalid(name)
                columns[name] = texts.gather(codes).alias(name)
                odd += ((row, name) for row in codes.is_in(list(nulls)).fill_null(value=False).arg_true()) if nulls else ()
            else:
                told = held if held.type == self._types[name] else held.cast(self._types[name])
                columns[name] = pl.Series(name, pl.from_arrow(told))
        return _spelled(pl.DataFrame(columns)), odd


def count_rows(path: str) -> int | None:
    """How many rows a Parquet file says it has, None where it cannot be read."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except BROKEN:
        return None


def _plain_name(name: str) -> str:
    """The name of a column as it is, but for one that Polars would take for a pattern of names, or give a name to."""
    return f"\x01{name}" if name[:1] in ("", "^", "*") else name


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(held: pa.Array) -> tuple[pl.Series, set[int]]:
    """Texts as a column, and which of them are no UTF-8."""
    try:
        held.validate(full=True)
    except pa.ArrowInvalid:
        found = [None if b is None else _text(b) for b in held.cast(pa.binary()).to_pylist()]
        return pl.Series(found, dtype=pl.String), {i for i, text in enumerate(found) if text is None}
    return pl.Series(pl.from_arrow(held)), set()


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _spelled(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with categories as texts, each of which is held once."""
    texts = []
    for column in frame:
        if column.dtype in (pl.Categorical, pl.Enum):
            known = column.unique()
            codes, names = known.to_physical(), known.cast(pl.String)
            told = column.to_physical().replace_strict(codes, names, return_dtype=pl.String)
            # Where there is no row the type is not what was asked for.
            texts.append(told.cast(pl.String).alias(column.name))
    return frame.with_columns(texts)


def _bounded(frame: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    """A frame of a size in parts that stay small even where every row has a copy of its texts."""
    if frame.height < 2 or size <= MOST_BYTES:
        yield frame
        return
    half = frame.height // 2
    for part in (frame[:half], frame[half:]):
        yield from _bounded(part, size_of(part))


def size_of(frame: pl.DataFrame) -> int:
    """How many bytes the texts of all rows have, and about how many all else."""
    sizes = [pl.col(pl.String).str.len_bytes(), pl.col(pl.Binary).bin.size()]
    own: list[int] = [size or 0 for size in frame.select(sizes).sum().row(0)]
    return sum(own) + int(frame.select(pl.exclude(pl.String, pl.Binary)).estimated_size())
