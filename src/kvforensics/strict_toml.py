"""What does a TOML file that steers a run say, and is every key of it known and of its type?

Whatever is wrong gives one `UsageError` that names the file, the line where it is known, and the key.
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from msgspec import Struct

from kvforensics.errors import UsageError

MAX_NUMBER = 10**12
MAX_DURATION_US = 3660 * 86_400_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_DURATION = re.compile(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,8})m)?(?:([0-9]{1,9})s)?")
_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]*?)\s*\]{1,2}")


class Table(Struct, frozen=True):
    """One table of a file: typed access to its keys. `path` is its name in the file, `ordinal` its place in an array."""

    where: str
    text: str
    path: str
    values: Mapping[str, Any]
    ordinal: int = 0

    def fail(self, key: str, problem: str, advice: str | None = None) -> NoReturn:
        """Refuse the file because of one key."""
        line = line_of(self.text, self.path, key, self.ordinal)
        name = f"{self.path}.{key}" if self.path else key
        raise UsageError(f"{name} {problem}", where=f"{self.where}:{line}" if line else self.where, advice=advice)

    def known(self, keys: Sequence[str]) -> None:
        """Refuse keys that are not in the list."""
        for key in self.values:
            if key not in keys:
                self.fail(key, "is not a known key", f"known here: {', '.join(keys)}")

    def raw(self, key: str) -> Any:
        """The value as the file has it."""
        if key not in self.values:
            self.fail(key, "is missing")
        return self.values[key]

    def string(self, key: str) -> str:
        """A text that is not empty."""
        value = self.raw(key)
        if type(value) is not str or not value.strip():
            self.fail(key, "should be a text that is not empty")
        return value

    def strings(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """A list of texts; an optional one may be missing or empty."""
        if optional and key not in self.values:
            return ()
        value = self.raw(key)
        if type(value) is not list or any(type(v) is not str or not v.strip() for v in value):
            self.fail(key, "should be a list of texts that are not empty")
        if not value and not optional:
            self.fail(key, "should not be empty")
        return tuple(value)

    def number(self, key: str, *, least: int, default: int | None = None) -> int:
        """A whole number from `least` up."""
        if default is not None and key not in self.values:
            return default
        value = self.raw(key)
        if type(value) is not int or not least <= value <= MAX_NUMBER:
            self.fail(key, f"should be a whole number, {least} or more")
        return value

    def instant(self, key: str) -> int:
        """A date and time with its offset, as microseconds since 1970 in UTC."""
        value = self.raw(key)
        if not isinstance(value, dt.datetime) or value.tzinfo is None:
            self.fail(key, "should be a date and time with an offset", "write it as 2026-08-27T00:00:00Z, unquoted")
        return (value - _EPOCH) // _MICROSECOND

    def duration(self, key: str, default: str) -> int:
        """A duration such as `24h`, `90m`, `1h30m`, `3600s` or `2d`, in microseconds."""
        value = self.values.get(key, default)
        found = _DURATION.fullmatch(value) if type(value) is str else None
        if not found or not value:
            self.fail(key, "should be a duration", 'write it as "24h", "90m", "1h30m", "3600s" or "2d"')
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000
        if not 0 < total <= MAX_DURATION_US:
            self.fail(key, "should be a duration longer than nothing and shorter than ten years")
        return total

    def table(self, key: str, *, optional: bool = False) -> Table:
        """A table inside this one."""
        value = self.values.get(key, {}) if optional else self.raw(key)
        if type(value) is not dict:
            self.fail(key, "should be a table", f"write [{key}]")
        return Table(self.where, self.text, f"{self.path}.{key}" if self.path else key, value)

    def tables(self, key: str, *, optional: bool = False) -> tuple[Table, ...]:
        """An array of tables inside this one."""
        value = self.values.get(key, []) if optional else self.raw(key)
        if type(value) is not list or any(type(v) is not dict for v in value):
            self.fail(key, "should be tables", f"write [[{key}]]")
        return tuple(Table(self.where, self.text, key, v, i) for i, v in enumerate(value))


def read_toml(data: bytes, where: str, schema: str) -> Table:
    """The root table of a file of the given schema."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 at byte {error.start}", where=where, advice="save the file as UTF-8") from error
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UsageError(f"not TOML: {error}", where=where) from error
    root = Table(where, text, "", values)
    if root.raw("schema") != schema:
        root.fail("schema", f'should be "{schema}"')
    return root


def line_of(text: str, path: str, key: str, ordinal: int = 0) -> int | None:
    """The line of a key, or of its table where the key is not there; None where neither is plain to see."""
    found, header = _seek(text, path, key, ordinal)
    if found or header or not path:
        return found or header
    # A table may be written key by key with dots, or in one line.
    outer, _, inner = path.rpartition(".")
    return _seek(text, outer, f"{inner}.{key}", 0)[0] or line_of(text, outer, inner)


def _seek(text: str, path: str, key: str, ordinal: int) -> tuple[int | None, int | None]:
    """The line of a key in the table of that path, and the line of the table's own header."""
    current, seen, header = "", -1, None
    named = re.compile(rf"\s*\"?{re.escape(key)}\"?\s*[=.]")
    for number, line in enumerate(text.splitlines(), 1):
        found = _HEADER.match(line)
        if found and "=" not in line.split("]", 1)[0]:
            current = found[1]
            if current == path:
                seen += 1
                header = number if seen == ordinal else header
            if current == (f"{path}.{key}" if path else key):
                return number, header
        elif current == path and (seen == ordinal or not path) and named.match(line):
            return number, header
    return None, header
