"""What are the bytes of a source, once they are decompressed, and what was wrong with it?

A thread reads, digests and decompresses while the caller parses. Everything readable before a damage is delivered, and
the damage is named. Several members, frames or streams in one file are read on to the end, zero padding is tolerated.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Self

from kvforensics.decoders import Damage, compression_of
from kvforensics.source import Source, open_remote, zip_entries
from kvforensics.stored_file import FileState, digest_file, digest_of, file_state, is_unchanged, os_problem
from kvforensics.unpack import HEAD, unpacked, within

__all__ = ["EXPANSION_RATIO", "ByteStream", "compression_of", "digest_file", "open_stream"]

EXPANSION_RATIO = 1000
_RAW_READ = 256 << 10
_PLAIN_READ = 1 << 20
_PIECE = 1 << 20
_QUEUED = 8


class ByteStream:
    """The decompressed bytes of one source.

    `problem` is settled once `read` has returned nothing: None, or one of `truncated`, `corrupt: ...`,
    `trailing_garbage`, `expansion_limit`, `changed_while_read`, `permission`, `missing`, `unreadable`, `encrypted`,
    `unsupported: ...`. `sha256` and `raw_bytes` are those of the stored (compressed) file, for a zip member those of the
    zip file. After `expansion_limit` or a close before the end, `sha256` covers what was read of the file.
    """

    def __init__(self, produce: Callable[[ByteStream], Iterator[bytes]]) -> None:
        self.problem: str | None = None
        self.compression: str | None = None
        self.raw_bytes = 0
        self.bytes_out = 0
        self._digest = hashlib.sha256()
        self._fixed_digest: str | None = None
        self._queue: queue.Queue[bytes | None] = queue.Queue(_QUEUED)
        self._rest = memoryview(b"")
        self._ended = False
        self._closed = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(produce,), daemon=True, name="decompress")
        self._thread.start()

    @property
    def sha256(self) -> str:
        """The digest of the stored bytes, in hexadecimal."""
        return self._fixed_digest or self._digest.hexdigest()

    @property
    def position_raw(self) -> int:
        """How many stored bytes have been read, for progress."""
        return self.raw_bytes

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, fewer only at the end, none behind it."""
        pieces: list[bytes | memoryview] = []
        wanted = size
        while wanted and self._more():
            piece = self._rest if wanted < 0 else self._rest[:wanted]
            self._rest = self._rest[len(piece) :]
            wanted -= len(piece) if wanted > 0 else 0
            pieces.append(piece)
        return b"".join(pieces)

    def readinto(self, target: bytearray | memoryview) -> int:
        """Fill `target` as far as bytes are at hand; 0 at the end."""
        if not len(target) or not self._more():
            return 0
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def peek(self, size: int) -> bytes:
        """The next bytes, at most `size`, fewer only at the end; they stay to be read."""
        data = self.read(size)
        self._rest = memoryview(data + bytes(self._rest))
        return data

    def close(self) -> None:
        """Stop reading."""
        self._closed.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._thread.join()
        self._rest, self._ended = memoryview(b""), True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _more(self) -> bool:
        while not self._rest and not self._ended:
            piece = self._queue.get()
            if piece is None:
                self._ended = True
                self._thread.join()
                if self._failure is not None:
                    raise self._failure
            else:
                self._rest = memoryview(piece)
        return len(self._rest) > 0

    def _run(self, produce: Callable[[ByteStream], Iterator[bytes]]) -> None:
        try:
            for data in produce(self):
                self.bytes_out += len(data)
                for start in range(0, len(data), _PIECE):
                    if not self._put(data if len(data) <= _PIECE else data[start : start + _PIECE]):
                        return
        except Damage as damage:
            self.name_problem(str(damage))
        except OSError as error:
            self.name_problem(os_problem(error))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the bytes are read
            self._failure = error
        self._put(None)

    def _put(self, piece: bytes | None) -> bool:
        while not self._closed.is_set():
            try:
                self._queue.put(piece, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def name_problem(self, problem: str) -> None:
        """The first problem is the one that is told."""
        self.problem = self.problem or problem

    def stored(self, chunk: bytes) -> bytes:
        """Count and digest a chunk of the stored file."""
        self._digest.update(chunk)
        self.raw_bytes += len(chunk)
        return chunk

    def set_digest(self, digest: str, size: int) -> None:
        """The digest and size of a stored file that was digested apart."""
        self._fixed_digest, self.raw_bytes = digest, size


def open_stream(source: Source, *, expansion_ratio: int = EXPANSION_RATIO, filesystem: Any = None) -> ByteStream:
    """The bytes of a source. Never raises for bad evidence: the stream ends early and names its `problem`.

    `expansion_ratio` is how many times the stored size may come out, once more than 64 MiB have.
    """

    def produce(stream: ByteStream) -> Iterator[bytes]:
        if source.skipped:
            raise Damage(source.skipped)
        if source.member is not None and source.path is not None:
            yield from _zip_member(stream, source, expansion_ratio)
        elif source.path is not None:
            yield from _file(stream, source.path, expansion_ratio)
        elif source.remote is not None:
            yield from _remote(stream, source.remote, filesystem, expansion_ratio)
        else:
            yield from _expand(stream, sys.stdin.buffer.read, None, expansion_ratio)

    return ByteStream(produce)


def _file(stream: ByteStream, path: Path, ratio: int) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        before = file_state(os.fstat(file.fileno()))

        def again() -> IO[bytes]:
            return path.open("rb")

        try:
            yield from _expand(stream, file.read, again, ratio)
        finally:
            if stream.problem != "expansion_limit":
                _check_unchanged(stream, path, before, file.fileno())


def _check_unchanged(stream: ByteStream, path: Path, before: FileState, descriptor: int) -> None:
    if not is_unchanged(path, descriptor, before):
        stream.problem = "changed_while_read"  # outranks a damage: that may be the writer's half of the file


def _remote(stream: ByteStream, key: str, filesystem: Any, ratio: int) -> Iterator[bytes]:
    store, _ = open_remote(key, filesystem)
    [before] = store.get_file_info([key])
    with store.open_input_stream(key, compression=None) as file:
        yield from _expand(stream, file.read, None, ratio)
    [after] = store.get_file_info([key])
    if (before.size, before.mtime_ns) != (after.size, after.mtime_ns):
        stream.name_problem("changed_while_read")


def _expand(
    stream: ByteStream, read: Callable[[int], bytes], again: Callable[[], IO[bytes]] | None, ratio: int
) -> Iterator[bytes]:
    head = b""
    while len(head) < HEAD and (chunk := stream.stored(read(_RAW_READ))):
        head += chunk
    kind = stream.compression = compression_of(head)
    if kind is None:
        yield head
        while chunk := stream.stored(read(_PLAIN_READ)):
            yield chunk
        return
    if kind == "zip":
        _drain(stream, read)
        raise Damage("unsupported: zip without a readable directory")

    def chunks() -> Iterator[bytes]:
        yield head
        while chunk := stream.stored(read(_RAW_READ)):
            yield chunk

    try:
        yield from unpacked(kind, chunks(), again, lambda: ratio * max(stream.raw_bytes, 1))
    except Damage:
        _drain(stream, read)  # the digest is of the whole file, damaged or not
        raise


def _drain(stream: ByteStream, read: Callable[[int], bytes]) -> None:
    while stream.stored(read(_PLAIN_READ)):
        pass


def _zip_member(stream: ByteStream, source: Source, ratio: int) -> Iterator[bytes]:
    path = source.path
    if path is None:  # pragma: no cover - the caller checked
        return
    with path.open("rb") as file:
        before = file_state(os.fstat(file.fileno()))
        digest, size = digest_of(path, before)
        stream.set_digest(digest, size)
        try:
            info = next((e for i, e in zip_entries(file) if i == source.member_index), None)
            if info is None or info.filename != source.member:
                raise Damage("changed_while_read")
            if info.flag_bits & 1:
                raise Damage("encrypted")
            with zipfile.ZipFile(file) as archive, archive.open(info) as member:
                head = member.read(_RAW_READ)
                kind = compression_of(head)
                stream.compression = f"zip+{kind}" if kind else "zip"
                yield from within("zip", _pieces(head, member), lambda: ratio * max(info.compress_size, 1))
        except NotImplementedError as error:
            raise Damage("unsupported: zip compression") from error
        except EOFError as error:
            raise Damage("truncated") from error
        except Damage:
            raise
        except Exception as error:
            if isinstance(error, OSError):
                raise
            raise Damage("corrupt: zip") from error  # zlib.error, BadZipFile, LZMAError and whatever else it may raise
        finally:
            _check_unchanged(stream, path, before, file.fileno())


def _pieces(head: bytes, member: IO[bytes]) -> Iterator[bytes]:
    yield head
    while chunk := member.read(_RAW_READ):
        yield chunk
