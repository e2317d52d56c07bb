"""Where does a home-made log keep the canonical fields?

A mapping file is TOML that the user writes. It becomes a `Format` like any other, plus the sources it is meant for.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from msgspec import Struct

from kvforensics.clock import check_zone
from kvforensics.errors import UsageError
from kvforensics.formats import app_json
from kvforensics.globs import fits
from kvforensics.spec import ID_KINDS, Format
from kvforensics.strict_toml import Table, read_toml

SCHEMA = "kvforensics.mapping/1"
UNITS = ("s", "ms", "us", "ns")
_LENGTH = re.compile(r"[1-9][0-9]{0,5}[smhd]")
_LENGTH_LIKE = re.compile(r"[0-9]+ *[A-Za-z]*")
"""What somebody writes who means a length, where the name of a column is wanted."""
_AT_THE_TOP = 'write bucket = "1d" at the top of the file, before the first [table], where it holds for every row'
CONTAINERS = {"jsonl": "lines", "json": "json", "csv": "csv", "parquet": "parquet"}
CACHE_RULES = ("inclusive", "exclusive", "unknown")
_SLOTS_OF: dict[str, tuple[str, ...]] = {
    "record_id": ("record_id",), "start": ("start",), "end": ("end",), "stamp": ("stamp",), "duration": ("duration",),
    "model": ("model",), "provider": ("provider",), "host": ("host",), "prompt_tokens": ("prompt",),
    "cached_tokens": ("cache_read",), "completion_tokens": ("completion",), "total_tokens": ("total",),
    "request_bytes": ("request_bytes",), "status": ("http_status", "state"), "success": ("success",),
    "error": ("error",), "from_cache": ("from_cache",), "replay_of": ("replay_of",), "tenant": ("tenant",),
    "key": ("key",), "user": ("user",), "client_ip": ("client_ip",), "user_agent": ("user_agent",), "tag": ("tag",),
    "node": ("node",), "sample_interval": ("sample_interval",), "first_token": ("first_token",),
    "first_token_at": ("first_token_at",), "response_bytes": ("response_bytes",), "finish_reason": ("finish_reason",),
    "requests": ("requests",), "bucket": ("bucket",),
}  # fmt: skip
_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "duration": ("unit", UNITS), "first_token": ("unit", UNITS), "prompt_tokens": ("cache_rule", CACHE_RULES),
}  # fmt: skip


class Mapping(Struct, frozen=True):
    """A mapping file as read. `digest` is the SHA-256 of its bytes; `sources` are globs, empty for every source."""

    format: Format
    sources: tuple[str, ...]
    keys: tuple[str, ...]
    digest: str
    timezone: str | None

    def takes(self, source: str) -> bool:
        """Whether the mapping is meant for a source: a glob is tried on the whole label and on its last name."""
        return not self.sources or any(fits(glob, source) for glob in self.sources)


def load_mapping(path: str) -> Mapping:
    """Read a mapping file. Raises `UsageError` that names the file and the key."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror or 'not a file'})", where=path) from error
    root = read_toml(data, path, SCHEMA)
    root.known(("schema", "name", "match", "fields", "timezone", "bucket"))
    match = root.table("match", optional=True)
    if "bucket" in match.values:
        match.fail("bucket", "is out of place", _AT_THE_TOP)
    match.known(("source", "keys", "container"))
    keys = match.strings("keys", optional=True)
    fields = root.table("fields")
    fields.known((*_SLOTS_OF, "correlation", "timezone"))
    zone = _zone(root, fields)
    return Mapping(
        format=_format(root, _containers(match), keys, fields, zone),
        sources=match.strings("source", optional=True),
        keys=keys,
        digest=hashlib.sha256(data).hexdigest(),
        timezone=zone,
    )


def _containers(match: Table) -> tuple[str, ...]:
    if "container" not in match.values:
        return tuple(CONTAINERS.values())
    given = match.string("container")
    if given not in CONTAINERS:
        match.fail("container", f"should be one of: {', '.join(CONTAINERS)}")
    return (CONTAINERS[given],)


