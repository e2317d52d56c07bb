"""Which sources of evidence do these arguments name?

An argument is a file, a folder (walked in byte order), `-` for standard input, or `s3://bucket/prefix`. A zip file
stands for its members. What cannot hold evidence (devices, sockets, pipes, dangling links) is listed as skipped, never
left out.

Labels: the path below the argument, after the argument's own last name (`logs/day1/a.jsonl`). A zip member is
`logs/a.zip!inner/b.jsonl`. Where two arguments have the same last name, the later ones are numbered: a folder becomes
`logs#2/...`, a file `#2/a.jsonl`, so that its last name stays what it is.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.errors import KvForensicsError, UsageError

STDIN = "-"
_REMOTE = "s3://"
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_KINDS = (
    (stat.S_ISFIFO, "fifo"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "character_device"), (stat.S_ISBLK, "block_device"),
)  # fmt: skip


class Source(Struct, frozen=True):
    """One stream of evidence. `size` is what is stored (compressed) in bytes, None where it is not known beforehand."""

    name: str
    path: Path | None
    argument_index: int
    member: str | None = None
    size: int | None = None
    skipped: str | None = None
    """Why it is not read, None for a source that is."""
    remote: str | None = None
    """The key in object storage, for a source that is not on this machine."""
    member_index: int | None = None
    """Which entry of the zip directory the member is; names may be there twice."""


def find_sources(args: Sequence[str], filesystem: Any = None) -> list[Source]:
    """All sources, arguments in the order given, folders in byte order of the label.

    `filesystem` is a `pyarrow.fs.FileSystem` for `s3://` arguments, made from the environment where it is None.
    Raises `UsageError` for a path that does not exist, cannot be listed or is an empty folder.
    """
    found: list[Source] = []
    taken: set[str] = set()
    if not args:
        raise UsageError("no evidence was named", advice="name a file, a folder or - for standard input")
    if list(args).count(STDIN) > 1:
        raise UsageError("standard input can be read only once", where=STDIN, advice="name - once")
    for index, argument in enumerate(args):
        if argument == STDIN:
            here = [Source(STDIN, None, index)]
        elif argument.startswith(_REMOTE):
            here = _remote_sources(argument, index, taken, filesystem)
        else:
            here = _local_sources(argument, index, taken)
        found += here
    return found


def hold_stdin(sources: Sequence[Source], folder: Path) -> list[Source]:
    """The sources with standard input kept in a file of `folder`, so that it can be read in parts and more than once.

    Raises `KvForensicsError` where the folder cannot hold it.
    """
    held = []
    for source in sources:
        if source.name != STDIN or source.path is not None:
            held.append(source)
            continue
        path = folder / "standard-input"
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        except OSError as error:
            raise KvForensicsError(
                f"standard input cannot be kept while it is read: {error.strerror}", where=str(folder),
                advice="set TMPDIR to a folder with more room",
            ) from error  # fmt: skip
        held.append(replace(source, path=path, size=path.stat().st_size))
    return held


def open_remote(argument_or_key: str, filesystem: Any = None) -> tuple[Any, str]:
    """The object store and the key in it; the store is made from the environment where none is given."""
    key = argument_or_key.removeprefix(_REMOTE)
    if filesystem is None:
        from pyarrow.fs import S3FileSystem  # lazily: the library is large and most runs never leave this machine

        filesystem = S3FileSystem()
    return filesystem, key


def _label(name: str) -> str:
    """A file name as text; bytes that are no UTF-8 are written as escapes, so that every label can be stored."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _unused(name: str, taken: set[str], *, folder: bool) -> str:
    label, number = name, 1
    while label in taken:
        number += 1
        label = f"{name}#{number}" if folder else f"#{number}/{name}"
    taken.add(label)
    return label


