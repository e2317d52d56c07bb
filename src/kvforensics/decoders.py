"""What do compressed chunks hold, member after member, and where do they break off?

One loop for gzip, zstd, bzip2 and xz. A damage is raised after everything readable before it has been given; a damaged
file is read a second time, with small steps, because a fast decompressor drops what it had ready when it met the damage.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import IO, Any

import zstandard

_fast_zlib: ModuleType = zlib
try:
    from isal import isal_zlib
except ImportError:  # there are no wheels of it for some machines
    pass
else:
    _fast_zlib = isal_zlib

ZSTD_WINDOW = 1 << 31
XZ_MEMORY = 1 << 30
_OUT = 1 << 20
_ZSTD_STEP = 16 << 10  # zstd output cannot be limited a call: small steps keep a bomb small
_ZSTD_FIRST = 256
_DENSE = 64
_ALL = 1 << 30
_BLIND_STEP = 4 << 10
_GZIP_FLAGS = 31
_MAGIC = {
    "gzip": b"\x1f\x8b",
    "zstd": b"\x28\xb5\x2f\xfd",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zip": b"PK\x03\x04",
}
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f

_BROKEN: tuple[type[Exception], ...] = (
    zlib.error, _fast_zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError, MemoryError,
)  # fmt: skip


class Damage(Exception):
    """The stream ends here; the text is the problem code."""


def compression_of(head: bytes) -> str | None:
    """`gzip`, `zstd`, `bzip2`, `xz` or `zip` by the first bytes, None where it is none of them."""
    if head.startswith(b"BZh") and not (head[3:4].isdigit() and head[4:6] in (b"1A", b"\x17r", b"1", b"\x17", b"")):
        return None
    if _is_skippable(head) or head.startswith(b"PK\x05\x06"):
        return "zstd" if _is_skippable(head) else "zip"
    return next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), None)


def _is_skippable(head: bytes) -> bool:
    return len(head) > 3 and 0x50 <= head[0] <= 0x5F and head[1:4] == _ZSTD_SKIPPABLE


def _starts(kind: str, head: bytes) -> bool:
    return head.startswith(_MAGIC[kind]) or (kind == "zstd" and _is_skippable(head))


def _new(kind: str, *, careful: bool) -> Any:
    if kind == "gzip":
        return (zlib if careful else _fast_zlib).decompressobj(_GZIP_FLAGS)
    if kind == "zstd":
        return zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)


def _fed(kind: str, engine: Any, data: bytes) -> Iterator[bytes]:
    """What one piece of input gives, in pieces of bounded size where the engine can bound them."""
    if kind == "zstd":
        yield engine.decompress(data)
        return
    while True:
        out = engine.decompress(data, _OUT)
        yield out
        if engine.eof:
            return
        if kind == "gzip":
            data = engine.unconsumed_tail
            if not data and len(out) < _OUT:
                return
        else:
            data = b""
            if engine.needs_input:
                return


class _Pace:
    """How much is fed at once where the output of a step cannot be limited: little where little gives much."""

    def __init__(self, kind: str, *, blind: bool) -> None:
        self._most = _BLIND_STEP if blind else _ZSTD_STEP if kind == "zstd" else _ALL
        self._size = _ZSTD_FIRST if kind == "zstd" else self._most

    def steps(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            at = 0
            while at < len(chunk):
                size = self._size
                yield chunk if not at and len(chunk) <= size else chunk[at : at + size]
                at += size

    def gave(self, fed: int, out: int) -> None:
        if self._most < _ALL:
            self._size = min(2 * self._size, self._most) if out < _DENSE * fed else _ZSTD_FIRST


def decoded(kind: str, chunks: Iterator[bytes], again: Callable[[], IO[bytes]] | None) -> Iterator[bytes]:
    """The decompressed bytes. `again` opens the same stored bytes from the start, None where that cannot be done.

    Raises `Damage` at the end where the input is `truncated`, `corrupt: KIND` or has `trailing_garbage`.
    """
    engine: Any = None
    position = start = given = 0  # stored bytes fed, where the member started, bytes it gave
    rest = b""
    seen_member = False
    pace = _Pace(kind, blind=again is None)
    for step in pace.steps(chunks):
        rest += step
        while rest:
            if engine is None:
                padded = len(rest)
                # Tapes and block copies pad with zeros; only behind a member, where a zero can start nothing.
                rest = rest.lstrip(b"\0") if seen_member else rest
                position += padded - len(rest)
                if len(rest) < 6 and not _starts(kind, rest):
                    break
                if not _starts(kind, rest):
                    raise Damage("trailing_garbage")
                engine, start, given, seen_member = _new(kind, careful=False), position, 0, True
            before = given
            try:
                for out in _fed(kind, engine, rest):
                    if out:
                        given += len(out)
                        yield out
            except _BROKEN:
                if again is not None:
                    yield from _second_reading(kind, again, start, position, len(rest), given)
                raise Damage(f"corrupt: {kind}") from None
            pace.gave(len(rest), given - before)
            left = engine.unused_data if engine.eof else b""
            position += len(rest) - len(left)
            rest = left
            if engine.eof:
                engine = None
    if engine is not None:
        if kind == "gzip":
            yield engine.flush()
        raise Damage("truncated")
    if rest:
        raise Damage("truncated" if _MAGIC[kind].startswith(rest) else "trailing_garbage")


def _second_reading(
    kind: str, again: Callable[[], IO[bytes]], start: int, damaged: int, length: int, given: int
) -> Iterator[bytes]:
    """What a member gives beyond `given` bytes when its last piece is fed byte by byte."""
    engine = _new(kind, careful=True)
    done = 0
    try:
        with again() as file:
            file.seek(start)
            while file.tell() < damaged + length and not engine.eof:
                at = file.tell()
                data = file.read(min(_ZSTD_STEP, damaged - at) if at < damaged else 1)
                if not data:
                    return
                for out in _fed(kind, engine, data):
                    fresh = out[max(0, given - done) :]
                    done += len(out)
                    if fresh:
                        yield fresh
    except _BROKEN:
        return
