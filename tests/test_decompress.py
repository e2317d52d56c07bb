"""Compressed sources, damaged and whole."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kvforensics import decoders, unpack
from kvforensics.decompress import ByteStream, compression_of, digest_file, open_stream
from kvforensics.errors import EvidenceError
from kvforensics.source import Source, find_sources

LINES = b"".join(b'{"id":%d,"digest":"%s"}\n' % (i, hashlib.sha256(b"%d" % i).hexdigest().encode()) for i in range(100))
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda b: gzip.compress(b, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress,
}


def opened(folder: Path, data: bytes, **options: int) -> ByteStream:
    path = folder / "a"
    path.write_bytes(data)
    return open_stream(Source("a", path, 0, size=len(data)), **options)


def outcome(folder: Path, data: bytes, **options: int) -> tuple[bytes, str | None]:
    with opened(folder, data, **options) as stream:
        content = stream.read()
        assert stream.read() == b""
        assert stream.sha256 == hashlib.sha256(data).hexdigest()
        assert stream.raw_bytes == stream.position_raw == len(data)
        return content, stream.problem


@pytest.mark.parametrize("kind", CODECS)
def test_a_compressed_file_is_known_by_its_content_and_read_whole(tmp_path: Path, kind: str) -> None:
    data = CODECS[kind](LINES)
    assert compression_of(data) == kind
    assert outcome(tmp_path, data) == (LINES, None)
    assert outcome(tmp_path, CODECS[kind](b"")) == (b"", None)


@pytest.mark.parametrize("kind", CODECS)
def test_members_one_after_the_other_and_zero_padding_are_read_on(tmp_path: Path, kind: str) -> None:
    member = CODECS[kind](LINES)
    assert outcome(tmp_path, member * 3) == (LINES * 3, None)
    assert outcome(tmp_path, member + bytes(1024)) == (LINES, None)
    assert outcome(tmp_path, member + bytes(512) + member) == (LINES * 2, None)
    assert outcome(tmp_path, CODECS[kind](b"") + member) == (LINES, None)


@pytest.mark.parametrize("kind", CODECS)
def test_garbage_behind_a_member_is_named_and_a_cut_member_is_too(tmp_path: Path, kind: str) -> None:
    member = CODECS[kind](LINES)
    assert outcome(tmp_path, member + b"garbage") == (LINES, "trailing_garbage")
    assert outcome(tmp_path, member + b"x") == (LINES, "trailing_garbage")
    for length in (2, 3, 5):
        assert outcome(tmp_path, member + member[:length])[1] == "truncated"


@pytest.mark.parametrize("kind", CODECS)
def test_a_file_cut_anywhere_gives_a_prefix_and_is_named_truncated(tmp_path: Path, kind: str) -> None:
    data = CODECS[kind](LINES[:600])
    longest = 0
    for cut in range(6, len(data)):
        content, problem = outcome(tmp_path, data[:cut])
        assert problem == "truncated"
        assert LINES.startswith(content)
        assert len(content) >= longest
        longest = len(content)
        if kind == "gzip":
            assert content == zlib.decompressobj(31).decompress(data[:cut])


@pytest.mark.parametrize("kind", CODECS)
def test_a_flipped_bit_is_named_and_what_came_before_it_is_given(tmp_path: Path, kind: str) -> None:
    member = CODECS[kind](LINES)
    bad = bytearray(member)
    bad[len(bad) * 3 // 4] ^= 0x10
    content, problem = outcome(tmp_path, member + bytes(bad))
    assert problem == f"corrupt: {kind}"
    assert content.startswith(LINES)
    if kind == "gzip":
        assert len(content) > len(LINES) * 1.5


def test_a_damage_deep_in_a_large_file_costs_only_what_is_behind_it(tmp_path: Path) -> None:
    lines = b"".join(hashlib.sha256(b"%d" % i).hexdigest().encode() + b"\n" for i in range(60_000))
    data = bytearray(CODECS["gzip"](lines))
    at = len(data) // 2
    data[at : at + 40] = b"\xff" * 40
    content, problem = outcome(tmp_path, bytes(data))
    same = next(i for i in range(len(lines), -1, -1000) if lines[: max(i, 0)] == content[: max(i, 0)])
    assert problem == "corrupt: gzip"
    assert len(lines) * 0.49 < same <= len(content)


@given(st.binary(max_size=300))
def test_any_bytes_behind_a_magic_number_never_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    for magic in (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"PK\x03\x04", b""):
        with opened(tmp_path_factory.getbasetemp(), magic + data) as stream:
            stream.read()
            assert magic == b"" or stream.problem is not None


@pytest.mark.parametrize("data", [b"", b"\x1f", b"BZhello", b"PKzip", b'{"a":1}\n', b"\x00" * 10])
def test_what_is_not_compressed_is_given_as_it_is(tmp_path: Path, data: bytes) -> None:
    assert outcome(tmp_path, data) == (data, None)


@pytest.mark.parametrize("kind", CODECS)
def test_a_bomb_is_stopped_at_the_ratio(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "EXPANSION_FLOOR", 1 << 20)
    data = CODECS[kind](bytes(20 << 20))
    with opened(tmp_path, data, expansion_ratio=10) as stream:
        total = sum(len(piece) for piece in iter(lambda: stream.read(1 << 20), b""))
        assert stream.problem == "expansion_limit"
        assert total < 20 << 20
    with opened(tmp_path, data, expansion_ratio=10_000_000) as stream:
        assert len(stream.read()) == 20 << 20
        assert stream.problem is None


def test_the_slower_library_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoders, "_fast_zlib", zlib)
    assert outcome(tmp_path, CODECS["gzip"](LINES) * 2) == (LINES * 2, None)


def test_read_and_readinto_and_peek_give_the_bytes_in_order(tmp_path: Path) -> None:
    with opened(tmp_path, CODECS["zstd"](LINES)) as stream:
        assert stream.peek(10) == LINES[:10]
        assert stream.read(0) == b""
        assert stream.read(5) == LINES[:5]
        buffer = bytearray(7)
        count = stream.readinto(buffer)
        assert bytes(buffer[:count]) == LINES[5 : 5 + count]
        assert stream.peek(1 << 20) == LINES[5 + count :]
        assert stream.read() == LINES[5 + count :]
        assert stream.readinto(buffer) == 0
        assert (stream.compression, stream.bytes_out) == ("zstd", len(LINES))


def test_a_stream_can_be_closed_before_its_end(tmp_path: Path) -> None:
    stream = opened(tmp_path, os.urandom(30 << 20))
    assert len(stream.read(10)) == 10
    stream.close()
    assert stream.read() == b""


def test_a_file_that_grows_while_it_is_read_is_named(tmp_path: Path) -> None:
    stream = opened(tmp_path, bytes(20 << 20))  # more than the queue holds, so that the reader has to wait
    stream.read(1)
    with (tmp_path / "a").open("ab") as file:
        file.write(b"more")
    stream.read()
    assert stream.problem == "changed_while_read"


def test_a_file_that_is_replaced_while_it_is_read_is_named(tmp_path: Path) -> None:
    stream = opened(tmp_path, bytes(20 << 20))
    stream.read(1)
    (tmp_path / "b").write_bytes(bytes(20 << 20))
    (tmp_path / "b").replace(tmp_path / "a")
    stream.read()
    assert stream.problem == "changed_while_read"


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with open_stream(Source("a", tmp_path / "none", 0)) as stream:
        assert (stream.read(), stream.problem) == (b"", "missing")
    with open_stream(Source("a", tmp_path, 0)) as stream:
        assert (stream.read(), stream.problem) == (b"", "unreadable")
    with open_stream(Source("a", tmp_path, 0, skipped="fifo")) as stream:
        assert (stream.read(), stream.problem) == (b"", "fifo")


def test_a_file_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    with open_stream(Source("a", tmp_path / "a", 0)) as stream:
        assert (stream.read(), stream.problem) == (b"", "permission")


def test_standard_input_is_read_and_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = CODECS["gzip"](LINES)
    for given_bytes, wanted in ((data, (LINES, None)), (LINES, (LINES, None))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given_bytes)))
        with open_stream(Source("-", None, 0)) as stream:
            assert (stream.read(), stream.problem) == wanted
            assert stream.sha256 == hashlib.sha256(given_bytes).hexdigest()


def zipped(folder: Path, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("m", content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("inner", [None, *CODECS])
def test_a_zip_member_is_read_even_where_it_is_compressed_itself(
    tmp_path: Path, method: int, inner: str | None
) -> None:
    path = zipped(tmp_path, CODECS[inner](LINES) if inner else LINES, method)
    [source] = find_sources([str(path)])
    with open_stream(source) as stream:
        assert (stream.read(), stream.problem) == (LINES, None)
        assert stream.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_damaged_zip_member_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path, LINES, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[2000] ^= 1
    path.write_bytes(bytes(data))
    [source] = find_sources([str(path)])
    with open_stream(source) as stream:
        stream.read()
        assert stream.problem == "corrupt: zip"


def test_an_encrypted_zip_member_and_a_zip_within_a_zip_are_named(tmp_path: Path) -> None:
    path = zipped(tmp_path, LINES)
    data = bytearray(path.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    with open_stream(find_sources([str(path)])[0]) as stream:
        assert (stream.read(), stream.problem) == (b"", "encrypted")
    (tmp_path / "in").mkdir()
    path = zipped(tmp_path, zipped(tmp_path / "in", LINES).read_bytes())
    with open_stream(find_sources([str(path)])[0]) as stream:
        assert (stream.read(), stream.problem) == (b"", "unsupported: zip within zip")


def test_a_plain_file_is_digested_apart(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(LINES * 400)
    seen: list[int] = []
    assert digest_file(path, seen.append) == (hashlib.sha256(LINES * 400).hexdigest(), len(LINES) * 400, False)
    assert seen[-1] == len(LINES) * 400

    def grow(_: int) -> None:
        with path.open("ab") as file:
            file.write(b"x") if file.tell() == len(LINES) * 400 else None

    assert digest_file(path, grow)[2] is True
    with pytest.raises(EvidenceError, match="missing"):
        digest_file(tmp_path / "none")


@pytest.mark.parametrize("outer", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
@pytest.mark.parametrize("inner", [gzip.compress, zstandard.compress])
def test_what_was_compressed_twice_is_read_to_the_lines(
    outer: Callable[[bytes], bytes], inner: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "a.gz").write_bytes(outer(inner(LINES)))
    with open_stream(find_sources([str(tmp_path / "a.gz")])[0]) as stream:
        assert (stream.read(), stream.problem) == (LINES, None)
    [source] = find_sources([str(zipped(tmp_path, outer(inner(LINES))))])
    with open_stream(source) as stream:
        assert (stream.read(), stream.problem) == (LINES, None)


def test_a_damage_below_another_compression_is_named_and_what_was_readable_is_given(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(gzip.compress(LINES * 4000)[:-9]))
    with open_stream(find_sources([str(tmp_path / "a.gz")])[0]) as stream:
        assert LINES * 3900 in stream.read()
        assert stream.problem == "truncated"


def test_a_zip_in_a_gzip_and_too_many_layers_are_no_logs_that_were_read(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(zipped(tmp_path, LINES).read_bytes()))
    with open_stream(find_sources([str(tmp_path / "a.gz")])[0]) as stream:
        assert (stream.read(), stream.problem) == (b"", "unsupported: zip within gzip")
    data = LINES
    for _ in range(4):
        data = gzip.compress(data)
    (tmp_path / "a.gz").write_bytes(data)
    with open_stream(find_sources([str(tmp_path / "a.gz")])[0]) as stream:
        assert (stream.read(), stream.problem) == (b"", "unsupported: gzip within gzip")


def test_what_expands_below_another_compression_is_limited_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "EXPANSION_FLOOR", 1 << 20)
    nothing = gzip.compress(b"") * 200_000  # four megabytes that hold nothing at all
    (tmp_path / "a.gz").write_bytes(gzip.compress(nothing))
    with open_stream(find_sources([str(tmp_path / "a.gz")])[0], expansion_ratio=10) as stream:
        assert (stream.read(), stream.problem) == (b"", "expansion_limit")
