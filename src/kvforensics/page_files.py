"""How does a page become a file?

In the medium that the file's name asks for; written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from kvforensics.errors import UsageError
from kvforensics.page import Page
from kvforensics.whole import whole_file

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


def write_chunks(target: Path, chunks: Iterable[bytes]) -> None:
    """Write a file, whole or not at all."""
    with whole_file(target, "the page", replace=True) as partial:
        fill(partial, chunks)


def fill(path: Path, chunks: Iterable[bytes]) -> None:
    """Write the pieces of a file."""
    with path.open("wb") as out:
        for chunk in chunks:
            out.write(chunk)
