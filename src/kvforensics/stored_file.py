"""Which bytes does a stored file hold, and are they still the same?"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from kvforensics.errors import EvidenceError

_READ = 1 << 20

FileState = tuple[int, int, int]
"""Size, modification time in nanoseconds and inode."""


def file_state(status: os.stat_result) -> FileState:
    """What of a file's status tells that it is the same."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def state_at(path: Path) -> FileState | None:
    """The state of what is at a path, None where nothing can be told."""
    try:
        return file_state(path.stat())
    except OSError:
        return None


def is_unchanged(path: Path, descriptor: int, before: FileState) -> bool:
    """Whether an open file and what is at its path now are both as they were."""
    try:
        return before == file_state(os.fstat(descriptor)) == state_at(path)
    except OSError:
        return False


def digest_file(path: Path, progress_callback: Callable[[int], None] | None = None) -> tuple[str, int, bool]:
    """SHA-256 in hexadecimal, bytes read, and whether the file changed meanwhile.

    `progress_callback` gets the bytes read so far after each MiB. Raises `EvidenceError` where the file cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb", buffering=0) as file:
            before = file_state(os.fstat(file.fileno()))
            while chunk := file.read(_READ):
                digest.update(chunk)
                size += len(chunk)
                if progress_callback is not None:
                    progress_callback(size)
            changed = not is_unchanged(path, file.fileno(), before) or size != before[0]
    except OSError as error:
        raise EvidenceError(
            f"this file cannot be read to its end ({os_problem(error)})",
            where=path.name,
            advice="check its permissions",
        ) from error
    return digest.hexdigest(), size, changed


_digests: dict[tuple[str, FileState], tuple[str, int]] = {}


def digest_of(path: Path, state: FileState) -> tuple[str, int]:
    """The digest of a zip file, taken once for all its members as long as the file stays the same."""
    key = (str(path), state)
    if key not in _digests:
        digest, size, _ = digest_file(path)
        _digests[key] = (digest, size)
    return _digests[key]


def os_problem(error: OSError) -> str:
    """The problem code of a failed read."""
    if isinstance(error, PermissionError):
        return "permission"
    return "missing" if isinstance(error, FileNotFoundError) else "unreadable"
