"""Are strings that a tenant calls its own in the answers of other tenants?

The tenant need not tell the strings: keyed digests are enough. A digest is HMAC-SHA256 with the file's key over the words of
the string (runs of letters, digits and underscores, case folded, joined by one space), as hexadecimal.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from kvforensics.engine.bodies import Body
from kvforensics.engine.shingles import words_of
from kvforensics.errors import UsageError
from kvforensics.strict_toml import read_toml

SCHEMA = "kvforensics.canary/1"
LONGEST = 64
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"(?:[0-9a-fA-F]{2}){16,64}")


class Canary(Struct, frozen=True):
    """One string: whose it is, how many words it has, and its digest."""

    id: str
    tenant: str
    words: int
    digest: str


class CanaryFile(Struct, frozen=True):
    """The strings of a file and the key of their digests."""

    key: bytes
    canaries: tuple[Canary, ...]


class Sighting(Struct, frozen=True):
    """A string of one tenant in an answer to another one (None: the record names no tenant)."""

    canary: str
    owner: str
    rid: str
    tenant: str | None
    times: int

    def document(self) -> dict[str, Any]:
        """The sighting as it is written."""
        return {"canary": self.canary, "owner": self.owner, "rid": self.rid, "tenant": self.tenant, "times": self.times}


def digest_of(words: list[str], key: bytes) -> str:
    """The keyed digest of a string of words."""
    return hmac.digest(key, " ".join(words).encode("utf-8", "replace"), "sha256").hex()


def load_canaries(path: str) -> CanaryFile:
    """Read a canary file: `key` in hexadecimal, and `[[canary]]` with `id`, `tenant`, and `text` or `digest` and `words`."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=path) from error
    root = read_toml(data, path, SCHEMA)
    root.known(("schema", "key", "canary"))
    if not _KEY.fullmatch(root.string("key")):
        root.fail("key", "should be 16 to 64 random bytes in hexadecimal")
    key = bytes.fromhex(root.string("key"))
    found = []
    for entry in root.tables("canary"):
        entry.known(("id", "tenant", "text", "digest", "words"))
        if "text" in entry.values:
            words = words_of(entry.string("text"))
            count, digest = len(words), digest_of(words, key)
        else:
            count, digest = entry.number("words", least=1), entry.string("digest")
            if not _DIGEST.fullmatch(digest):
                entry.fail("digest", "should be 64 hexadecimal digits")
        if not 1 <= count <= LONGEST:
            entry.fail("text" if "text" in entry.values else "words", f"should have 1 to {LONGEST} words")
        found.append(Canary(entry.string("id"), entry.string("tenant"), count, digest))
    return CanaryFile(key, tuple(found))


def sightings(bodies: Iterator[Body], file: CanaryFile) -> Iterator[Sighting]:
    """Every string in an answer that is not its owner's, in the order of the evidence.

    An answer whose own prompt has the string says nothing and is left out.
    """
    by_length: dict[int, dict[str, Canary]] = {}
    for canary in file.canaries:
        by_length.setdefault(canary.words, {})[canary.digest] = canary
    for body in bodies:
        if not body.answer:
            continue
        counts = _found(body.answer, by_length, file.key)
        own = _found(body.prompt, by_length, file.key) if counts else {}
        for canary, times in counts.items():
            if canary.tenant != body.tenant and canary not in own:
                yield Sighting(canary.id, canary.tenant, body.rid, body.tenant, times)


def _found(text: str, by_length: dict[int, dict[str, Canary]], key: bytes) -> dict[Canary, int]:
    words = words_of(text)
    counts: dict[Canary, int] = {}
    for length, wanted in by_length.items():
        for at in range(len(words) - length + 1):
            canary = wanted.get(digest_of(words[at : at + length], key))
            if canary is not None:
                counts[canary] = counts.get(canary, 0) + 1
    return counts
