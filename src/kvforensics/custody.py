"""Who had the case, when, and is the account of it unbroken?

`custody.jsonl` has one entry a line. Each carries the digest of the line before it and of itself, so that a change
anywhere breaks the chain. Times and names are what a person said: nothing here knows a clock. The chain shows changes,
not forgery: whoever may write the file may write all of it anew, so keep its last digest elsewhere too.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from kvforensics.errors import EvidenceError, UsageError

FILE = "custody.jsonl"
LARGEST = 64 << 20
_KEYS = (
    "seq", "time_utc", "actor", "role", "action", "purpose", "item_sha256", "from", "to", "location", "note",
    "prev_sha256", "entry_sha256",
)  # fmt: skip


class Handling(Struct, frozen=True):
    """What a person says of one handling; None is *not said*. `time_utc` is RFC 3339 in UTC."""

    actor: str
    action: str
    item_sha256: str
    time_utc: str | None = None
    role: str | None = None
    purpose: str | None = None
    from_: str | None = None
    to: str | None = None
    location: str | None = None
    note: str | None = None


def utc(text: str) -> str:
    """A time that a person gave, as RFC 3339 in UTC. Raises `UsageError` where it has no offset."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no time", advice="write it like 2026-09-10T14:30:00+02:00") from error
    if moment.tzinfo is None:
        raise UsageError(f"{text!r} has no offset", advice="write it like 2026-09-10T14:30:00+02:00")
    plain = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return plain.isoformat(timespec="microseconds" if plain.microsecond else "seconds") + "Z"


def extended(chain: bytes, handling: Handling) -> bytes:
    """The chain with one entry more.

    Raises `EvidenceError` where it is broken already, `UsageError` where the entry is earlier than one before it.
    """
    entries = read_chain(chain)
    told = [entry["time_utc"] for entry in entries if isinstance(entry["time_utc"], str)]
    if handling.time_utc is not None and told and _moment(handling.time_utc) < _moment(told[-1]):
        raise UsageError(
            f"{handling.time_utc} is earlier than the last entry, {told[-1]}", where=FILE,
            advice="give the time of this handling, and say in a --note what was told late",
        )  # fmt: skip
    said = asdict(handling)
    entry: dict[str, Any] = {
        "seq": len(entries) + 1,
        **{key: said["from_" if key == "from" else key] for key in _KEYS[1:-2]},
        "prev_sha256": _last_digest(chain),
    }
    return chain + _line({**entry, "entry_sha256": _digest(entry)})


def read_chain(chain: bytes) -> list[dict[str, Any]]:
    """The entries. Raises `EvidenceError` that names the first line that does not hold."""
    entries: list[dict[str, Any]] = []
    previous: str | None = None
    for number, line in enumerate(chain.splitlines(keepends=True), 1):
        where = f"{FILE}:{number}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise EvidenceError("is no entry of a chain of custody", where=where) from error
        if not isinstance(entry, dict) or set(entry) != set(_KEYS):
            raise EvidenceError("is no entry of a chain of custody", where=where)
        body = {key: value for key, value in entry.items() if key != "entry_sha256"}
        if entry["entry_sha256"] != _digest(body) or line != _line(entry):
            raise EvidenceError("was changed after it was written", where=where)
        if entry["seq"] != number or entry["prev_sha256"] != previous:
            raise EvidenceError("does not follow the entry before it", where=where)
        previous = hashlib.sha256(line).hexdigest()
        entries.append(entry)
    return entries


def head(chain: bytes) -> str | None:
    """The digest to keep elsewhere: SHA-256 of the last line, or None for an empty chain."""
    return _last_digest(chain)


def stored_chain(folder: Path) -> bytes:
    """The chain that a case or bundle keeps, empty where there is none."""
    path = folder / FILE
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise EvidenceError("is no plain file", where=FILE)
    if not path.exists():
        return b""
    if path.stat().st_size > LARGEST:
        raise EvidenceError("is too large to be a chain of custody", where=FILE)
    return path.read_bytes()


def _moment(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC)
    except ValueError as error:
        raise EvidenceError("does not tell a time", where=FILE) from error


def _last_digest(chain: bytes) -> str | None:
    lines = chain.splitlines(keepends=True)
    return hashlib.sha256(lines[-1]).hexdigest() if lines else None


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_line(body)).hexdigest()
