"""Do the nodes of a fleet, its proxy and its tests fit together?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, field

from kvforensics.engine.checks import UPGRADE, Check
from kvforensics.engine.lines import EngineLine
from kvforensics.engine.node import Node
from kvforensics.engine.proof import Proof, proof_of

ATTESTABLE = {"proxy-aborts": "proxy_aborts", "content-tests": "content_tests"}
GATEWAY_WANTED = re.compile(rb"Prefill server returned error status|status_code=\d{3}")
MAX_WAITING = 10_000
LONGEST = 4_000
_NEVER, _ALWAYS = -(1 << 62), 1 << 62
_REFUSED = re.compile(r'request_id="([^"]{1,200})".*Prefill server returned error status.*status=(4\d\d)')
_ENDED = re.compile(r'request_id="([^"]{1,200})" status_code=(\d{3})')


class Proxy(Struct):
    """What the gateway's lines say about requests that prefill refused."""

    waiting: dict[str, Proof] = field(default_factory=dict)
    refused_to_client: int = 0
    answered_all_the_same: int = 0
    proof: Proof | None = None
    failure: Proof | None = None

    def take(self, line: EngineLine) -> None:
        """Read one line, if it is of a gateway."""
        text = line.text[:LONGEST]
        if refused := _REFUSED.search(text):
            if len(self.waiting) < MAX_WAITING:
                self.waiting[refused[1]] = proof_of(
                    line, f"Prefill server returned error status ... status={refused[2]}"
                )
        elif (ended := _ENDED.search(text)) and ended[1] in self.waiting:
            proof = self.waiting.pop(ended[1])
            if 400 <= int(ended[2]) <= 599:
                self.refused_to_client += 1
                self.proof = self.proof or proof
            elif ended[2].startswith("2"):
                self.answered_all_the_same += 1
                self.failure = self.failure or proof_of(line, f"status_code={ended[2]} after a refusal by prefill")


def check_fleet(nodes: Sequence[Node], proxy: Proxy, attested: Collection[str]) -> Iterator[Check]:
    """The checks that are not about one node. `attested` are what the person who runs the audit vouches for."""
    yield _limits_agree(nodes)
    yield _proxy(proxy, attested="proxy-aborts" in attested)
    advice = "send prompts around the limit with a marked text and compare the answers' content with it"
    if "content-tests" in attested:
        yield Check("content_tests", "pass", None, None, "the person who ran this vouches for it", advice)
    else:
        yield Check(
            "content_tests",
            "unknown",
            None,
            None,
            "no log can show it; --attest content-tests records your word",
            advice,
        )


def _proxy(proxy: Proxy, *, attested: bool) -> Check:
    name, advice = "proxy_aborts", "let the gateway end both legs and pass the error on when prefill refuses"
    if proxy.answered_all_the_same:
        why = f"{proxy.answered_all_the_same} requests that prefill refused were answered with success"
        return Check(name, "fail", None, None, why, advice, proxy.failure)
    if proxy.refused_to_client:
        why = f"{proxy.refused_to_client} requests that prefill refused ended in an error for the client"
        return Check(name, "pass", None, None, why, advice, proxy.proof)
    if attested:
        return Check(name, "pass", None, None, "the person who ran this vouches for it", advice)
    why = "no gateway line shows a refusal; --attest proxy-aborts records your word"
    return Check(name, "unknown", None, None, why, advice)


def _limits_agree(nodes: Sequence[Node]) -> Check:
    """Prefill nodes against the decode nodes that were up at the same time, as far as starts tell."""
    name = "limits_agree"
    advice = f"give prefill and decode the same context length and pools that hold it; {UPGRADE}"
    by_role = {role: [n for n in nodes if n.role == role] for role in ("prefill", "decode")}
    for role, members in by_role.items():
        if not members:
            return Check(
                name, "unknown", None, None, f"no {role} node is in the evidence", f"add the logs of the {role} nodes"
            )
    roleless = [n for n in nodes if n.role is None and n.start.began]
    unknown: str | None = f"the role of {roleless[0].label} is not told" if roleless else None
    ends = _ends(nodes)
    apart: list[tuple[Node, Node]] = []
    for prefills in _by_limit(by_role["prefill"]):
        for decodes in _by_limit(by_role["decode"]):
            verdict = _compared(prefills[0], decodes[0])
            if verdict is True:
                continue
            met = _first_meeting(prefills, decodes, ends)
            if met is None:
                continue
            if verdict is None:
                unknown = unknown or f"the limit of {met[0].label} or {met[1].label} is not settled"
            else:
                apart.append(met)
    if apart:
        prefill, decode = apart[0]
        more = f", and {len(apart) - 1} more pairs of limits" if len(apart) > 1 else ""
        why = f"{prefill.label} rejects from {_said(prefill)}, {decode.label} from {_said(decode)}{more}"
        high, low = prefill.limit.tokens.high, decode.limit.tokens.low
        if high is not None and low is not None and high < low:
            why += ": prompts between are answered from stale memory before 0.5.20"
        return Check(name, "fail", None, None, why, advice, prefill.pool_proof or prefill.start.limit_proof)
    if unknown:
        return Check(name, "unknown", None, None, unknown, advice)
    return Check(name, "pass", None, None, "all limits are equal", advice)


def _said(node: Node) -> str:
    limit = node.limit.tokens
    return f"{limit.exact:,}" if limit.exact is not None else f"{limit.low} to {limit.high}"


def _compared(prefill: Node, decode: Node) -> bool | None:
    one, other = prefill.limit.tokens, decode.limit.tokens
    if one.exact is not None and other.exact is not None:
        return one.exact == other.exact
    if one.high is not None and other.low is not None and one.high < other.low:
        return False
    if other.high is not None and one.low is not None and other.high < one.low:
        return False
    return None


def _by_limit(nodes: Sequence[Node]) -> list[list[Node]]:
    groups: dict[tuple[int | None, int | None], list[Node]] = {}
    for node in nodes:
        groups.setdefault((node.limit.tokens.low, node.limit.tokens.high), []).append(node)
    return list(groups.values())


def _ends(nodes: Sequence[Node]) -> dict[tuple[str, int], int]:
    """When each start is over at the latest: where the next one of its node begins. The last ones are not over."""
    begins = {(n.name, n.ordinal): n.started[1] for n in nodes}
    after = {key: begins.get((key[0], key[1] + 1)) for key in begins}
    return {key: end for key, end in after.items() if end is not None}


def _first_meeting(
    prefills: Sequence[Node], decodes: Sequence[Node], ends: Mapping[tuple[str, int], int]
) -> tuple[Node, Node] | None:
    """Two starts that can have been up together, None where none can. What is not told can be at any time."""

    def begin(node: Node) -> int:
        known = node.started[0] if node.start.began else None
        return _NEVER if known is None else known

    def end(node: Node) -> int:
        return ends.get((node.name, node.ordinal), _ALWAYS)

    waiting = sorted(decodes, key=begin)
    longest: Node | None = None
    at = 0
    for prefill in sorted(prefills, key=end):
        # All decode starts that begin before this one ends; the one that lasts longest meets it if any does.
        while at < len(waiting) and begin(waiting[at]) <= end(prefill):
            if longest is None or end(waiting[at]) > end(longest):
                longest = waiting[at]
            at += 1
        if longest is not None and end(longest) >= begin(prefill):
            return prefill, longest
    return None
