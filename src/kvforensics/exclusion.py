"""Which traffic was not real: tests, researchers, monitoring?

Reads exclusion files. A rule is data that the judge binds into its queries; only client addresses are compared here, as
networks are no business of SQL text.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.strict_toml import Table, read_toml

SCHEMA = "kvforensics.exclusions/1"
CATEGORIES = ("test", "researcher", "monitoring", "other")
FIELDS = ("tenant", "key", "user", "client_ip", "user_agent", "tag", "request_id")
MAX_LIST_BYTES = 64 << 20
# A comment starts a line or follows a space: `team#1` is a tenant, and cutting it would exclude another one.
_COMMENT = re.compile(r"(^|\s)#.*")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ExclusionRule(Struct, frozen=True):
    """One rule.

    All matchers must hold; a matcher holds if one of its values does. Validity is half-open, in microseconds since 1970 in
    UTC; `user_agent` values are globs, `client_ip` values addresses or networks.
    """

    id: str
    category: str
    reason: str
    approved_by: str
    valid_from_us: int | None
    valid_until_us: int | None
    matchers: tuple[tuple[str, tuple[str, ...]], ...]

    def values(self, field: str) -> tuple[str, ...]:
        """The values of one matcher, empty where the rule does not have it."""
        return next((values for name, values in self.matchers if name == field), ())


class ExclusionSet(Struct, frozen=True):
    """The rules of one file.

    `name` is the file's own name; `lists` holds name and SHA-256 of each `@file` it reads. `contents` are the bytes of all
    of these by SHA-256, so that a case can keep what was applied.
    """

    name: str
    digest: str
    lists: tuple[tuple[str, str], ...]
    rules: tuple[ExclusionRule, ...]
    contents: Mapping[str, bytes]


def load_exclusions(paths: Sequence[Path], scanned: Sequence[Path] = ()) -> tuple[ExclusionSet, ...]:
    """The exclusion files, in the order given. Raises `UsageError` for a file that is not valid or lies in `scanned`."""
    seen: dict[str, str] = {}

    def beside(path: Path) -> Callable[[str, str], bytes]:
        return lambda name, where: _read(path.parent / name, where, scanned)

    return tuple(
        parse_exclusions(_read(path, str(path), scanned), path.name, str(path), beside(path), seen) for path in paths
    )


def parse_exclusions(
    data: bytes, name: str, where: str, read_list: Callable[[str, str], bytes], seen: dict[str, str]
) -> ExclusionSet:
    """The rules in a file's bytes.

    `where` is its name in errors, `read_list` gives the bytes of an `@file` by its name and its place in errors, and `seen`
    collects the rule ids of all files, as no two rules may share one.
    """
    root = read_toml(data, where, SCHEMA)
    root.known(("schema", "rule"))
    lists: dict[str, bytes] = {}
    rules = []
    for table in root.tables("rule"):
        rule = _rule(table, read_list, lists)
        if rule.id in seen:
            table.fail("id", f"{rule.id!r} is already used in {seen[rule.id]}")
        seen[rule.id] = name
        rules.append(rule)
    digests = {key: hashlib.sha256(content).hexdigest() for key, content in sorted(lists.items())}
    contents = {hashlib.sha256(content).hexdigest(): content for content in (data, *lists.values())}
    return ExclusionSet(name, hashlib.sha256(data).hexdigest(), tuple(digests.items()), tuple(rules), contents)


def _read(path: Path, where: str, scanned: Sequence[Path]) -> bytes:
    # What is searched must not be able to say what is left out of the search.
    for place in (path.absolute(), path.resolve()):
        for root in scanned:
            if place.is_relative_to(root.absolute()) or place.is_relative_to(root.resolve()):
                raise UsageError(
                    "an exclusion file must not lie inside the scanned paths", where=where, advice="keep it elsewhere"
                )
    if not path.is_file():
        raise UsageError("no such file", where=where)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=where) from error


def _rule(table: Table, read_list: Callable[[str, str], bytes], lists: dict[str, bytes]) -> ExclusionRule:
    table.known(("id", "category", "reason", "approved_by", "valid_from", "valid_until", *FIELDS))
    ident, category = table.string("id"), table.string("category")
    if category not in CATEGORIES:
        table.fail("category", f"should be one of: {', '.join(CATEGORIES)}")
    since, until = (table.instant(k) if k in table.values else None for k in ("valid_from", "valid_until"))
    if since is not None and until is not None and since >= until:
        table.fail("valid_until", "should be later than valid_from")
    matchers = tuple((field, _values(table, field, read_list, lists)) for field in FIELDS if field in table.values)
    if not matchers:
        table.fail("id", f"{ident!r} has no matcher", f"give at least one of: {', '.join(FIELDS)}")
    return ExclusionRule(ident, category, table.string("reason"), table.string("approved_by"), since, until, matchers)


def _values(
    table: Table, field: str, read_list: Callable[[str, str], bytes], lists: dict[str, bytes]
) -> tuple[str, ...]:
    given = (table.string(field),) if type(table.values[field]) is str else table.strings(field)
    values: list[str] = []
    for value in given:
        if not value.startswith("@"):
            values.append(value)
            continue
        name = value[1:].strip()
        if not name or Path(name).is_absolute() or ".." in Path(name).parts:
            table.fail(field, f"{value!r} should name a file beside the rule file")
        where = f"{table.where}: {field} {value}"
        data = read_list(name, where)
        if len(data) > MAX_LIST_BYTES:
            raise UsageError(f"longer than {MAX_LIST_BYTES} bytes", where=where)
        lists[name] = data
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(f"not UTF-8 at byte {error.start}", where=where) from error
        values += [line for line in (_COMMENT.sub("", raw).strip() for raw in text.splitlines()) if line]
    if field == "client_ip":
        for value in values:
            try:
                _network(value)
            except ValueError as error:
                table.fail(field, f"holds {value!r}, which is no address or network: {error}", "as 192.0.2.0/24")
    return tuple(dict.fromkeys(values))


def _network(text: str) -> Network:
    network = ipaddress.ip_network(text)
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:
            return ipaddress.IPv4Network((mapped, network.prefixlen - 96))
    return network


def _address(text: str) -> Address | None:
    """The address in a text, with or without a port; None where there is no single one."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].split("]", 1)[0]
    elif bare.count(":") == 1:
        bare = bare.split(":", 1)[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def match_client_ips(rules: Iterable[ExclusionRule], ips: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of (rule id, address text) where the rule's `client_ip` matcher holds, by rule and then by text.

    An IPv4 address mapped into IPv6 equals the IPv4 address. A text that is not one address matches nothing.
    """
    # One look-up for each prefix length, so that a list of many thousand addresses stays cheap.
    nets: dict[str, dict[tuple[int, int], set[int]]] = {}
    for rule in rules:
        by_length: dict[tuple[int, int], set[int]] = defaultdict(set)
        for value in rule.values("client_ip"):
            network = _network(value)
            shift = network.max_prefixlen - network.prefixlen
            by_length[network.version, shift].add(int(network.network_address) >> shift)
        if by_length:
            nets[rule.id] = by_length
    if not nets:
        return []
    parsed = [(text, address) for text in sorted(set(ips)) if (address := _address(text)) is not None]
    return [
        (ident, text)
        for ident, by_length in nets.items()
        for text, address in parsed
        if any(v == address.version and int(address) >> shift in known for (v, shift), known in by_length.items())
    ]
