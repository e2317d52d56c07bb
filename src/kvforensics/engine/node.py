"""What is known about a node at one start: role, pool, context, limit, version, offset of its clock?"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kvforensics.clock import read_instant
from kvforensics.engine.limits import Limit, Range, first_rejected
from kvforensics.engine.proof import Proof
from kvforensics.engine.server_args import ServerArgs
from kvforensics.engine.startup import NodeStart, Pool
from kvforensics.engine.version import Bracket, Version, bracket, written
from kvforensics.instant import rfc3339

OFFSET_STEP = 60_000_000
SHOWN_SETTINGS = (
    "page_size", "tp_size", "dp_size", "attn_dp_size", "pp_size", "ep_size", "enable_dp_attention", "max_total_tokens",
    "mem_fraction_static", "disaggregation_transfer_backend", "disaggregation_decode_enable_radix_cache",
    "disaggregation_decode_enable_offload_kvcache", "disaggregation_enable_kv_checksum", "kv_canary", "allow_auto_truncate",
    "disable_radix_cache", "enable_hierarchical_cache", "radix_eviction_policy", "speculative_algorithm",
    "load_balance_method", "log_requests", "log_requests_level", "enable_request_time_stats_logging",
    "export_metrics_to_file",
)  # fmt: skip


class Node(Struct, frozen=True):
    """One start of one node, as far as the evidence tells.

    `started` is the interval of the instant of its start in UTC microseconds; `offset_us` its local time minus UTC.
    """

    name: str
    ordinal: int
    start: NodeStart
    role: str | None
    role_basis: str
    pool: Range
    pool_basis: str
    pool_proof: Proof | None
    context: int | None
    limit: Limit
    version: Bracket
    offset_us: int | None
    started: tuple[int | None, int | None]
    started_basis: str

    @property
    def args(self) -> ServerArgs | None:
        """The settings of this start, None where their line is not in the evidence."""
        return self.start.args

    @property
    def page_size(self) -> int | None:
        """Tokens in a page."""
        return self.args.number("page_size") if self.args else None

    @property
    def label(self) -> str:
        """How people speak of this start."""
        return f"{self.name} (start {self.ordinal})" if self.start.began else f"{self.name} (running)"

    @property
    def dp_ranks(self) -> int | None:
        """How many attention pools of this size the node has; None where the settings do not tell."""
        if self.args is None:
            return None
        dp, attention = self.args.number("dp_size"), self.args.number("attn_dp_size")
        return max(dp or 1, attention or 1) if dp is not None or attention is not None else None

    def document(self) -> dict[str, Any]:
        """The node as it is written in a report."""
        settings = {k: self.args.values[k] for k in SHOWN_SETTINGS if self.args and k in self.args.values}
        return {
            "node": self.name,
            "start": self.ordinal,
            "start_in_evidence": self.start.began,
            "source": self.start.source,
            "line": self.start.line,
            "started_earliest": None if self.started[0] is None else rfc3339(self.started[0]),
            "started_latest": None if self.started[1] is None else rfc3339(self.started[1]),
            "started_basis": self.started_basis,
            "utc_offset_minutes": None if self.offset_us is None else self.offset_us // OFFSET_STEP,
            "role": self.role,
            "role_basis": self.role_basis,
            "pool_tokens": self.pool.exact,
            "pool_tokens_min": self.pool.low,
            "pool_tokens_max": self.pool.high,
            "pool_basis": self.pool_basis,
            "context_length": self.context,
            "page_size": self.page_size,
            "first_rejected_length": self.limit.tokens.exact,
            "first_rejected_min": self.limit.tokens.low,
            "first_rejected_max": self.limit.tokens.high,
            "first_rejected_basis": self.limit.basis,
            "notes": list(self.limit.notes),
            "version": {
                "at_least": None if self.version.at_least is None else written(self.version.at_least),
                "below": None if self.version.below is None else written(self.version.below),
                "basis": list(self.version.basis),
                "contradictory": self.version.contradictory,
            },
            "parallelism": {
                "tp": self.args.number("tp_size") if self.args else None,
                "pp": self.args.number("pp_size") if self.args else None,
                "ep": self.args.number("ep_size") if self.args else None,
                "attention_dp": self.dp_ranks,
            },
            "model_class": self.start.model_class,
            "settings": settings,
            "settings_whole": self.args.whole if self.args else None,
            "rejections": sum(self.start.limits.values()) - self.start.truncations,
            "longest_rejected": self.start.longest_rejected,
            "truncations": self.start.truncations,
        }


def read_node(start: NodeStart, ordinal: int, zone: str | None, named: Version | None) -> Node:
    """What one start says. `zone` is the zone of its local times where somebody told it."""
    role, role_basis = _role(start)
    pool, pool_basis, pool_proof = _pool(start)
    version = bracket(start.args, start.shapes, start.named or named)
    observed = _observed(start)
    context = _context(start)
    offset = _offset(start)
    started, started_basis = _started(start, offset, zone)
    return Node(
        name=start.node,
        ordinal=ordinal,
        start=start,
        role=role,
        role_basis=role_basis,
        pool=pool,
        pool_basis=pool_basis,
        pool_proof=pool_proof,
        context=context,
        limit=first_rejected(pool, context, start.args, version, start.swa_tokens, observed),
        version=version,
        offset_us=offset,
        started=started,
        started_basis=started_basis,
    )


def _role(start: NodeStart) -> tuple[str | None, str]:
    mode = start.args.text("disaggregation_mode") if start.args else None
    if mode is not None:
        return {"null": "unified", "prefill": "prefill", "decode": "decode"}.get(mode), "disaggregation_mode"
    roles = set(start.role_hints)
    if len(roles) == 1:
        return roles.pop(), "wording of its lines"
    return None, "its lines contradict each other" if roles else "not told"


def _pool(start: NodeStart) -> tuple[Range, str, Proof | None]:
    """The pool of one rank: the capacity line, else the sizing after graph capture, else the allocation of the model."""
    for pools, basis in (
        (start.capacities, "max_total_num_tokens"),
        (start.captured, "post-capture sizing"),
        (start.allocated, "KV Cache is allocated"),
    ):
        if pools:
            return _hull(pools), basis, min(pools, key=lambda p: p.tokens).proof
    if start.warned is not None:
        return Range(start.warned.tokens, start.warned.tokens), "warning of pool below context", start.warned.proof
    if start.usages:
        low = max(u[0] for u in start.usages)
        high = min(u[1] for u in start.usages)
        if low <= high:
            return Range(int(low), int(high) + 1), "usage ratio of decode batches", start.usages[0][2]
        return Range(), "usage ratios contradict each other", start.usages[0][2]
    return Range(), "not told", None


def _hull(pools: list[Pool]) -> Range:
    return Range(min(p.tokens for p in pools), max(p.tokens for p in pools))


def _context(start: NodeStart) -> int | None:
    told = {p.context for p in start.capacities if p.context is not None}
    if len(told) == 1:
        return told.pop()
    if told:
        return None
    if start.warned is not None and start.warned.context is not None:
        return start.warned.context
    return start.args.number("context_length") if start.args else None


def _observed(start: NodeStart) -> int | None:
    return next(iter(start.limits)) if len(start.limits) == 1 else None


def _offset(start: NodeStart) -> int | None:
    return next(iter(start.offsets)) if len(start.offsets) == 1 else None


def _started(start: NodeStart, offset: int | None, zone: str | None) -> tuple[tuple[int | None, int | None], str]:
    if start.utc_us is not None:
        return (start.utc_us, start.utc_us), "stamp of the wrapper"
    if start.local_us is None:
        return (None, None), "missing"
    if offset is not None:
        return (start.local_us - offset, start.local_us - offset + 999_999), "offset derived from the log"
    text = rfc3339(start.local_us).removesuffix("Z")
    reading = read_instant(text, zone)
    return (reading.earliest, reading.latest), reading.basis
