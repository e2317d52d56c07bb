"""Which keys, users and accounts are one tenant?

Reads an alias file: TOML (`[[tenant]]` with `name` and lists `keys`, `users`, `accounts`) or CSV with a header (`tenant`, and
`key`, `user`, `account`). The names in the log stay as they are; aliases say how tenants are counted.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.strict_toml import read_toml

SCHEMA = "kvforensics.tenants/1"
KINDS = ("account", "key", "user")
"""What can stand for a tenant, the most telling first."""
MAX_BYTES = 64 << 20


class Aliases(Struct, frozen=True):
    """An alias file. `entries` are (kind, value, tenant) without repeats; `name` is the file's own name."""

    name: str
    digest: str
    entries: tuple[tuple[str, str, str], ...]


def load_aliases(path: str) -> Aliases:
    """The alias file. Raises `UsageError` where it is not valid or gives one name to two tenants."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror or 'not a file'})", where=path) from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"longer than {MAX_BYTES} bytes", where=path)
    read = _from_csv if path.lower().endswith(".csv") else _from_toml
    known: dict[tuple[str, str], str] = {}
    for kind, value, tenant, where in read(data, path):
        if known.setdefault((kind, value), tenant) != tenant:
            raise UsageError(f"the {kind} {value!r} is given to {known[kind, value]!r} and to {tenant!r}", where=where)
    entries = tuple((kind, value, tenant) for (kind, value), tenant in known.items())
    return Aliases(Path(path).name, hashlib.sha256(data).hexdigest(), entries)


def _from_toml(data: bytes, path: str) -> Iterator[tuple[str, str, str, str]]:
    root = read_toml(data, path, SCHEMA)
    root.known(("schema", "tenant"))
    for table in root.tables("tenant"):
        table.known(("name", *(f"{k}s" for k in KINDS)))
        name = table.string("name")
        for kind in KINDS:
            for value in table.strings(f"{kind}s", optional=True):
                yield kind, value, name, f"{path}: tenant {name!r}"


def _from_csv(data: bytes, path: str) -> Iterator[tuple[str, str, str, str]]:
    try:
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        names = [n.strip().lower() for n in rows.fieldnames or ()]
        if "tenant" not in names or not set(names) - {"tenant"} or set(names) - {"tenant", *KINDS}:
            raise UsageError(
                f"the header is {', '.join(names) or 'missing'}", where=path,
                advice="name the columns tenant, and some of key, user, account",
            )  # fmt: skip
        rows.fieldnames = names
        for row in rows:
            tenant = (row["tenant"] or "").strip()
            values = [(kind, (row.get(kind) or "").strip()) for kind in KINDS]
            if not tenant or None in row:
                raise UsageError(
                    "a row should name a tenant and have as many cells as the header", where=f"{path}:{rows.line_num}"
                )
            yield from ((kind, value, tenant, f"{path}:{rows.line_num}") for kind, value in values if value)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"not CSV in UTF-8: {error}", where=path) from error
