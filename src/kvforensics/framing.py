"""Where does each line of a stream begin and end?

Blocks of whole lines go to whoever parses them, each with its offset and the number of its first line. Lines end at LF
(a CR before it stays in the line) or, in files that have no LF, at CR. The last line counts without its line end; a line
end makes no line of its own. Every byte of the input is in exactly one block, but for a byte order mark.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import polars as pl
from msgspec import Struct

BLOCK_SIZE = 4 << 20
MAX_LINE = 256 << 20
RANGE_SIZE = 64 << 20
EXCERPT = 200
UTF8_BOM = codecs.BOM_UTF8
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip


class Readable(Protocol):
    """Anything that gives bytes until it gives none."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, none at the end."""
        ...


class Block(Struct, frozen=True):
    """Whole lines. `first_line` is 1-based, `offset` in bytes of the decompressed stream."""

    data: bytes
    first_line: int
    offset: int
    lines: int
    reject: str | None = None
    """The reason why the one line of this block is no record (`oversize`, `unterminated_quote`)."""
    full_length: int | None = None
    """The true length in bytes where `data` holds only the start of the line."""
    sha256: str | None = None
    """Of the whole line with its line end, where `data` holds only the start of it."""
    is_plain: bool = False
    """Of delimited text: whether every line was seen to be one row that no two readers read differently."""
    cells: pl.DataFrame | None = None
    """Of delimited text of which every line is one row: what is in the columns that were asked for."""
    ends: pl.Series | None = None
    """Where the lines of such a block end in it."""

    @property
    def length(self) -> int:
        """The bytes of the stream that this block covers."""
        return len(self.data) if self.full_length is None else self.full_length

    def split(self, newline: bytes) -> list[bytes]:
        """The lines without their ends."""
        lines = self.data.split(newline)
        if not lines[-1]:
            lines.pop()
        return lines


class Range(Struct, frozen=True):
    """A part of a plain file that begins at a line start and ends after a line end."""

    offset: int
    length: int


def newline_of(head: bytes) -> bytes:
    """The byte that ends lines: CR only where the head has CR and no LF."""
    return b"\r" if b"\r" in head and b"\n" not in head else b"\n"


def encoding_of(head: bytes) -> str | None:
    """The encoding that a byte order mark tells (`utf-8`, `utf-16-le` and so on), None without a mark."""
    if head.startswith(UTF8_BOM):
        return "utf-8"
    return next((name for mark, name in _BOMS if head.startswith(mark)), None)


class Transcoded:
    """A UTF-16 or UTF-32 stream read as UTF-8. Offsets of what is read are offsets in the UTF-8 text."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = bytearray()
        self._first = True
        self._done = False

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes of UTF-8."""
        while not self._done and (size < 0 or len(self._ready) < size):
            chunk = self._stream.read(1 << 20)
            self._done = not chunk
            text = self._decoder.decode(chunk, final=self._done)
            if self._first and text:
                text, self._first = text.removeprefix("\ufeff"), False
            # A lone half of a surrogate pair has no UTF-8; it becomes the replacement character like any broken text.
            self._ready += text.encode("utf-8", "replace")
        cut = len(self._ready) if size < 0 else size
        data = bytes(self._ready[:cut])
        del self._ready[:cut]
        return data


