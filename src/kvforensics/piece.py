"""How is one piece of a source scanned in a worker?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from kvforensics.framing import Block, Range, Readable, cut_block, line_blocks, read_range_blocks
from kvforensics.framing_csv import csv_blocks, parse_rows
from kvforensics.framing_json import Reject, Unit, json_units
from kvforensics.normalise import RECORD_COLUMNS
from kvforensics.plan import Plan
from kvforensics.scan import Scanner
from kvforensics.scanned import Scanned, Setting

BLOCK_BYTES = 1 << 18
"""Small enough to stay in the processor's cache while a block is read several times."""
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


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a source that one worker scans: a byte range, a block, or the whole of it."""

    kind: str
    setting: Setting
    plan: Plan
    path: str | None = None
    offset: int = 0
    length: int = 0
    block: Block | None = None


def scan_piece(piece: Piece, stream: Readable | None = None) -> Scanned:
    """Scan a piece; lines are counted from 1 at its start."""
    scanner = Scanner(piece.setting)
    if piece.kind == "range" and piece.path:
        for block in read_range_blocks(Path(piece.path), Range(piece.offset, piece.length), piece.plan.newline, BLOCK_BYTES):
            scanner.lines(block, piece.plan.newline)
    elif piece.kind == "block" and piece.block:
        whole = replace(piece.block, first_line=1)
        for block in (whole,) if whole.reject is not None else cut_block(whole, piece.plan.newline, BLOCK_BYTES):
            scanner.lines(block, piece.plan.newline)
    elif piece.kind == "parquet" and piece.path:
        _parquet(scanner, piece.path)
    elif stream is not None:
        _stream(scanner, stream, piece.plan)
    return scanner.finish()


def _stream(scanner: Scanner, stream: Readable, plan: Plan) -> None:
    if plan.container == "lines":
        for block in line_blocks(stream, plan.newline, BLOCK_BYTES):
            scanner.lines(block, plan.newline)
    elif plan.container == "json":
        _json(scanner, stream, plan)
    elif plan.container == "csv" and plan.dialect:
        _csv(scanner, stream, plan)


def _json(scanner: Scanner, stream: Readable, plan: Plan) -> None:
    for item in json_units(stream, plan.units):
        if isinstance(item, Unit):
            scanner.unit(item.data, item.ordinal, item.offset, item.context)
        elif isinstance(item, Reject):
            scanner.reject(item.ordinal, item.offset, item.length, item.reason, item.data)
        else:
            scanner.skip()


def _csv(scanner: Scanner, stream: Readable, plan: Plan) -> None:
    dialect = plan.dialect
    if dialect is None:  # pragma: no cover - the caller checked
        return
    for block in csv_blocks(stream, dialect):
        parsed = parse_rows(block, dialect)
        scanner.skip(parsed.framing)
        scanner.blanks(parsed.blank)
        rows = zip(parsed.frame.iter_rows(named=True), parsed.lines, parsed.offsets, parsed.lengths, strict=True)
        for at, (row, line, offset, length) in enumerate(rows):
            start = offset - block.offset
            scanner.row(row, line, offset, block.data[start : start + length], parsed.reasons.get(at, ()))
        for reject in parsed.rejects:
            scanner.reject(reject.line, reject.offset, reject.length, reject.reason, reject.data)


def _parquet(scanner: Scanner, path: str) -> None:
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=8192):
                for values in _rows(batch):
                    row += 1
                    scanner.row(values, row, None, None)
    except (pa.ArrowException, OSError, ValueError):
        scanner.tally.problem = f"corrupt: parquet after row {row}"


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as JSON would say them: times as text, bytes as text where they are."""
    frame = pl.DataFrame(pl.from_arrow(batch))
    utc = "%Y-%m-%dT%H:%M:%S%.6f"
    times = []
    for name, kind in frame.schema.items():
        if isinstance(kind, pl.Datetime):
            local = pl.col(name).dt.convert_time_zone("UTC") if kind.time_zone else pl.col(name)
            times.append(local.dt.strftime(utc + ("Z" if kind.time_zone else "")))
        elif kind in (pl.Date, pl.Time, pl.Decimal):
            times.append(pl.col(name).cast(pl.String))
        elif kind == pl.Binary:
            times.append(pl.col(name).map_elements(lambda b: b.decode("utf-8", "replace"), return_dtype=pl.String))
    return frame.with_columns(times).iter_rows(named=True)
