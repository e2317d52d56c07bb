"""How are millions of rows held in little memory, so that those of one request can still be read together?

Full pieces are held compressed, cut by the digest of the request's id into the same few parts in each table. A table that
never filled a piece is one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import polars as pl
from msgspec import Struct, field

PIECE = 65_536
"""Rows that wait to be packed."""
PARTS = 8


class Packed(Struct):
    """A table that rows are added to. Rows of one id (`rid`) stay in the order in which they came."""

    schema: Mapping[str, Any]
    height: int = 0
    _parts: tuple[list[bytes], ...] = field(default_factory=lambda: tuple([] for _ in range(PARTS)))
    _waiting: list[pl.DataFrame] = field(default_factory=list)
    _rows_waiting: int = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows that have the columns of the schema."""
        if rows.is_empty():
            return
        self.height += rows.height
        self._waiting.append(rows)
        self._rows_waiting += rows.height
        if self._rows_waiting >= PIECE:
            self._pack()

    @property
    def parts(self) -> int:
        """The parts that the table is cut into."""
        return PARTS if self.height > self._rows_waiting else 1

    def part(self, number: int, of: int) -> pl.DataFrame:
        """The rows of one part, of as many as the caller cuts all its tables into."""
        waiting = self._whole_waiting()
        if of == 1:
            return waiting
        packed = [_unpacked(piece) for piece in self._parts[number]]
        return pl.concat([*packed, waiting.filter(_part_of(waiting) == number)])

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """All rows, or some columns of them, piece by piece."""
        for part in self._parts:
            for piece in part:
                yield _unpacked(piece, columns)
        waiting = self._whole_waiting()
        yield waiting if columns is None else waiting.select(columns)

    def whole(self) -> pl.DataFrame:
        """All rows."""
        return pl.concat(self.pieces())

    def changed(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Packed:
        """The same rows with other values in some columns."""
        other = Packed(self.schema)
        for piece in self.pieces():
            other.add(change(piece))
        return other

    def _whole_waiting(self) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=self.schema), *self._waiting])

    def _pack(self) -> None:
        rows = pl.concat(self._waiting)
        self._waiting, self._rows_waiting = [], 0
        key = _part_of(rows)
        for number, part in enumerate(self._parts):
            data = BytesIO()
            rows.filter(key == number).rechunk().write_ipc(data, compression="zstd")
            part.append(data.getvalue())


def _part_of(rows: pl.DataFrame) -> pl.Series:
    return rows["rid"].hash() % PARTS


def _unpacked(piece: bytes, columns: Sequence[str] | None = None) -> pl.DataFrame:
    return pl.read_ipc(piece, columns=None if columns is None else list(columns))
