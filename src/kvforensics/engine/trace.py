"""Whose data was it? From engine logs to affected responses, the tenants behind their pages, and how far to trust that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from kvforensics.catalog import query
from kvforensics.engine.audit import AuditOptions, nodes_of
from kvforensics.engine.decode_log import RankLog, local_clocks, read_ranks
from kvforensics.engine.decode_requests import decode_requests
from kvforensics.engine.evidence import Evidence, read_evidence
from kvforensics.engine.exposure import Exposed, Memory, Replayed, replay_ranks
from kvforensics.engine.limits import Range, over_all
from kvforensics.engine.lines import SourceReport
from kvforensics.engine.node import Node
from kvforensics.engine.tenant_list import read_tenants
from kvforensics.errors import KvForensicsError
from kvforensics.store import Store

WHOLE_ENOUGH = 0.98
UNUSUAL_SWITCHES = {
    "disaggregation_decode_enable_radix_cache": "finished prompts stay in a tree on decode",
    "disaggregation_decode_enable_offload_kvcache": "pages are given back early and restored",
    "enable_hisparse": "logical and host pages differ",
    "enable_kv_cache_sharding": "pages are spread over shards",
    "enable_unified_memory": "several kinds of state share one pool",
    "enable_hierarchical_cache": "restored prefixes write pages",
}
"""Switches of a decode node with which its pages are not handed out as the replay does."""


class NotTraceable(KvForensicsError):
    """The logs do not tell what the replay needs."""

    exit_status = 12


class TraceOptions(Struct, frozen=True):
    """What was asked. `pool_tokens`, `page_size` and `first_rejected` stand in for start-up logs that are not there."""

    paths: tuple[str, ...]
    pool_tokens: int | None = None
    page_size: int | None = None
    first_rejected: int | None = None
    tenants: str | None = None
    tenant_by: str | None = None
    draws: int | None = None
    workers: int = 1


class Trace(Struct, frozen=True):
    """Everything that the replay found, with what it rests on."""

    ranks: tuple[RankLog, ...]
    memories: tuple[Memory, ...]
    replayed: tuple[Replayed, ...]
    basis: Mapping[str, str]
    first_rejected: int | None
    doubts: tuple[str, ...]
    absent: int
    """Rooms that prefill handed over and of which no decode log speaks."""
    whole: tuple[bool, ...]
    """Of each rank, whether nothing says that its log lacks requests: only then its supersets rule anybody out."""
    inputs: tuple[SourceReport, ...]

    @property
    def exposed(self) -> tuple[Exposed, ...]:
        """Every affected response, rank by rank in the order of their ends."""
        return tuple(e for r in self.replayed for e in r.exposed)


def trace(options: TraceOptions) -> Trace:
    """Replay the logs. Raises `NotTraceable` where pool or page size are neither in them nor given."""
    evidence = read_evidence(options.paths, options.tenant_by, options.workers)
    nodes = nodes_of(evidence.starts, AuditOptions(options.paths))
    decodes = [n for n in nodes if n.role == "decode"]
    memory_of = _Memories(decodes, options)
    if options.tenants is not None:
        named = read_tenants(Path(options.tenants)).named
        evidence = replace(evidence, stats=evidence.stats.changed(named), answers=evidence.answers.changed(named))
        del named
    limit = options.first_rejected
    limits = Range(limit, limit) if limit is not None else over_all(n.limit.tokens for n in nodes if n.role == "prefill")
    with Store() as store:
        # All but a few requests are neither stubs, nor long, nor without a decode record: they need not be asked about.
        records = evidence.records(_open_rooms(evidence, limits.low))
        store.register("engine_records", records.to_arrow(compat_level=pl.CompatLevel.oldest()))
        store.create_table_as("rooms", query("401_rooms"))
        affected = store.run(query("402_affected_rooms"), {"first_rejected": limits.low, "certain_from": limits.high})
        absent = store.run(query("403_rooms_without_decode")).num_rows
    basis = dict(zip(affected["rid"].to_pylist(), affected["basis"].to_pylist(), strict=True))
    del records
    requests, clocks = decode_requests(evidence), local_clocks(evidence)
    events, inputs = evidence.events.whole(), evidence.inputs
    # The tables are large: they are given up before the ranks are cut out.
    del evidence
    ranks = tuple(read_ranks(requests, events, clocks, decodes, list(basis)))
    del requests, events
    memories = tuple(memory_of(log.node, log.run) for log in ranks)
    replayed = replay_ranks(ranks, memories, draws=options.draws, workers=options.workers)
    begun = _begun(decodes, ranks)
    doubts = tuple(dict.fromkeys(_doubts(decodes, ranks, replayed, begun, absent)))
    certain = not absent and not any(i.problems for i in inputs)
    whole = tuple(
        certain and here and (found.completeness is None or found.completeness >= 1)
        for here, found in zip(begun, replayed, strict=True)
    )
    return Trace(ranks, memories, tuple(replayed), basis, limits.low, doubts, absent, whole, inputs)


def _open_rooms(evidence: Evidence, limit: int | None) -> pl.DataFrame:
    """The rooms that `401_rooms` has to look at: a stub, a prompt over the limit, or nobody on decode who spoke of it."""
    tokens = pl.col("prompt_tokens")
    odd = (tokens == 1) if limit is None else (tokens == 1) | (tokens >= limit)
    # Statistics have a role; of an answer only its length tells that it was decoded.
    sides = ((evidence.stats, pl.col("role") == "decode"), (evidence.answers, pl.col("output_tokens") > 1))
    wanted, spoken, decoded = [], [], []
    for table, decodes in sides:
        for piece in table.pieces(("room", "prompt_tokens", "role" if table is evidence.stats else "output_tokens")):
            rooms = piece.filter(pl.col("room").is_not_null())
            wanted.append(rooms.filter(odd).select("room"))
            decoded.append(rooms.filter(decodes).select("room"))
            spoken.append(rooms.filter(decodes.not_().fill_null(value=True)).select("room"))
    absent = pl.concat(spoken).join(pl.concat(decoded), on="room", how="anti")
    return pl.concat([*wanted, absent]).unique()


class _Memories:
    """Pool and page size of each run of each decode node: as given, as its own start says, else as all others agree."""

    def __init__(self, decodes: Sequence[Node], options: TraceOptions) -> None:
        self._pool, self._page = options.pool_tokens, options.page_size
        self._pools = {(n.name, n.ordinal): n.pool.exact for n in decodes}
        self._pages = {(n.name, n.ordinal): n.page_size for n in decodes}
        if self._pool is None and not any(self._pools.values()):
            _agreed((), "pool", "--pool-tokens")
        if self._page is None and not any(self._pages.values()):
            _agreed((), "page size", "--page-size")

    def __call__(self, node: str, run: int) -> Memory:
        """The memory of one run. Raises `NotTraceable` where nothing tells it."""
        key = (node, run + 1)
        pool = self._pool or self._pools.get(key) or _agreed(self._pools.values(), "pool", "--pool-tokens")
        page = self._page or self._pages.get(key) or _agreed(self._pages.values(), "page size", "--page-size")
        return Memory(pool, page)


def _agreed(told: Iterable[int | None], what: str, option: str) -> int:
    values = {v for v in told if v is not None}
    if len(values) != 1:
        problem = f"the decode nodes tell several values of the {what}" if values else f"no decode log tells the {what}"
        raise NotTraceable(problem, advice=f"add the start-up log of the decode node, or give {option}")
    return values.pop()


def _begun(decodes: Sequence[Node], ranks: Sequence[RankLog]) -> list[bool]:
    """Of each rank, whether the start of its process is in the logs."""
    begun = {(n.name, n.ordinal - 1) for n in decodes if n.start.began}
    return [(log.node, log.run) in begun for log in ranks]


def _doubts(
    decodes: Sequence[Node], ranks: Sequence[RankLog], replayed: Sequence[Replayed], begun: Sequence[bool], absent: int
) -> Iterator[str]:
    """Why the shares of the replay are to be trusted less than the superset."""
    for node in decodes:
        yield from _unusual(node)
    for log, found, here in zip(ranks, replayed, begun, strict=True):
        if not found.exposed:
            continue
        where = f"{log.node} DP{log.dp}" + (f", start {log.run + 1}" if log.run else "")
        if not here:
            yield f"{where}: its start is not in the logs; whoever wrote before they begin is not in the superset either"
        if found.completeness is not None and found.completeness < WHOLE_ENOUGH:
            yield f"{where}: the log explains {found.completeness:.1%} of the running requests that the rank counted"
        if float((log.end_high - log.end_low).max()) > 100_000:
            yield f"{where}: times are known to the second only"
        if found.shortfalls > 0.01 * len(log):
            yield f"{where}: the pool ran out in the replay {found.shortfalls:.0f} times: sizes or times do not fit"
    if absent:
        yield f"{absent} requests that prefill handed over have no decode record; they shift the replay"


def _unusual(node: Node) -> Iterator[str]:
    """What about a decode node the replay does not cover."""
    args = node.args
    if args is None:
        yield f"{node.label}: its settings are not in the evidence; a pool of another kind would not be noticed"
        return
    for key, why in UNUSUAL_SWITCHES.items():
        if args.flag(key):
            yield f"{node.label}: {key} is on: {why}"
    if args.text("speculative_algorithm"):
        yield f"{node.label}: speculative decoding takes pages ahead and gives them back"
    if args.text("disaggregation_decode_allocation_policy") == "prefill_complete":
        yield f"{node.label}: pages are taken only when prefill is done"
    if args.text("device") not in (None, "cuda"):
        yield f"{node.label}: the allocator of another device than cuda was not compared with the replay"
    if node.start.swa_tokens:
        yield f"{node.label}: a hybrid model has several pools"
    if node.start.model_class and re.search(r"Mamba|Jamba|DeepseekV4|Hybrid", node.start.model_class):
        yield f"{node.label}: {node.start.model_class} keeps its state in pools of another kind"
