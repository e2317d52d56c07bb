"""Lines, ranges and byte order marks."""

from __future__ import annotations

import hashlib
import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.framing import Block, Transcoded, encoding_of, line_blocks, line_ranges, newline_of, read_range_blocks


class Dribble:
    """A stream that gives what it likes, never more than asked."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._file = io.BytesIO(data)
        self._sizes = sizes
        self._turn = 0

    def read(self, size: int = -1, /) -> bytes:
        self._turn += 1
        own = self._sizes[self._turn % len(self._sizes)] if self._sizes else size
        return self._file.read(own if size < 0 else min(own, size))


LINES = st.lists(
    st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"bcd"]), max_size=40
).map(b"".join)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def oracle(data: bytes, newline: bytes) -> list[bytes]:
    lines = [line + newline for line in data.split(newline)]
    lines[-1] = lines[-1].removesuffix(newline)
    return lines if lines[-1] else lines[:-1]


def shape(blocks: list[Block]) -> None:
    for before, after in pairwise(blocks):
        assert after.offset == before.offset + before.length
        assert after.first_line == before.first_line + before.lines


@given(LINES, SIZES, st.sampled_from([b"\n", b"\r"]), st.integers(1, 20))
def test_every_byte_and_line_is_in_exactly_one_block_however_the_stream_is_read(
    data: bytes, sizes: list[int], newline: bytes, size: int
) -> None:
    blocks = list(line_blocks(Dribble(data, sizes), newline, size, 1000))
    bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    shape(blocks)
    assert b"".join(b.data for b in blocks) == data[bom:]
    assert sum(b.lines for b in blocks) == len(oracle(data[bom:], newline))
    assert all(b.data.endswith(newline) for b in blocks[:-1])
    if blocks:
        assert (blocks[0].first_line, blocks[0].offset) == (1, bom)


@given(LINES, SIZES, st.integers(3, 6), st.integers(0, 6))
def test_a_line_over_the_limit_is_one_oversize_block_with_its_true_length_and_digest(
    data: bytes, sizes: list[int], size: int, more: int
) -> None:
    limit = size + more
    blocks = list(line_blocks(Dribble(data, sizes), b"\n", size, limit, bom=False))
    shape(blocks)
    lines = oracle(data, b"\n")
    assert sum(b.length for b in blocks) == len(data)
    assert sum(b.lines for b in blocks) == len(lines)
    long = [line for line in lines if len(line) > limit]
    rejected = [b for b in blocks if b.reject]
    assert [b.length for b in rejected] == list(map(len, long))
    assert [b.sha256 for b in rejected] == [hashlib.sha256(line).hexdigest() for line in long]
    assert b"".join(b.data for b in blocks if not b.reject) == b"".join(line for line in lines if len(line) <= limit)


def test_an_oversize_block_keeps_only_the_first_200_bytes() -> None:
    [block] = line_blocks(io.BytesIO(b"x" * 5000), b"\n", 100, 1000)
    assert (block.data, block.length, block.lines, block.reject) == (b"x" * 200, 5000, 1, "oversize")


def test_a_limit_below_the_block_size_is_an_error() -> None:
    with pytest.raises(ValueError, match="max_line"):
        list(line_blocks(io.BytesIO(b""), b"\n", 10, 9))


@given(data=LINES, newline=st.sampled_from([b"\n", b"\r"]), size=st.integers(1, 30))
def test_ranges_cover_a_file_once_and_give_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, newline: bytes, size: int
) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "ranges"
    path.write_bytes(data)
    ranges = line_ranges(path, len(data), newline, size)
    assert sum(r.length for r in ranges) == len(data)
    assert all(data[: r.offset].endswith(newline) for r in ranges[1:])
    bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    blocks = [b for r in ranges for b in read_range_blocks(path, r, newline, 4, 1000)]
    assert b"".join(b.data for b in blocks) == data[bom:]
    assert all(data[b.offset : b.offset + b.length] == b.data for b in blocks)
    assert sum(b.lines for b in blocks) == len(oracle(data[bom:], newline))


@pytest.mark.parametrize(
    ("head", "newline"), [(b"a\nb", b"\n"), (b"a\r\nb", b"\n"), (b"a\rb", b"\r"), (b"", b"\n"), (b"a\r\rb\n", b"\n")]
)
def test_cr_ends_lines_only_where_there_is_no_lf(head: bytes, newline: bytes) -> None:
    assert newline_of(head) == newline


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@given(text=st.text(max_size=60), sizes=SIZES)
def test_marked_utf_16_and_32_are_read_as_utf_8(encoding: str, text: str, sizes: list[int]) -> None:
    raw = ("\ufeff" + text).encode(encoding)
    name = encoding_of(raw)
    assert name == encoding or text.startswith("\x00")
    stream = Transcoded(Dribble(raw, sizes), encoding)
    pieces = list(iter(lambda: stream.read(7), b""))
    assert b"".join(pieces).decode() == text


def test_only_a_mark_tells_an_encoding() -> None:
    assert encoding_of(b"\xef\xbb\xbf{}") == "utf-8"
    assert encoding_of(b"{}") is None
