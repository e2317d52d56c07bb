"""What is known of a source that no format explains?"""

from __future__ import annotations

from kvforensics.decompress import ByteStream
from kvforensics.detect import PARQUET, is_binary, parquet_rows
from kvforensics.framing import newline_of
from kvforensics.gather import SourceState
from kvforensics.incident import Incident
from kvforensics.model_id import ModelReader


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
    if head.startswith(PARQUET) and state.source.path:
        state.tally.lines = state.tally.framing = parquet_rows(str(state.source.path))
    close_stream(state, stream)
    state.problems.insert(0, "not_understood" if state.bytes else "empty")
