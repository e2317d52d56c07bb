"""Which thresholds does an audit prove, node by node and start by start, as an incident file?"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kvforensics.engine.node import Node
from kvforensics.errors import KvForensicsError
from kvforensics.escape import terminal
from kvforensics.incident import SCHEMA, Incident
from kvforensics.instant import rfc3339
from kvforensics.strict_toml import MAX_NUMBER

NOT_TOLD = 12
SUFFIX = "-nodes"
_LONGEST_ID = 100
HOUR_US = 3_600_000_000


class NoTimeline(KvForensicsError):
    """The evidence does not give a threshold."""

    exit_status = NOT_TOLD


def incident_text(nodes: Sequence[Node], base: Incident) -> str:
    """The incident `base` with the thresholds that prefill nodes had. Raises `NoTimeline` where none is in the evidence.

    A limit of M tokens is the first rejected length, so over means more than M - 1. Where a limit is a range, the lengths
    between are uncertain; where an end is not told, everything on that side is.
    """
    prefills = [n for n in nodes if n.role == "prefill" or (n.role is None and n.start.limits)]
    told = [n for n in prefills if n.limit.tokens.told]
    if not told:
        raise NoTimeline(
            "no prefill node tells its limit",
            advice="add the start-up logs of the prefill nodes, with max_total_num_tokens=",
        )
    over = max(_over(n) for n in told if n.limit.tokens.high is not None)
    uncertain = min(_uncertain(n) for n in prefills)
    context = base.context_length if base.context_length and base.context_length > over else None
    lines = [
        f'schema = "{SCHEMA}"',
        f"# Not the id of {base.id}, as its thresholds are others.",
        f"id = {_quoted(own_id(base))}",
        f"title = {_quoted(f'{base.title}, by node')}",
        "",
        "[window]",
        f"start = {rfc3339(base.start_us)}",
        f"end = {rfc3339(base.end_us)}",
        f"uncertain_until = {rfc3339(base.uncertain_until_us)}",
        f'max_gap = "{base.max_gap_us // 1_000_000}s"',
        "",
        "[threshold]                               # for requests whose node or time is not in the timeline below",
        f"prompt_tokens_over = {over}",
        f"uncertain_from = {min(uncertain, over + 1)}",
        f"template_allowance = {base.template_allowance}",
        *([f"context_length = {context}"] if context else []),
        f'max_request = "{base.max_request_us // 1_000_000}s"',
        "",
        "[model]",
        *(f"{key} = {_list(values)}" for key, values in (
            ("ids", base.model_ids), ("names", base.model_names), ("providers", base.providers), ("hosts", base.hosts),
            ("other_providers", base.other_providers), ("other_hosts", base.other_hosts),
        )),
        "",
        "[published]",
        *([f"affected_responses = {base.published_affected_responses}"]
          if base.published_affected_responses is not None else []),
        f"sources = {_list(base.sources)}",
    ]  # fmt: skip
    for at, what in base.timeline:
        lines += ["", "[[timeline]]", f"at = {rfc3339(at)}", f"what = {_quoted(what)}"]
    for node in prefills:
        lines += ["", *_entry(node, nodes)]
    return "\n".join(lines) + "\n"


def own_id(base: Incident) -> str:
    """The id of the incident that an audit makes of `base`: another one, so that no case of it is taken for one of `base`."""
    return base.id[: _LONGEST_ID - len(SUFFIX)] + SUFFIX


def restarts_in_doubt(nodes: Sequence[Node]) -> tuple[str, ...]:
    """The prefill nodes of several starts whose local times have no offset, so that it is open for hours which one held."""
    repeated = {n.name for n in nodes if n.ordinal > 1}
    return tuple(dict.fromkeys(n.name for n in nodes if n.name in repeated and n.role != "decode" and _is_in_doubt(n)))


def _is_in_doubt(node: Node) -> bool:
    earliest, latest = node.started
    return earliest is not None and latest is not None and latest - earliest > HOUR_US


def _entry(node: Node, nodes: Sequence[Node]) -> list[str]:
    following = next((n for n in nodes if n.name == node.name and n.ordinal == node.ordinal + 1), None)
    since = node.started[0] if node.ordinal > 1 else None
    until = following.started[1] if following else None
    # Two starts whose times cannot be told apart are both kept for the whole time: the range of both is then uncertain.
    if since is not None and until is not None and since >= until:
        since = until = None
    proof = node.pool_proof or node.start.limit_proof
    where = f"{proof.source}:{proof.line}" if proof else f"{node.start.source}:{node.start.line}"
    in_doubt = _is_in_doubt(node) and (since is not None or until is not None)
    return [
        *(["# Its local times have no offset: since and until span all offsets in use. --timezone ZONE narrows them."]
          if in_doubt else []),
        f"[[node]]                                  # {terminal(node.limit.basis)}; {terminal(where)}",
        f"names = {_list(_names(node))}",
        *([f"since = {rfc3339(since)}"] if since is not None else []),
        *([f"until = {rfc3339(until)}"] if until is not None else []),
        f"prompt_tokens_over = {_over(node)}",
        f"uncertain_from = {_uncertain(node)}",
    ]  # fmt: skip


def _over(node: Node) -> int:
    high = node.limit.tokens.high
    return MAX_NUMBER if high is None else max(high - 1, 0)


def _uncertain(node: Node) -> int:
    return min(node.limit.tokens.low or 0, _over(node) + 1)


def _names(node: Node) -> tuple[str, ...]:
    """What records may call the node: its own name, the last part of it, and the address that it gave to the others."""
    names = [node.name, node.name.rsplit("/", 1)[-1]]
    address = node.args.text("dist_init_addr") if node.args else None
    single = node.args is not None and (node.args.number("nnodes") or 1) == 1
    if address and single:
        names.append(address.rpartition(":")[0] or address)
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def _list(values: Sequence[str]) -> str:
    return "[" + ", ".join(_quoted(v) for v in values) + "]"


def _quoted(text: str) -> str:
    return json.dumps(terminal(text), ensure_ascii=False)
