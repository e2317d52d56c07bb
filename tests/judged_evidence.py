"""What does a small piece of evidence look like to the judge?

Rows are written as what differs from one affected record: source `a`, in the window, over the threshold, answered, with
nothing that ties it to another; each has a token count of its own. Numbers are small: the window is [1000 s, 2000 s), its
tail ends at 2100 s, over is above 1000 tokens, and from 995 nobody can say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kvforensics.alias import Aliases
from kvforensics.exclusion import ExclusionRule
from kvforensics.incident import NodeThreshold
from kvforensics.judge import Judgement, judge
from kvforensics.store import Store

S = 1_000_000
_TEXT, _INT = pa.string(), pa.int64()
SCHEMA = pa.schema(
    [
        ("source", _TEXT), ("line", _INT), ("byte_offset", _INT), ("byte_length", _INT), ("sha256", _TEXT),
        ("format", _TEXT), ("record_id", _TEXT),
        ("ids", pa.list_(pa.struct([("kind", _TEXT), ("value", _TEXT)]))),
        ("started_earliest", _INT), ("started_latest", _INT), ("time_text", _TEXT), ("time_basis", _TEXT),
        ("model_text", _TEXT), ("provider_text", _TEXT), ("host_text", _TEXT), ("model_match", pa.bool_()),
        ("prompt_tokens_min", _INT), ("prompt_tokens_max", _INT), ("token_basis", _TEXT), ("completion_tokens", _INT),
        ("status", _TEXT), ("http_status", pa.int32()), ("outcome", _TEXT), ("error_status", pa.int32()),
        ("has_output", pa.bool_()), ("tenant", _TEXT), ("key", _TEXT), ("user", _TEXT), ("client_ip", _TEXT),
        ("user_agent", _TEXT), ("tags", pa.list_(_TEXT)), ("node", _TEXT), ("from_cache", pa.bool_()),
        ("replay_of", _TEXT), ("sample_interval", pa.float64()), ("reasons", pa.list_(_TEXT)),
        ("duration_us", _INT), ("first_token_us", _INT), ("cached_tokens", _INT), ("response_bytes", _INT),
        ("finish_reason", _TEXT), ("unzoned_earliest", _INT), ("unzoned_latest", _INT),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SmallIncident:
    """The part of an incident that the judge reads."""

    start_us: int = 1000 * S
    end_us: int = 2000 * S
    uncertain_until_us: int = 2100 * S
    prompt_tokens_over: int = 1000
    uncertain_from: int = 995
    nodes: tuple[NodeThreshold, ...] = ()


def row(line: int, given: dict[str, Any], place: int = 0) -> dict[str, Any]:
    """One canonical record. `start` is in seconds, `tokens` a count, `ids` a table, `without` names what is not told."""
    given = dict(given)
    values: dict[str, Any] = {
        "source": "a", "line": line, "format": "gateway", "time_basis": "offset", "model_text": "maker/model",
        "model_match": True, "token_basis": "reported", "http_status": 200, "reasons": [],
    }  # fmt: skip
    start = given.pop("start", 1500)
    tokens = given.pop("tokens", 2000 + place)
    values |= {"started_earliest": start * S, "started_latest": start * S}
    values |= {"prompt_tokens_min": tokens, "prompt_tokens_max": tokens}
    values["ids"] = [{"kind": k, "value": v} for k, v in given.pop("ids", {}).items()]
    for name in given.pop("without", ()):
        values |= {k: None for k in SCHEMA.names if k == name or k.startswith(f"{name}_")}
    unknown = set(given) - set(SCHEMA.names)
    if unknown:
        raise AssertionError(f"no such fields: {unknown}")
    return values | given


def rule(given: dict[str, Any], ordinal: int = 0) -> ExclusionRule:
    """One exclusion rule; validity in seconds."""
    given = dict(given)
    name = given.pop("id", f"rule-{ordinal}")
    since, until = given.pop("valid_from", None), given.pop("valid_until", None)
    matchers = tuple((k, (v,) if isinstance(v, str) else tuple(v)) for k, v in given.items())
    return ExclusionRule(
        name, "test", "a test", "somebody", None if since is None else since * S, None if until is None else until * S,
        matchers,
    )  # fmt: skip


def node(given: dict[str, Any]) -> NodeThreshold:
    """One threshold of a node; times in seconds."""
    times = (None if given.get(k) is None else given[k] * S for k in ("since", "until"))
    return NodeThreshold(tuple(given["names"]), *times, given["over"], given.get("uncertain_from", given["over"] + 1))


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """The relation `records`; rows of each source are numbered from 1 unless they say otherwise."""
    lines: dict[str, int] = {}
    made = []
    for place, given in enumerate(rows):
        source = given.get("source", "a")
        lines[source] = lines.get(source, 0) + 1
        made.append(row(lines[source], given, place))
    return pa.Table.from_pylist(made, schema=SCHEMA)


def judged(
    rows: list[dict[str, Any]],
    rules: list[dict[str, Any]] | None = None,
    *,
    store: Store | None = None,
    off_model_dropped: int = 0,
    sampled: bool = False,
    aliases: list[dict[str, str]] | None = None,
    nodes: list[dict[str, Any]] | None = None,
) -> Judgement:
    """The judgement of these rows. `nodes` are thresholds by node, times in seconds."""
    made = [rule(r, i) for i, r in enumerate(rules or [])]
    incident: Any = SmallIncident(nodes=tuple(node(n) for n in nodes or []))
    entries = tuple((a["kind"], a["value"], a["tenant"]) for a in aliases or [])
    named = Aliases("aliases.toml", "0" * 64, entries) if aliases else None
    options: dict[str, Any] = {"off_model_dropped": off_model_dropped, "sampled": sampled, "aliases": named}
    if store is not None:
        store.register("records", table(rows))
        return judge(store, incident, made, **options)
    with Store(threads=2) as own:
        own.register("records", table(rows))
        return judge(own, incident, made, **options)


def dispositions(judgement: Judgement) -> dict[str, str]:
    """`source:line` of every finding with its disposition."""
    return {f"{r['source']}:{r['line']}": r["disposition"] for r in judgement.findings.to_pylist()}


def letters(judgement: Judgement, place: str) -> str:
    """The four parts of a finding as T, F and N."""
    for r in judgement.findings.to_pylist():
        if f"{r['source']}:{r['line']}" == place:
            parts = (r["on_model"], r["in_window"], r["over_threshold"], r["served"])
            return "".join({True: "T", False: "F", None: "N"}[p] for p in parts)
    raise AssertionError(f"{place} is no finding")
