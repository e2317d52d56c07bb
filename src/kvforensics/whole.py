"""How does an output appear whole, or not at all?

Everything is written under a temporary name beside the target and renamed at the end; a failure leaves nothing behind.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from kvforensics.errors import KvForensicsError, UsageError

_TAKEN = {errno.ENOTEMPTY, errno.EEXIST}


@contextmanager
def whole_folder(target: Path, what: str) -> Iterator[Path]:
    """A temporary folder that takes the name `target` when the block ends; `what` is its name in errors ("the case").

    The target may be an empty folder. Raises `UsageError` where it holds something already.
    """
    partial: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        yield partial
        partial.chmod(0o777 & ~_umask())
        if target.is_dir():
            target.rmdir()
        partial.rename(target)
        partial = None
    except (OSError, pa.ArrowException) as error:
        # The libraries below tell of a full disk in their own ways; what they say of data is for others to judge.
        if not isinstance(error, OSError) and not _says_full(error):
            raise
        raise _not_written(target, what, error) from error
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def whole_file(target: Path, what: str, *, replace: bool = False) -> Iterator[Path]:
    """A temporary file that takes the name `target` when the block ends.

    Raises `UsageError` where the name is taken, unless it may `replace` what has it.
    """
    if not replace and (target.is_symlink() or target.exists()):
        raise UsageError("exists already", where=str(target), advice="name another file")
    partial: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        os.close(number)
        partial = Path(name)
        yield partial
        partial.chmod(0o666 & ~_umask())
        partial.rename(target)
        partial = None
    except (OSError, pa.ArrowException) as error:
        # The libraries below tell of a full disk in their own ways; what they say of data is for others to judge.
        if not isinstance(error, OSError) and not _says_full(error):
            raise
        raise _not_written(target, what, error) from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def _umask() -> int:
    """What the user's own new files may not be, as these are made private at first."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def refuse_taken(target: Path) -> None:
    """Raise `UsageError` where a new folder cannot take this name."""
    if target.is_symlink() or target.exists():
        if not target.is_dir() or target.is_symlink():
            raise UsageError("is not a folder", where=str(target), advice="name another folder")
        if any(target.iterdir()):
            raise UsageError("exists and is not empty", where=str(target), advice="name another folder")


def _not_written(target: Path, what: str, error: Exception) -> KvForensicsError:
    number = error.errno if isinstance(error, OSError) else None
    if number in _TAKEN:
        return UsageError("exists and is not empty", where=str(target), advice="name another folder")
    full = _is_full(error)
    why = "the disk is full" if full else f"it cannot be written ({os.strerror(number) if number else error})"
    advice = "free some space or name another folder" if full else "name another folder"
    return KvForensicsError(f"{what} was not written: {why}", where=str(target), advice=advice)


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """What writes temporary files to a folder. Raises `KvForensicsError` where its disk gets full meanwhile."""
    try:
        yield
    except (OSError, pa.ArrowException, KvForensicsError) as error:
        cause = error.__cause__ if isinstance(error, KvForensicsError) else error
        if cause is None or not _is_full(cause):
            raise
        raise KvForensicsError(
            "the disk for temporary files is full", where=str(folder),
            advice="free some space, or set TMPDIR to a folder that has more",
        ) from error  # fmt: skip


def _is_full(error: BaseException) -> bool:
    return (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)) or _says_full(error)


def _says_full(error: BaseException) -> bool:
    return any(os.strerror(number) in str(error) for number in (errno.ENOSPC, errno.EDQUOT))
