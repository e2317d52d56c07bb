"""Is a deployment safe from the exposure, check by check: pass, fail, or not told?

Every check names its evidence, why it matters and what to do. Unknown is never a pass. Versions, defaults and names of
switches are those of the released SGLang packages 0.4.6.post5 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from kvforensics.engine.environment import BATCH, RELEASE, Section, Surroundings, setting, truth
from kvforensics.engine.node import Node
from kvforensics.engine.proof import Proof

Status = Literal["pass", "fail", "unknown"]
UPGRADE = "run 0.5.22 or later on every prefill and decode node"


class Check(Struct, frozen=True):
    """The answer to one question about one start of a node, or about the fleet where `node` is None."""

    id: str
    status: Status
    node: str | None
    start: int | None
    why: str
    advice: str
    proof: Proof | None = None

    def document(self) -> dict[str, Any]:
        """The check as it is written in a report."""
        return {
            "id": self.id, "title": TITLES[self.id], "status": self.status, "node": self.node, "start": self.start,
            "evidence": self.proof.document() if self.proof else None, "why": self.why, "advice": self.advice,
        }  # fmt: skip


TITLES = {
    "pool_covers_context": "The KV pool holds a prompt of the whole context length",
    "version_result_guard": "A rejected prefill ends as a failure, not as a success (0.5.20 and later)",
    "version_both_fixes": "Rejected requests are not handed over at all (0.5.21 and later; 0.5.22 advised)",
    "deferred_release": "Decode keeps pages until prefill has stopped writing to them",
    "mooncake_batches_bounded": "Transfers are cut into bounded batches",
    "kv_checksum": "Transferred pages are compared by checksum",
    "kv_canary": "Decode notices tokens of another request in its pages",
    "kv_canary_covers": "The canary is installed on every rank",
    "auto_truncate_off": "Too long prompts are refused, not cut in silence",
    "limits_agree": "Prefill and decode refuse from the same length on",
    "proxy_aborts": "The proxy gives the client an error when prefill refuses",
    "content_tests": "Long-context tests look at what is answered, not only at the status",
}


class _Context(Struct, frozen=True):
    node: Node
    sections: tuple[Section, ...]
    told_environment: bool


def check_node(node: Node, surroundings: Surroundings) -> Iterator[Check]:
    """All checks of one start. A node that does both parts itself hands nothing over and has none."""
    if node.role == "unified":
        return
    sections = surroundings.of(node.name, node.role)
    context = _Context(node, sections, bool(sections))
    for one in _NODE_CHECKS:
        found = one(context)
        if found is not None:
            yield found


def _made(context: _Context, name: str, status: Status, why: str, advice: str, proof: Proof | None = None) -> Check:
    return Check(name, status, context.node.name, context.node.ordinal, why, advice, proof)


def _pool(context: _Context) -> Check:
    node, name = context.node, "pool_covers_context"
    pool, length = node.pool, node.context
    advice = "raise the memory of the pool or lower --context-length until the pool holds a whole prompt"
    if length is None or (pool.low is None and pool.high is None):
        missing = "context length" if length is None else "pool"
        return _made(context, name, "unknown", f"the {missing} is not in the evidence ({node.pool_basis})",
                     "add the log of the start, with its line max_total_num_tokens=", node.pool_proof)  # fmt: skip
    if pool.low is not None and pool.low >= length:
        return _made(
            context,
            name,
            "pass",
            f"the pool of {pool.low:,} tokens holds a prompt of {length:,}",
            advice,
            node.pool_proof,
        )
    if pool.high is not None and pool.high < length:
        why = f"the pool holds {pool.high:,} tokens, the context is {length:,}: prompts from {_limit(node)} on are rejected"
        status: Status = "fail" if node.role in ("prefill", "decode") else "unknown"
        return _made(
            context, name, status, why if status == "fail" else f"{why}; the role is not told", advice, node.pool_proof
        )
    return _made(
        context, name, "unknown", f"the pool is between {pool.low} and {pool.high} tokens", advice, node.pool_proof
    )


def _limit(node: Node) -> str:
    limit = node.limit.tokens
    if limit.exact is not None:
        return f"{limit.exact:,} tokens"
    low, high = ("?" if end is None else f"{end:,}" for end in (limit.low, limit.high))
    return f"a length between {low} and {high} tokens"


def _version(context: _Context, name: str, fixed: tuple[int, int, int], what: str) -> Check:
    node = context.node
    since = node.version.since(fixed)
    basis = "; ".join(node.version.basis) or "nothing in the log brackets the version"
    proof = node.start.args_proof
    if node.version.contradictory:
        return _made(
            context, name, "unknown", f"the clues to the version contradict each other: {basis}", UPGRADE, proof
        )
    if since is None:
        return _made(context, name, "unknown", f"the version may be before {what}: {basis}",
                     "give GET /server_info or the image tag with --env", proof)  # fmt: skip
    tail = "" if since else "; a back-ported patch would not show"
    return _made(context, name, "pass" if since else "fail", f"{basis}{tail}", UPGRADE, proof)


def _result_guard(context: _Context) -> Check:
    return _version(context, "version_result_guard", (0, 5, 20), "0.5.20")


def _both_fixes(context: _Context) -> Check:
    return _version(context, "version_both_fixes", (0, 5, 21), "0.5.21")


def _release(context: _Context) -> Check:
    node, name = context.node, "deferred_release"
    advice = f"{UPGRADE}, and do not set {RELEASE}=0"
    exists, default_on = node.version.since((0, 5, 19)), node.version.since((0, 5, 21))
    told, value, proof = setting(context.sections, RELEASE)
    switched = truth(value)
    backend = node.args.text("disaggregation_transfer_backend") if node.args else None
    if exists is False:
        return _made(
            context, name, "fail", "versions before 0.5.19 release pages while a late write may be in flight", advice
        )
    if told and switched is False:
        return _made(context, name, "fail", "it is switched off in the environment", advice, proof)
    if node.start.released_late:
        why = f"{node.start.released_late} releases went ahead without an answer from prefill"
        return _made(
            context, name, "fail", why, "look for what keeps prefill from answering", node.start.released_proof
        )
    if backend is not None and backend not in ("mooncake", "nixl"):
        return _made(
            context, name, "unknown", f"whether the backend {backend!r} supports it is not known", advice, proof
        )
    if told and switched and exists:
        return _made(context, name, "pass", "it is switched on in the environment", advice, proof)
    if not told and default_on and context.told_environment:
        return _made(context, name, "pass", "on by default from 0.5.21, and the environment does not change it", advice)
    if not told and default_on is False and context.told_environment:
        return _made(
            context, name, "fail", "off by default before 0.5.21, and the environment does not change it", advice
        )
    return _made(context, name, "unknown", "an environment variable that no start-up line shows decides it",
                 "give the pod spec, compose file or env dump with --env", proof)  # fmt: skip


def _batches(context: _Context) -> Check | None:
    node, name = context.node, "mooncake_batches_bounded"
    backend = node.args.text("disaggregation_transfer_backend") if node.args else None
    if backend is not None and backend != "mooncake":
        return None
    advice = f"run 0.5.20 or later with {BATCH} above 0"
    told, value, proof = setting(context.sections, BATCH)
    if node.version.since((0, 5, 20)) is False:
        return _made(context, name, "fail", "versions before 0.5.20 cannot bound them", advice)
    bounded = value is not None and value.isdigit() and int(value) > 0
    if told and bounded and node.version.since((0, 5, 20)):
        return _made(context, name, "pass", f"bounded to {value}", advice, proof)
    if told and value is not None and not bounded:
        return _made(context, name, "fail", "0 means unbounded", advice, proof)
    if not told and context.told_environment:
        return _made(context, name, "fail", "unbounded by default, and the environment does not change it", advice)
    return _made(context, name, "unknown", "an environment variable that no start-up line shows decides it",
                 "give the pod spec, compose file or env dump with --env", proof)  # fmt: skip


def _checksum(context: _Context) -> Check:
    node, name = context.node, "kv_checksum"
    advice = (
        "start both roles with --disaggregation-enable-kv-checksum (0.5.21 and later; some layouts misfire in 0.5.21)"
    )
    told, proof = _switch(context, "disaggregation_enable_kv_checksum", "disaggregation-enable-kv-checksum")
    if told is not None:
        return _made(context, name, "pass" if told else "fail", f"it is {'on' if told else 'off'}", advice, proof)
    if node.version.since((0, 5, 21)) is False:
        return _made(context, name, "fail", "versions before 0.5.21 do not have it", advice, proof)
    return _made(context, name, "unknown", "the setting is not in the evidence", advice)


def _canary(context: _Context) -> Check | None:
    node, name = context.node, "kv_canary"
    if node.role == "prefill":
        return None
    advice = "start decode with --kv-canary log or raise"
    mode, proof = _canary_mode(context)
    if mode is not None:
        return _made(
            context, name, "pass" if mode in ("log", "raise") else "fail", f"the mode is {mode}", advice, proof
        )
    if node.version.since((0, 5, 13)) is False:
        return _made(context, name, "fail", "versions before 0.5.13 do not have it", advice, proof)
    return _made(context, name, "unknown", "the setting is not in the evidence", advice)


def _canary_covers(context: _Context) -> Check | None:
    node, name = context.node, "kv_canary_covers"
    if node.role == "prefill":
        return None
    mode, _ = _canary_mode(context)
    advice = "it refuses unknown pool classes and piecewise prefill graphs: look for why a rank has none"
    if mode not in ("log", "raise"):
        if mode is None:
            return _made(context, name, "unknown", "whether the canary is on is not in the evidence", advice)
        return _made(context, name, "fail", "the canary is off", "start decode with --kv-canary log or raise")
    wanted = None
    if node.args is not None and (tp := node.args.number("tp_size")) is not None:
        wanted = tp * (node.args.number("pp_size") or 1)
    have, proof = len(node.start.canaries), node.start.canary_proof
    if wanted is not None and have >= wanted:
        return _made(context, name, "pass", f"installed on {have} of {wanted} ranks", advice, proof)
    if have == 0 and node.start.ready:
        return _made(context, name, "fail", "configured, but no rank says that it was installed", advice, proof)
    why = f"{have} of {wanted or '?'} ranks say that it was installed"
    return _made(context, name, "unknown", why, advice, proof)


def _canary_mode(context: _Context) -> tuple[str | None, Proof | None]:
    node = context.node
    if node.args is not None and (mode := node.args.text("kv_canary")) is not None:
        return mode, node.start.args_proof
    found = next((s.options["kv-canary"] for s in context.sections if "kv-canary" in s.options), None)
    return found if found is not None else (None, None)


def _switch(context: _Context, key: str, option: str) -> tuple[bool | None, Proof | None]:
    """A switch by the log, else by launch options; an option that is not given says nothing."""
    node = context.node
    if node.args is not None and (told := node.args.flag(key)) is not None:
        return told, node.start.args_proof
    found = next((s.options[option] for s in context.sections if option in s.options), None)
    return (True, found[1]) if found is not None else (None, None)


def _truncate(context: _Context) -> Check | None:
    node, name = context.node, "auto_truncate_off"
    if node.role == "decode":
        return None
    advice = "take --allow-auto-truncate out: decode may read what prefill did not send"
    if node.start.truncations:
        why = f"{node.start.truncations} prompts were cut; decode may have read positions that were never sent (needs review)"
        return _made(context, name, "fail", why, advice, node.start.truncation_proof)
    told, proof = _switch(context, "allow_auto_truncate", "allow-auto-truncate")
    if told is None:
        return _made(context, name, "unknown", "the setting is not in the evidence", advice)
    return _made(context, name, "fail" if told else "pass", f"it is {'on' if told else 'off'}", advice, proof)


_NODE_CHECKS: Sequence[Callable[[_Context], Check | None]] = (
    _pool, _result_guard, _both_fixes, _release, _batches, _checksum, _canary, _canary_covers, _truncate,
)  # fmt: skip