def _local_sources(argument: str, index: int, taken: set[str]) -> list[Source]:
    path = Path(argument)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if path.is_symlink():
            return [Source(_unused(_label(path.name), taken, folder=False), path, index, skipped="dangling_symlink")]
        raise UsageError(
            "this path cannot be read" if isinstance(error, PermissionError) else "there is no such file or folder",
            where=argument, advice="check the spelling and the permissions",
        ) from error  # fmt: skip
    name = _label(path.name or path.resolve().name) or "root"
    if path.name == "..":
        name = _label(path.resolve().name) or "root"
    if not stat.S_ISDIR(mode):
        return list(_members(_file(_unused(name, taken, folder=False), path, index)))
    prefix = _unused(name, taken, folder=True)
    files = sorted(_walk(path, prefix, index), key=lambda s: s.name.encode("utf-8", "backslashreplace"))
    if not files:
        raise UsageError("this folder is empty", where=argument, advice="name a folder that holds logs")
    return [source for file in files for source in _members(file)]


def _file(name: str, path: Path, index: int) -> Source:
    """A source for anything that is not a folder."""
    try:
        status = path.stat()
    except OSError as error:
        reason = "dangling_symlink" if path.is_symlink() and isinstance(error, FileNotFoundError) else "unreadable"
        return Source(name, path, index, skipped=reason)
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            return Source(name, path, index, skipped=kind)
    return Source(name, path, index, size=status.st_size)


def _walk(root: Path, prefix: str, index: int) -> Iterator[Source]:
    """Every entry below a folder. A real folder is walked once; linked folders come after the real ones."""
    seen: set[tuple[int, int]] = set()
    real: list[tuple[Path, str]] = [(root, prefix)]
    linked: list[tuple[Path, str]] = []
    while real or linked:
        folder, label = real.pop() if real else linked.pop(0)
        try:
            status = folder.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in seen:
                yield Source(label, folder, index, skipped="already_read")
                continue
            seen.add(identity)
            entries = sorted(os.scandir(folder), key=lambda e: os.fsencode(e.name))
        except OSError:
            yield Source(label, folder, index, skipped="unreadable")
            continue
        for entry in entries:
            path, name = folder / entry.name, f"{label}/{_label(entry.name)}"
            if not _is_folder(entry):
                yield _file(name, path, index)
            elif entry.is_symlink():
                linked.append((path, name))
            else:
                real.append((path, name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder, or a link to one; a link that leads back to itself is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _members(source: Source) -> Iterator[Source]:
    """The members of a zip file in byte order, or the source itself where it is none or its directory is broken."""
    if source.path is None or source.skipped:
        yield source
        return
    try:
        with source.path.open("rb") as file:
            if file.read(4) not in _ZIP_MAGIC:
                yield source
                return
            entries = zip_entries(file)
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        yield source  # reading it names the problem
        return
    taken: set[str] = set()
    for position, info in sorted(entries, key=lambda e: (e[1].filename.encode("utf-8", "backslashreplace"), e[0])):
        name = _unused(f"{source.name}!{info.filename}", taken, folder=True)
        yield replace(source, name=name, member=info.filename, size=info.compress_size, member_index=position)
    if not entries:
        yield source


def zip_entries(file: IO[bytes]) -> list[tuple[int, zipfile.ZipInfo]]:
    """The files in a zip, each with its position in the directory."""
    with zipfile.ZipFile(file) as archive:
        return [(i, info) for i, info in enumerate(archive.infolist()) if not info.is_dir()]


def _remote_sources(argument: str, index: int, taken: set[str], filesystem: Any) -> list[Source]:
    from pyarrow.fs import FileSelector, FileType

    try:
        store, key = open_remote(argument, filesystem)
        base = key.rstrip("/")
        [info] = store.get_file_info([base])
        infos = [info] if info.type == FileType.File else store.get_file_info(FileSelector(base, recursive=True))
    except OSError as error:
        raise UsageError(
            "this prefix cannot be listed", where=argument, advice="check its name, the region and the credentials"
        ) from error
    files = sorted((i for i in infos if i.type == FileType.File), key=lambda i: i.path.encode())
    if not files:
        raise UsageError("there is nothing under this prefix", where=argument, advice="check the bucket and the prefix")
    single = info.type == FileType.File
    prefix = _unused(base.rsplit("/", 1)[-1], taken, folder=not single)
    return [
        Source(prefix if single else prefix + i.path[len(base) :], None, index, size=i.size, remote=i.path)
        for i in files
    ]
