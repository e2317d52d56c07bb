"""What is told about an audit of engines, or about what a change did to it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvforensics.page import Block, Bullets, Cell, Code, Column, Line, Page, Paragraph, Section, Table, quoted
from kvforensics.plural import counted

Json = Mapping[str, Any]
ROWS = 1_000
"""Rows of a table; `audit --json` has them all."""
_STATES = ("fail", "unknown", "pass")
_WORDS = {"fail": "Fail", "unknown": "Unknown", "pass": "Pass"}
_LIMITS: tuple[Line, ...] = (
    ("Unknown is no pass: the evidence does not say, and a check that is not told may fail.",),
    ("The version is never logged at start. What brackets it shows the base, not patches that somebody added to it.",),
    ("Switches that are environment variables are in no start-up line: only files given with --env show them.",),
    ("Nodes whose logs were not given are not in this audit.",),
)
_CHECKS = (
    Column("check", "Check", wide=True), Column("fail", "Fail"), Column("unknown", "Unknown"), Column("pass", "Pass"),
)  # fmt: skip
_GROUPS = (
    Column("check", "Check", wide=True), Column("status", "Answer"), Column("starts", "Starts of nodes"),
    Column("first", "First of them", "the fleet", wide=True), Column("why", "Why", wide=True),
    Column("evidence", "Evidence", "no line", wide=True), Column("advice", "What to do", "nothing", wide=True),
)  # fmt: skip
_NODES = (
    Column("node", "Node", wide=True), Column("start", "Start"), Column("role", "Role"), Column("pool", "Pool (tokens)"),
    Column("context", "Context (tokens)"), Column("page", "Page"), Column("limit", "Rejects from (tokens)"),
    Column("version", "Version"), Column("parallel", "TP / PP / EP / DP"), Column("started", "Started (UTC)"),
    Column("evidence", "Pool by", wide=True),
)  # fmt: skip
_SHOWN = {
    "disaggregation_transfer_backend": "Transfer by", "disaggregation_decode_enable_radix_cache": "Radix cache on decode",
    "disaggregation_enable_kv_checksum": "Checksum", "kv_canary": "Canary", "allow_auto_truncate": "Auto-truncate",
    "enable_hierarchical_cache": "HiCache", "speculative_algorithm": "Speculative", "max_total_tokens": "Pool capped to",
    "mem_fraction_static": "Memory share", "log_requests": "Request log",
    "enable_request_time_stats_logging": "Time statistics",
}  # fmt: skip
_SETTINGS = (
    Column("node", "Node", wide=True), Column("start", "Start"), *(Column(key, title, "-") for key, title in _SHOWN.items()),
)  # fmt: skip
_INPUTS = (
    Column("source", "Source", wide=True), Column("bytes", "Bytes"), Column("lines", "Lines"),
    Column("problems", "Problems", "none", wide=True), Column("sha256", "SHA-256", wide=True),
)  # fmt: skip
_CHANGES = (
    Column("check", "Check", wide=True), Column("role", "Role"), Column("effect", "Effect"), Column("old", "Before", "-"),
    Column("new", "After", "-"), Column("old_why", "Why before", "-", wide=True),
    Column("new_why", "Why after", "-", wide=True),
)  # fmt: skip


def audit_page(document: Json) -> Page:
    """The page of one audit; `document` is `kvforensics.audit/1`."""
    return Page(
        kind="audit-page",
        title="Engine audit",
        subject="Start-up logs and configuration of the engines",
        verdict=_WORDS[document["verdict"]],
        facts=tuple(_facts(document)),
        sections=(
            Section("answer", "The answer", tuple(_answer(document))),
            Section("checks", "Checks", tuple(_checks(document["checks"]))),
            Section("nodes", "Nodes and their starts", tuple(_nodes(document["nodes"]))),
            _settings(document["nodes"]),
            _inputs(document["inputs"]),
        ),
    )


def comparison_page(document: Json) -> Page:
    """The page of a comparison; `document` is `kvforensics.audit-comparison/1`."""
    rows = tuple(
        (
            c["title"], c["role"], c["effect"], _word(c["old"]), _word(c["new"]), quoted(c["old_why"]), quoted(c["new_why"]),
        )
        for c in document["changes"]
    )  # fmt: skip
    changed = f"{counted(document['worse'], 'check')} got worse, {document['better']:,} better."
    text = f"{changed} The verdict is that of the new state."
    return Page(
        kind="audit-comparison-page",
        title="What a change did",
        subject="Two states of the engines' configuration",
        verdict=_WORDS[document["verdict"]],
        facts=(*_named("Before", document["old"]), *_named("After", document["new"])),
        sections=(
            Section("answer", "The answer", (Paragraph((text,), "lead"), Bullets(_LIMITS))),
            Section("changes", "Each check before and after", (Table("changes-list", "Checks", _CHANGES, rows),)),
            Section("nodes", "Nodes after the change", tuple(_nodes(document["new"]["nodes"]))),
            _inputs([*document["old"]["inputs"], *document["new"]["inputs"]]),
        ),
    )


def _word(status: str | None) -> str | None:
    return None if status is None else _WORDS[status]


def _named(name: str, document: Json) -> Iterator[tuple[str, Line]]:
    yield name, (", ".join(f"{document['counts'][s]:,} {s}" for s in _STATES),)


def _facts(document: Json) -> Iterator[tuple[str, Line]]:
    nodes = document["nodes"]
    roles = Counter(n["role"] or "role not told" for n in nodes)
    yield "Nodes", (f"{len({n['node'] for n in nodes}):,}, with {counted(len(nodes), 'start')}",)
    yield "Roles", (", ".join(f"{count:,} {role}" for role, count in sorted(roles.items())) or "none",)
    yield from _named("Checks", document)
    yield "Inputs", (f"{len(document['inputs']):,}",)


def _answer(document: Json) -> Iterator[Block]:
    counts = document["counts"]
    if not document["nodes"]:
        yield Paragraph(("No start-up line of an engine was found, so nothing is known.",), "lead")
    else:
        yield Paragraph((
            f"{counted(counts['fail'], 'answer')} {'is' if counts['fail'] == 1 else 'are'} a failure, {counts['unknown']:,} "
            f"not told, {counts['pass']:,} a pass.",
        ), "lead")  # fmt: skip
    advice = dict.fromkeys(c["advice"] for c in document["checks"] if c["status"] == "fail")
    if advice:
        yield Paragraph(("What to do about the failures:",))
        yield Bullets(tuple((text,) for text in advice))
    yield Paragraph(("How far this goes:",))
    yield Bullets(_LIMITS)


def _checks(checks: Sequence[Json]) -> Iterator[Block]:
    counts: dict[str, Counter[str]] = {}
    groups: dict[tuple[str, str, str, str], list[Json]] = {}
    for check in checks:
        counts.setdefault(check["title"], Counter())[check["status"]] += 1
        groups.setdefault((check["status"], check["title"], check["why"], check["advice"]), []).append(check)
    rows: tuple[tuple[Cell, ...], ...] = tuple((title, *(c[s] for s in _STATES)) for title, c in counts.items())
    yield Table("checks-counts", "Answers by check, over all starts of nodes", _CHECKS, rows)
    ordered = sorted(groups.items(), key=lambda item: _STATES.index(item[0][0]))
    yield Table(
        "checks-reasons", "Every answer with its reason; equal ones stand together", _GROUPS,
        tuple(_group(key, members) for key, members in ordered[:ROWS]), sortable=True,
    )  # fmt: skip
    if len(ordered) > ROWS:
        yield _more(len(ordered) - ROWS, "answer")


def _group(key: tuple[str, str, str, str], members: Sequence[Json]) -> tuple[Cell, ...]:
    status, title, why, advice = key
    first = members[0]
    proof = first["evidence"]
    return (
        title, _WORDS[status], len(members),
        None if first["node"] is None else quoted(f"{first['node']}, start {first['start']}"), quoted(why),
        None if proof is None else quoted(f"{proof['source']}:{proof['line']} {proof['excerpt']}"),
        None if status == "pass" else advice,
    )  # fmt: skip


def _nodes(nodes: Sequence[Json]) -> Iterator[Block]:
    if not nodes:
        yield Paragraph(("None.",))
        return
    yield Paragraph((
        "Rejects from: the first prompt length that the node refuses, min(context, pool) - 6 or as it printed itself. A "
        "prefill node that rejects before its decode nodes do is what the fault needs.",
    ))  # fmt: skip
    yield Table("nodes-list", "Nodes", _NODES, tuple(_node(n) for n in nodes[:ROWS]), sortable=True)
    notes = tuple((quoted(f"{n['node']}: {note}") or "",) for n in nodes[:ROWS] for note in n["notes"])
    if notes:
        yield Bullets(notes[:ROWS])
    if len(nodes) > ROWS:
        yield _more(len(nodes) - ROWS, "start")


def _node(node: Json) -> tuple[Cell, ...]:
    sizes = node["parallelism"]
    return (
        quoted(node["node"]), node["start"], node["role"], _range(node["pool_tokens_min"], node["pool_tokens_max"]),
        node["context_length"], node["page_size"], _range(node["first_rejected_min"], node["first_rejected_max"]),
        _version(node["version"]),
        " / ".join("?" if sizes[k] is None else str(sizes[k]) for k in ("tp", "pp", "ep", "attention_dp")),
        _started(node), quoted(node["pool_basis"]),
    )  # fmt: skip


def _started(node: Json) -> Cell:
    earliest: str | None = node["started_earliest"]
    if node["started_basis"] != "any-offset":
        return earliest
    return f"{earliest} to {node['started_latest']} (local time without an offset)"


def _range(low: int | None, high: int | None) -> Cell:
    if low == high:
        return low
    return " to ".join("?" if end is None else f"{end:,}" for end in (low, high))


def _version(version: Json) -> str | None:
    low, high = version["at_least"], version["below"]
    if version["contradictory"]:
        return "clues contradict"
    if low is None and high is None:
        return None
    return " ".join([*([f"from {low}"] if low else []), *([f"before {high}"] if high else [])])


def _settings(nodes: Sequence[Json]) -> Section:
    rows = tuple(
        (quoted(n["node"]), n["start"], *(_setting(n["settings"].get(key)) for key in _SHOWN)) for n in nodes[:ROWS]
    )
    text = Paragraph(("As the start itself printed them; - is a setting that is off, cut off, or unknown to its version.",))
    return Section("settings", "Settings that matter", (text, Table("settings-list", "Settings by start", _SETTINGS, rows)))


def _setting(value: object) -> Cell:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, int | float) else quoted(None if value is None else str(value))


def _inputs(inputs: Sequence[Json]) -> Section:
    rows = tuple(
        (quoted(i["source"]), i["bytes"], i["lines"], quoted("; ".join(i["problems"]) or None), Code(i["sha256"]))
        for i in inputs[:ROWS]
    )
    more = (_more(len(inputs) - ROWS, "input"),) if len(inputs) > ROWS else ()
    return Section("inputs", "Inputs", (Table("inputs-read", "Inputs", _INPUTS, rows), *more))


def _more(count: int, noun: str) -> Block:
    return Paragraph((f"{counted(count, f'further {noun}')} are in the output of ", Code("audit --json"), "."), "note")
