"""Into which pieces is a table cut, so that several processes can read it?

Delimited text is cut at row borders while it is read, Parquet between its row groups. A piece knows nothing of the ones
before it but the offset of its first byte; whoever puts them together counts the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from kvforensics.framing import Block, Readable, line_ranges
from kvforensics.framing_csv import csv_blocks
from kvforensics.piece import COLUMN_BYTES, Piece
from kvforensics.plan import Plan
from kvforensics.scanned import Setting

GROUP_BYTES = 96 << 20
"""So many bytes of row groups are read together at most, but for one that has more itself."""


def even_share(size: int, most: int, workers: int) -> int:
    """The size of pieces of which each worker gets as many; they are few, as a piece costs some work whatever its size."""
    rounds = max(1, -(-size // (most * workers)))
    return -(-size // (rounds * workers)) + 1


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


def parquet_pieces(path: str, setting: Setting, plan: Plan, workers: int) -> Iterator[Piece]:
    """Pieces of whole row groups, about as much for each worker; the file as one piece where its footer cannot be read."""
    try:
        footer = pq.read_metadata(path)
        # A damaged footer may say less than nothing.
        sizes = [max(0, footer.row_group(i).total_byte_size) for i in range(footer.num_row_groups)]
    except (pa.ArrowException, OSError):
        sizes = []
    share = even_share(sum(sizes), GROUP_BYTES, workers)
    first, size, end = 0, 0, share
    for group, own in enumerate(sizes, 1):
        size += own
        # A piece ends nearest to where its share does, so that what one has too much the next has less.
        if group == len(sizes) or 2 * size + sizes[group] > 2 * end:
            yield Piece("parquet", setting, plan, path=path, offset=first, length=group - first)
            first, end = group, share * ((2 * size + share) // (2 * share) + 1)
    if not sizes:
        yield Piece("parquet", setting, plan, path=path)
