"""How is one piece of a source scanned in a worker?"""

from __future__ import annotations

import gc
from pathlib import Path

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from kvforensics.framing import Block, Part, Range, Readable, cut_block, line_blocks, read_range_blocks
from kvforensics.framing_json import Reject, Unit, json_units
from kvforensics.framing_xml import Result, xml_results
from kvforensics.normalise import RECORD_COLUMNS
from kvforensics.parquet_tables import scan_parquet
from kvforensics.plan import Plan
from kvforensics.scan import Scanner
from kvforensics.scanned import Scanned, Setting
from kvforensics.tables import scan_copied, scan_csv, scan_row_blocks
from kvforensics.ties import stored

BLOCK_BYTES = 1 << 18
"""Small enough to stay in the processor's cache while a block is read several times."""
COLUMN_BYTES = 8 << 20
"""Large enough that a block is many rows, as whole columns are read at once."""
_FEW_LINES = 1 << 16
_INT = (
    "line", "byte_offset", "byte_length", "started_earliest", "started_latest", "prompt_tokens_min", "prompt_tokens_max",
    "completion_tokens", "duration_us", "first_token_us", "cached_tokens", "response_bytes", "unzoned_earliest",
    "unzoned_latest",
)  # fmt: skip
_BOOL = ("model_match", "has_output", "from_cache")
_TYPES = (
    dict.fromkeys(RECORD_COLUMNS, pa.large_string())
    | dict.fromkeys(_INT, pa.int64())
    | dict.fromkeys(_BOOL, pa.bool_())
    | dict.fromkeys(("http_status", "error_status"), pa.int32())
    | {
        "ids": pa.large_list(pa.struct([("kind", pa.large_string()), ("value", pa.large_string())])),
        "tags": pa.large_list(pa.large_string()), "reasons": pa.large_list(pa.large_string()),
        "sample_interval": pa.float64(), "raw": pa.large_binary(),
    }
)  # fmt: skip
EMPTY = pa.schema([(name, _TYPES[name]) for name in RECORD_COLUMNS]).empty_table()


class Piece(Struct, frozen=True):
    """A part of a source that one worker scans: a byte range, a block, some row groups, or the whole of it."""

    kind: str
    setting: Setting
    plan: Plan
    path: str | None = None
    offset: int = 0
    length: int = 0
    block: Block | None = None
    blocks: tuple[Block, ...] = ()
    whole: bool = True
    """Of delimited text: whether the last row cannot go on behind the piece."""


def scan_piece(piece: Piece, stream: Readable | None = None) -> Scanned:
    """Scan a piece; lines are counted from 1 at its start."""
    scanner = Scanner(piece.setting)
    plan = piece.plan
    # Text is read by whole columns, which pays where a block is many lines.
    text = plan.layered and not plan.only and any(f.pattern for f in plan.formats)
    size = COLUMN_BYTES if text else BLOCK_BYTES
    if piece.kind == "range" and piece.path:
        for block in read_range_blocks(Path(piece.path), Range(piece.offset, piece.length), plan.newline, size):
            scanner.lines(block, plan.newline)
    elif piece.kind == "block" and piece.block:
        whole = replace(piece.block, first_line=1)
        for block in (whole,) if whole.reject is not None else cut_block(whole, plan.newline, size):
            scanner.lines(block, plan.newline)
    elif piece.kind == "rows" and plan.dialect:
        # The header is in the first piece only.
        before = piece.blocks[0].first_line - 1
        dialect = replace(plan.dialect, header=plan.dialect.header and not before, lead=0 if before else plan.dialect.lead)
        scan_row_blocks(scanner, (replace(b, first_line=b.first_line - before) for b in piece.blocks), dialect)
    elif piece.kind == "table" and plan.dialect and piece.path:
        dialect = replace(plan.dialect, header=plan.dialect.header and not piece.offset)
        with Path(piece.path).open("rb", buffering=0) as file:
            part = Part(file, Range(piece.offset, piece.length))
            scan_csv(scanner, part, dialect, piece.offset, whole=piece.whole)
    elif piece.kind == "parquet" and piece.path:
        scan_parquet(scanner, piece.path, piece.offset, piece.length or None)
    elif stream is not None:
        _stream(scanner, stream, plan, size)
    return scanner.finish()


def scan_apart(piece: Piece, folder: Path | None) -> Scanned:
    """In a worker, which must not have to load more for it: the result of a piece, made to be handed over.

    The scanner of the last piece refers to itself, and would be held for long. Many ids of what was left out stay in a file
    of the folder, as to hand them over costs ten times as much.
    """
    gc.collect()
    scanned = scan_piece(piece)
    lines = scanned.left_out
    if folder is not None and isinstance(lines, pl.DataFrame) and lines.height > _FEW_LINES:
        scanned.left_out = stored(lines, folder)
    return scanned


def _stream(scanner: Scanner, stream: Readable, plan: Plan, size: int) -> None:
    if plan.container == "lines":
        for block in line_blocks(stream, plan.newline, size):
            scanner.lines(block, plan.newline)
    elif plan.container == "json":
        _json(scanner, stream, plan)
    elif plan.container == "csv" and plan.dialect:
        scan_csv(scanner, stream, plan.dialect)
    elif plan.container == "copy":
        scan_copied(scanner, line_blocks(stream, plan.newline, COLUMN_BYTES), plan.formats)
    elif plan.container == "xml":
        _xml(scanner, stream)


def _xml(scanner: Scanner, stream: Readable) -> None:
    for item in xml_results(stream):
        if isinstance(item, Result):
            scanner.row(item.value, item.ordinal, item.offset, item.data)
        else:
            scanner.reject(item.ordinal, item.offset, item.length, item.reason, item.data)


def _json(scanner: Scanner, stream: Readable, plan: Plan) -> None:
    for item in json_units(stream, plan.units):
        if isinstance(item, Unit):
            scanner.element(item)
        elif isinstance(item, Reject):
            scanner.reject(item.ordinal, item.offset, item.length, item.reason, item.data)
        else:
            scanner.skip()
