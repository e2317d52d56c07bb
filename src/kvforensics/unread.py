"""What is known of a source that no format explains?"""

from __future__ import annotations

from kvforensics.decompress import ByteStream
from kvforensics.detect import is_binary
from kvforensics.detect_parquet import PARQUET, parquet_names_model
from kvforensics.framing import newline_of
from kvforensics.gather import SourceState
from kvforensics.incident import Incident
from kvforensics.model_id import ModelReader
from kvforensics.parquet_rows import count_rows

# By their first bytes: what holds evidence that cannot be searched is not the same as a picture between the logs.
_CLOSED = (
    (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07", "rar"), (b"\x04\x22\x4d\x18", "lz4"), (b"\x02\x21\x4c\x18", "lz4"),
    (b"\x1f\x9d", "compress"), (b"LZIP", "lzip"), (b"\x89LZO", "lzop"), (b"\xff\x06\x00\x00sNaPpY", "snappy"),
    (b"Obj\x01", "avro"), (b"ORC", "orc"), (b"ARROW1", "arrow"), (b"PAR1", "parquet"), (b"PARE", "encrypted parquet"),
    (b"SQLite format 3\x00", "sqlite"), (b"age-encryption.org/", "encrypted"), (b"-----BEGIN PGP MESSAGE", "encrypted"),
    (b"Salted__", "encrypted"),
)  # fmt: skip
_TAR, _TAR_AT = b"ustar", 257


def close_stream(state: SourceState, stream: ByteStream) -> None:
    """Read to the end, so that the digest is that of the whole, and note what went wrong."""
    while stream.read(1 << 20):
        pass
    if stream.problem:
        state.problems.append(stream.problem)
        state.broken = True
    state.sha256, state.bytes = stream.sha256, stream.raw_bytes
    stream.close()


def count_unread(state: SourceState, stream: ByteStream, head: bytes, incident: Incident) -> None:
    """Count the lines of a text that no format explains as framing, and look whether it names the model."""
    reader = ModelReader(incident)
    text, newline = not is_binary(head), newline_of(head)
    tail, count, last = b"", 0, b""
    while chunk := stream.read(1 << 20):
        state.mentions = state.mentions or reader.mentions(tail + chunk)
        tail, last = chunk[-256:], chunk[-1:]
        count += chunk.count(newline)
    if text and last:
        count += last != newline
        state.tally.lines = state.tally.framing = count
    kind = closed_kind(head)
    if head.startswith(PARQUET) and state.source.path:
        # A table about something else is like a picture; one that cannot be opened may be about anything.
        rows = count_rows(str(state.source.path))
        state.tally.lines = state.tally.framing = rows or 0
        state.mentions = state.mentions or (bool(rows) and parquet_names_model(str(state.source.path), reader))
        kind = kind if rows is None else None
    close_stream(state, stream)
    state.problems.insert(0, "not_understood" if state.bytes else "empty")
    if kind is not None:
        state.problems.append(f"unsupported: {kind}")
        state.broken = True


def closed_kind(head: bytes) -> str | None:
    """Which archive, compression, database or encryption that is not read the bytes start, or None."""
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return "tar"
    return next((kind for magic, kind in _CLOSED if head.startswith(magic)), None)
