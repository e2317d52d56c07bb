"""Into which pieces is a table cut, so that several processes can read it?

Delimited text is cut at row borders while it is read, Parquet between its row groups. A piece knows nothing of the ones
before it but the offset of its first byte; whoever puts them together counts the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kvforensics.framing import Block, Readable, line_ranges
from kvforensics.framing_csv import csv_blocks
from kvforensics.piece import COLUMN_BYTES, Piece
from kvforensics.plan import Plan
from kvforensics.scanned import Setting

GROUP_BYTES = 24 << 20
"""Row groups are read together until they have so many bytes, as a process costs something to ask."""


def table_pieces(path: Path, size: int, setting: Setting, plan: Plan, most: int) -> Iterator[Piece]:
    """Delimited text cut at line ends. A row may go on behind one; then all pieces behind it are not to be used."""
    for cut in line_ranges(path, size, plan.dialect.newline, most) if plan.dialect else ():
        whole = cut.offset + cut.length == size
        yield Piece("table", setting, plan, path=str(path), offset=cut.offset, length=cut.length, whole=whole)


def csv_pieces(stream: Readable, setting: Setting, plan: Plan, start: int = 0) -> Iterator[Piece]:
    """Pieces of whole rows; rows that are broken go with those around them. `start` is the offset of the first byte."""
    held: list[Block] = []
    size = 0
    if start and plan.dialect:
        plan = replace(plan, dialect=replace(plan.dialect, header=False))
    for block in csv_blocks(stream, plan.dialect, COLUMN_BYTES, start=start) if plan.dialect else ():
        held.append(block)
        size += len(block.data)
        if size >= COLUMN_BYTES // 2:
            yield Piece("rows", setting, plan, blocks=tuple(held))
            held, size = [], 0
    if held:
        yield Piece("rows", setting, plan, blocks=tuple(held))


def parquet_pieces(path: str, setting: Setting, plan: Plan) -> Iterator[Piece]:
    """Pieces of whole row groups, the file as one piece where its footer cannot be read."""
    try:
        footer = pq.read_metadata(path)
        sizes = [footer.row_group(i).total_byte_size for i in range(footer.num_row_groups)]
    except (pa.ArrowException, OSError):
        sizes = []
    first = size = 0
    for group, own in enumerate(sizes):
        size += own
        if size >= GROUP_BYTES or group == len(sizes) - 1:
            yield Piece("parquet", setting, plan, path=path, offset=first, length=group + 1 - first)
            first, size = group + 1, 0
    if not sizes:
        yield Piece("parquet", setting, plan, path=path)