def line_blocks(
    stream: Readable,
    newline: bytes = b"\n",
    block_size: int = BLOCK_SIZE,
    max_line: int = MAX_LINE,
    *,
    bom: bool = True,
) -> Iterator[Block]:
    """Blocks of about `block_size` bytes; a line longer than `max_line` bytes is one `oversize` block with its start only.

    A UTF-8 byte order mark at the start is left out (`bom`), offsets count it.
    """
    block_size = max(block_size, len(UTF8_BOM))
    if max_line < block_size:
        raise ValueError("max_line must not be below block_size")
    line, offset = 1, 0
    held: list[bytes] = []
    size = 0
    chunk = stream.read(block_size)
    while 0 < len(chunk) < len(UTF8_BOM) and (rest := stream.read(block_size - len(chunk))):
        chunk += rest
    if bom and chunk.startswith(UTF8_BOM):
        chunk, offset = chunk[3:] or stream.read(block_size), 3
    while chunk:
        cut = chunk.rfind(newline) + 1
        if not cut and size + len(chunk) > max_line:
            oversize, chunk = _long_line(stream, newline, block_size, [*held, chunk], line, offset)
            yield oversize
            line, offset, held, size = line + 1, offset + oversize.length, [], 0
            continue
        first = chunk.find(newline) + 1
        if cut and size + first > max_line:
            yield _oversize([*held, chunk[:first]], line, offset)
            line, offset, held, size = line + 1, offset + size + first, [], 0
            chunk = chunk[first:] or stream.read(block_size)
            continue
        if cut:
            data = b"".join((*held, chunk if cut == len(chunk) else memoryview(chunk)[:cut]))
            # Five times as fast as to count: this way the C library looks for the byte.
            count = len(data) - len(data.replace(newline, b""))
            yield Block(data, line, offset, count)
            line, offset = line + count, offset + len(data)
            held, size = [], 0
            chunk = chunk[cut:]
        if chunk:
            held.append(chunk)
            size += len(chunk)
        chunk = stream.read(block_size)
    if size:
        yield Block(b"".join(held), line, offset, 1)


def cut_block(block: Block, newline: bytes, block_size: int) -> Iterator[Block]:
    """A block of lines as smaller blocks, whose numbers and offsets go on from its own."""
    line, start, data = block.first_line, 0, block.data
    while start < len(data):
        end = data.rfind(newline, start, start + block_size) + len(newline)
        if end <= start:
            end = (data.find(newline, start) + len(newline)) or len(data)
            end = end if end > start else len(data)
        part = data[start:end]
        lines = part.count(newline) + (not part.endswith(newline))
        yield Block(part, line, block.offset + start, lines)
        line, start = line + lines, end


def _oversize(pieces: list[bytes], line: int, offset: int) -> Block:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    start = b"".join(p[:EXCERPT] for p in pieces[:EXCERPT])[:EXCERPT]
    return Block(start, line, offset, 1, "oversize", sum(map(len, pieces)), digest.hexdigest())


def _long_line(
    stream: Readable, newline: bytes, block_size: int, pieces: list[bytes], line: int, offset: int
) -> tuple[Block, bytes]:
    """Read on to the end of a line that is too long to be held; returns it and what was read behind it."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    start = b"".join(p[:EXCERPT] for p in pieces[:EXCERPT])[:EXCERPT]
    length, rest = sum(map(len, pieces)), b""
    pieces.clear()
    while chunk := stream.read(block_size):
        cut = chunk.find(newline) + 1 or len(chunk)
        ended = chunk[cut - 1 : cut] == newline
        digest.update(chunk[:cut])
        length += cut
        if ended:
            rest = chunk[cut:] or stream.read(block_size)
            break
    return Block(start, line, offset, 1, "oversize", length, digest.hexdigest()), rest


def line_ranges(path: Path, size: int, newline: bytes = b"\n", range_size: int = RANGE_SIZE) -> list[Range]:
    """The first `size` bytes of a plain file, cut after line ends about every `range_size` bytes."""
    ranges = []
    with path.open("rb", buffering=0) as file:
        start = 0
        while start < size:
            end = min(start + range_size, size)
            file.seek(end - 1)  # a cut right after a line end needs no search
            while end < size and (chunk := file.read(1 << 20)):
                found = chunk.find(newline)
                if found >= 0:
                    end = min(file.tell() - len(chunk) + found + 1, size)
                    break
                end = min(file.tell(), size)
            ranges.append(Range(start, end - start))
            start = end
    return ranges


class Part:
    """A part of a file that reads like a whole one."""

    def __init__(self, file: BinaryIO, part: Range) -> None:
        self._file = file
        self._left = part.length
        file.seek(part.offset)

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, none at the end of the part."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def read_range_blocks(
    path: Path, part: Range, newline: bytes = b"\n", block_size: int = BLOCK_SIZE, max_line: int = MAX_LINE
) -> Iterator[Block]:
    """The blocks of one range. Offsets are those of the file, line numbers count from 1 in the range."""
    with path.open("rb", buffering=0) as file:
        for block in line_blocks(Part(file, part), newline, block_size, max_line, bom=part.offset == 0):
            yield Block(
                block.data, block.first_line, block.offset + part.offset, block.lines, block.reject, block.full_length,
                block.sha256,
            )  # fmt: skip
