"""What does an operator read on the terminal about an audit?"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from kvforensics.escape import terminal

WIDTH = 80
_HEADLINES = {
    "pass": "PASS. Every check passes.",
    "fail": "FAIL.",
    "unknown": "UNKNOWN. No check fails, but not all are told.",
}
_MARKS = {"pass": "pass   ", "fail": "FAIL   ", "unknown": "unknown"}

Json = Mapping[str, Any]


def audit_text(document: Json) -> str:
    """The audit: verdict, nodes, checks with their reasons, what was not read."""
    counts = document["counts"]
    head = _HEADLINES[document["verdict"]]
    lines = [f"{head} {counts['fail']} fail, {counts['unknown']} unknown, {counts['pass']} pass.", "", "Nodes"]
    for node in document["nodes"]:
        lines += _wrapped(_node(node), "  ", "    ")
    if not document["nodes"]:
        lines.append("  none: no start-up line of an engine was found")
    lines += ["", "Checks"]
    for check in document["checks"]:
        where = f"{terminal(check['node'])}, start {check['start']}: " if check["node"] is not None else ""
        lines += _wrapped(f"{where}{check['title']}", f"  {_MARKS[check['status']]} ", " " * 10)
        lines += _wrapped(f"why: {terminal(check['why'])}", " " * 10, " " * 12)
        if proof := check["evidence"]:
            lines += _wrapped(
                f"evidence: {terminal(proof['source'])}:{proof['line']}  {terminal(proof['excerpt'])}",
                " " * 10,
                " " * 12,
            )
        if check["status"] != "pass":
            lines += _wrapped(f"do: {terminal(check['advice'])}", " " * 10, " " * 12)
    problems = [f"  {terminal(i['source'])}: {terminal(p)}" for i in document["inputs"] for p in i["problems"]]
    if problems:
        lines += ["", "Could not be read", *problems]
    return "\n".join(lines) + "\n"


def comparison_text(document: Json) -> str:
    """The comparison: what got worse, what better, and what the new state is."""
    lines = [f"New state: {document['verdict']}. {document['worse']} worse, {document['better']} better.", ""]
    for change in document["changes"]:
        states = f"{change['old'] or '-'} -> {change['new'] or '-'}"
        lines += _wrapped(f"{change['title']} ({change['role']}): {states}", f"  {change['effect']:<7}", " " * 10)
        if change["effect"] != "same" and change["new_why"]:
            lines += _wrapped(f"why: {terminal(change['new_why'])}", " " * 10, " " * 12)
    return "\n".join(lines) + "\n"


def _node(node: Json) -> str:
    name = f"{terminal(node['node'])}, start {node['start']}: {node['role'] or 'role not told'}"
    return ", ".join((
        name, f"pool {_number(node, 'pool_tokens')}", f"context {_plain(node['context_length'])}",
        f"page {_plain(node['page_size'])}",
        f"rejects from {_number(node, 'first_rejected')}", f"version {_version(node['version'])}",
        f"started {_started(node)}",
    ))  # fmt: skip


def _started(node: Json) -> str:
    if node["started_earliest"] is None:
        return "at a time not told"
    if node["started_basis"] != "any-offset":
        return str(node["started_earliest"])
    between = f"between {node['started_earliest']} and {node['started_latest']}"
    return f"{between} (local time without an offset; --timezone ZONE tells when)"


def _number(node: Json, name: str) -> str:
    low, high = node[f"{name}_min"], node[f"{name}_max"]
    if low is None and high is None:
        return "not told"
    if low == high:
        return f"{low:,}"
    return f"{_plain(low)} to {_plain(high)}"


def _plain(value: int | None) -> str:
    return "not told" if value is None else f"{value:,}"


def _version(version: Json) -> str:
    low, high = version["at_least"], version["below"]
    if low is None and high is None:
        return "not told"
    return " ".join(([f"at least {low}"] if low else []) + ([f"before {high}"] if high else []))


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