def _format(
    root: Table, containers: tuple[str, ...], keys: tuple[str, ...], fields: Table, zone: str | None
) -> Format:
    name = root.string("name")
    paths: dict[str, tuple[str, ...]] = {}
    options = {"unit": "ms", "cache_rule": "unknown"}
    for key in fields.values:
        if key not in ("correlation", "timezone"):
            path = _field(fields, key, options)
            if key == "bucket" and _LENGTH_LIKE.fullmatch(path.strip()):
                fields.fail(key, f"names a column, and {path!r} looks like the length of a sum's time", _AT_THE_TOP)
            paths |= dict.fromkeys(_SLOTS_OF[key], (path,))
    if not paths:
        fields.fail("model", "is missing", "map at least a time, the model and the prompt tokens")
    correlation = fields.table("correlation", optional=True)
    correlation.known(ID_KINDS)
    ids: dict[str, tuple[str, ...]] = {kind: (_path(correlation, kind),) for kind in correlation.values}
    if "record_id" in paths:
        # A log's own request id may cover several model calls, so it ties only across sources, as this kind does.
        ids.setdefault("x_request_id", paths["record_id"])
    buckets = _buckets(root, paths)
    anything = dict.fromkeys(p.partition("|")[0] for ps in paths.values() for p in ps)
    return Format(
        name=name,
        title=f"home-made log, read by the mapping {name}",
        containers=containers,
        signature=(keys,) if keys else tuple((p,) for p in anything),
        fields=paths,
        ids=ids,
        zone=zone,
        duration_unit=options["unit"],
        cache_rule=options["cache_rule"],
        ok_states=app_json.FORMAT.ok_states,
        failed_states=app_json.FORMAT.failed_states,
        aborted_states=app_json.FORMAT.aborted_states,
        aggregates="bucket" in root.values or "bucket" in paths,
        buckets=buckets,
        tenant_says="what the mapping names as tenant, else key, else user",
    )


def _field(fields: Table, key: str, options: dict[str, str]) -> str:
    """The path of a field; a table may say the unit of a duration or the cache rule of the prompt tokens too."""
    if type(fields.values[key]) is not dict:
        return _path(fields, key)
    table = fields.table(key)
    option, allowed = _OPTIONS.get(key, ("path", ()))
    table.known(tuple(dict.fromkeys(("path", option))))
    if allowed and option in table.values:
        value = table.string(option)
        if value not in allowed:
            table.fail(option, f"should be one of: {', '.join(allowed)}")
        if key == "first_token":
            return f"{_path(table, 'path')}|{value}"
        options[option] = value
    return _path(table, "path")


def _buckets(root: Table, paths: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The length of the buckets of a log of sums, where the mapping states one for all of them."""
    if "bucket" not in root.values:
        return {}
    length = root.string("bucket")
    if not _LENGTH.fullmatch(length):
        root.fail("bucket", "should be the length of a sum's time", "write it as 60s, 1h or 1d")
    starts = paths.get("start") or paths.get("stamp")
    if starts is None:
        root.fail("bucket", "needs the start of each sum's time", "map start in [fields]")
    return dict.fromkeys(starts, length)


def _path(table: Table, key: str) -> str:
    path = table.string(key)
    if "|" in path or not path.strip("."):
        table.fail(key, f"{path!r} is no path", "write it as usage.prompt_tokens")
    return path


def _zone(root: Table, fields: Table) -> str | None:
    table = fields if "timezone" in fields.values else root
    if "timezone" not in table.values:
        return None
    zone = table.string("timezone")
    if root.values.get("timezone", zone) != zone:
        root.fail("timezone", "differs from fields.timezone", "state the zone once")
    try:
        check_zone(zone)
    except UsageError as error:
        table.fail("timezone", str(error))
    return zone
