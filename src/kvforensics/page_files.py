"""How does a page become a file?

In the medium that the file's name asks for; written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from kvforensics.errors import KvForensicsError, UsageError
from kvforensics.page import Page

MEDIA = {"html": ".html", "markdown": ".md", "json": ".json", "pdf": ".pdf"}
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json", ".pdf": "pdf"}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def medium_of(path: str) -> str:
    """The medium that a file's name asks for. Raises `UsageError` where it is none."""
    medium = _SUFFIXES.get(Path(path).suffix.lower())
    if medium is None:
        raise UsageError("does not end in .html, .md, .json or .pdf", where=path, advice="or give --format")
    return medium


def notice_name(tenant: str) -> str:
    """A file name for a tenant's notice: what is safe of its name, and a digest that tells like names apart."""
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    safe = _UNSAFE.sub("-", tenant)[:40].strip("-.")
    return f"notice-{safe}-{digest}" if safe else f"notice-{digest}"


def rendered(page: Page, medium: str) -> bytes:
    """The page in a medium for people: `html`, `markdown` or `pdf`."""
    found: bytes = import_module(f"kvforensics.reports.{medium}").render(page)
    return found


def write_page(path: str, page: Page, document: Mapping[str, Any]) -> None:
    """Write a page in the medium that the name asks for; JSON is the document that the page tells."""
    medium = medium_of(path)
    data = json.dumps(document, indent=2).encode() + b"\n" if medium == "json" else rendered(page, medium)
    write_chunks(Path(path), (data,))


def new_folder(folder: str) -> Path:
    """A folder for notices, which must not hold anything yet."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError("exists and is not empty", where=folder, advice="name another folder for the notices")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KvForensicsError(f"cannot be made: {error.strerror}", where=folder) from error
    return target


def write_chunks(target: Path, chunks: Iterable[bytes]) -> None:
    """Write a file, whole or not at all."""
    partial: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".partial", dir=target.parent)
        with os.fdopen(handle, "wb") as out:
            for chunk in chunks:
                out.write(chunk)
        umask = os.umask(0)
        os.umask(umask)
        Path(partial).chmod(0o666 & ~umask)
        Path(partial).replace(target)
        partial = None
    except OSError as error:
        raise KvForensicsError(f"was not written: {error.strerror}", where=str(target), advice="name another place") from error
    finally:
        if partial is not None:
            Path(partial).unlink(missing_ok=True)
