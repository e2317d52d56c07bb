"""What do the engines' logs say about a deployment, and does it pass?

Reads start-up logs (and run-time logs, for what they tell about limits), joins them to nodes and starts, and runs the
checks. The result is a value that knows no medium.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.engine.checks import Check, check_node
from kvforensics.engine.environment import NOWHERE, Surroundings
from kvforensics.engine.fleet import GATEWAY_WANTED, Proxy, check_fleet
from kvforensics.engine.lines import EngineLine, SourceReport, read_lines
from kvforensics.engine.node import Node, read_node
from kvforensics.engine.startup import WANTED, NodeStart, StartReader
from kvforensics.source import Source, find_sources
from kvforensics.workers import pool

SCHEMA = "kvforensics.audit/1"
PASSED, FAILED, NOT_TOLD = 0, 10, 12
_WANTED = re.compile(WANTED.pattern + b"|" + GATEWAY_WANTED.pattern)
_BATCH = 64
Choices = tuple[tuple[str | None, str], ...]


class AuditOptions(Struct, frozen=True):
    """What was asked. `zones` are [glob and] zone of local times, `attested` what the person who runs it vouches for."""

    paths: tuple[str, ...]
    surroundings: Surroundings = NOWHERE
    zones: Choices = ()
    attested: tuple[str, ...] = ()
    workers: int = 1


class Audit(Struct, frozen=True):
    """The nodes, the checks in a total order, and what was read."""

    nodes: tuple[Node, ...]
    checks: tuple[Check, ...]
    inputs: tuple[SourceReport, ...]

    @property
    def exit_status(self) -> int:
        """10 where a check failed, 12 where one is not told or nothing was understood, 0 where all passed."""
        states = {c.status for c in self.checks}
        if "fail" in states:
            return FAILED
        return NOT_TOLD if "unknown" in states or not self.nodes or any(i.problems for i in self.inputs) else PASSED

    @property
    def verdict(self) -> str:
        """The exit status in a word."""
        return {PASSED: "pass", FAILED: "fail", NOT_TOLD: "unknown"}[self.exit_status]

    def document(self) -> dict[str, Any]:
        """The audit as one JSON document."""
        counts = {s: sum(c.status == s for c in self.checks) for s in ("pass", "fail", "unknown")}
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "counts": counts,
            "nodes": [n.document() for n in self.nodes],
            "checks": [c.document() for c in self.checks],
            "inputs": [i.document() for i in self.inputs],
        }


def audit(options: AuditOptions) -> Audit:
    """Read the logs and run every check. Raises `UsageError` for a path that cannot be read."""
    read = _read_all(find_sources(options.paths), options.workers)
    proxy = Proxy()
    for one in read:
        for line in one.gateway:
            proxy.take(line)
    nodes = nodes_of((start for one in read for start in one.starts), options)
    checks = [c for node in nodes for c in check_node(node, options.surroundings)]
    checks += check_fleet(nodes, proxy, options.attested)
    return Audit(nodes, tuple(checks), tuple(one.report for one in read))


class _Read(Struct, frozen=True):
    """What one source told: starts of nodes, lines of gateways, and what was read."""

    starts: list[NodeStart]
    gateway: list[EngineLine]
    report: SourceReport


def _read_all(sources: Sequence[Source], workers: int) -> list[_Read]:
    names: dict[frozenset[str], frozenset[str]] = {}
    if workers <= 1 or len(sources) <= _BATCH:
        return [_shared(_read(s), names) for s in sources]
    with pool(workers) as processes:
        return [_shared(one, names) for one in processes.map(_read, sources, chunksize=_BATCH)]


def _shared(read: _Read, names: dict[frozenset[str], frozenset[str]]) -> _Read:
    """The same, with the names of settings held once: a fleet has thousands of starts and few versions."""
    for start in read.starts:
        if start.args is not None:
            keys = start.args.keys
            start.args = replace(start.args, keys=names.setdefault(keys, keys))
    return read


def _read(source: Source) -> _Read:
    report, reader = SourceReport(source.name), StartReader()
    gateway: list[EngineLine] = []
    for line in read_lines(source, _WANTED, report):
        if "http_request" in line.text and "request_id=" in line.text:
            gateway.append(line)
        else:
            reader.take(line)
    return _Read(reader.starts, gateway, report)


def nodes_of(starts: Iterable[NodeStart], options: AuditOptions) -> tuple[Node, ...]:
    """The nodes that started, each start of it numbered from 1."""
    return tuple(_nodes(tuple(starts), options))


def _nodes(starts: Sequence[NodeStart], options: AuditOptions) -> list[Node]:
    """Starts of one node in the order of time, or of the evidence where times do not tell; told ones are numbered from 1."""
    by_name: dict[str, list[NodeStart]] = {}
    for start in starts:
        by_name.setdefault(start.node, []).append(start)
    nodes = []
    for name, here in by_name.items():
        zone = next((z for glob, z in reversed(options.zones) if glob is None or fnmatchcase(name, glob)), None)
        named = [start for start in here if _says_something(start)]
        made = [read_node(s, 0, zone, None) for s in named]
        order = sorted(range(len(made)), key=lambda i: (made[i].started[0] or -1, i))
        for ordinal, place in enumerate(order, 1):
            role = made[place].role
            version = options.surroundings.version(name, role)
            nodes.append(read_node(named[place], ordinal, zone, version))
    return nodes


def _says_something(start: NodeStart) -> bool:
    told = (start.args, start.capacities, start.captured, start.allocated, start.limits, start.role_hints, start.usages)
    return any(told) or start.warned is not None
