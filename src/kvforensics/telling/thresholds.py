"""Which threshold held, in words?

One for the whole incident, or, where it has thresholds by node, each node's.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvforensics.incident import Incident, NodeThreshold
from kvforensics.instant import rfc3339
from kvforensics.page import Line, quoted

SHOWN = 8
"""Thresholds of nodes that a page names; the incident file has them all."""


def limits(incident: Incident) -> tuple[int, int]:
    """The lowest and the highest threshold that held anywhere: prompts of more tokens are over it."""
    held = (incident.prompt_tokens_over, *(n.prompt_tokens_over for n in incident.nodes))
    return min(held), max(held)


def in_short(incident: Incident) -> str:
    """How long a prompt had to be, without naming a node."""
    low, high = limits(incident)
    if low == high:
        return f"more than {low:,} tokens"
    return f"more than {low:,} to {high:,} tokens, depending on the machine that answered,"


def lines(incident: Incident) -> Iterator[Line]:
    """The threshold of each node, then that of all others."""
    for node in incident.nodes[:SHOWN]:
        names = tuple(span for name in node.names for span in (quoted(name) or "", " "))
        yield (*names, f"{_when(node)}: more than {node.prompt_tokens_over:,} prompt tokens")
    if len(incident.nodes) > SHOWN:
        yield (f"{len(incident.nodes) - SHOWN:,} more in the incident file",)
    others = "all others: " if incident.nodes else ""
    yield (f"{others}more than {incident.prompt_tokens_over:,} prompt tokens",)


def side(incident: Incident, least: int, most: int | None) -> str:
    """On which side of the threshold prompts of `least` to `most` tokens lie; None is no end."""
    low, high = limits(incident)
    if least > high:
        return "over"
    if low < high and (most is None or most > low):
        return "depends on the node"
    return "not over"


def _when(node: NodeThreshold) -> str:
    since, until = (None if at is None else rfc3339(at) for at in (node.since_us, node.until_us))
    return " ".join([*([f"from {since}"] if since else []), *([f"until {until}"] if until else [])]) or "at all times"
