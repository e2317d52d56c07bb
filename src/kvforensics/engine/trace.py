"""Whose data was it? From engine logs to affected responses, the tenants behind their pages, and how far to trust that."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kvforensics.catalog import query
from kvforensics.engine.audit import AuditOptions, audit
from kvforensics.engine.decode_log import RankLog, read_ranks
from kvforensics.engine.exposure import Exposed, Replayed, replay_ranks
from kvforensics.engine.limits import Range, over_all
from kvforensics.engine.lines import SourceReport, read_lines
from kvforensics.engine.node import Node
from kvforensics.engine.records import SCHEMA as RECORDS
from kvforensics.engine.records import WANTED, read_records
from kvforensics.errors import KvForensicsError, UsageError
from kvforensics.source import find_sources
from kvforensics.store import Store

WHOLE_ENOUGH = 0.98


class NotTraceable(KvForensicsError):
    """The logs do not tell what the replay needs."""

    exit_status = 12


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What was asked. `pool_tokens`, `page_size` and `first_rejected` stand in for start-up logs that are not there."""

    paths: tuple[str, ...]
    pool_tokens: int | None = None
    page_size: int | None = None
    first_rejected: int | None = None
    tenants: str | None = None
    tenant_by: str | None = None
    draws: int | None = None
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that the replay found, with what it rests on."""

    ranks: tuple[RankLog, ...]
    replayed: tuple[Replayed, ...]
    basis: Mapping[str, str]
    pool_tokens: int
    page_size: int
    first_rejected: int | None
    doubts: tuple[str, ...]
    absent: int
    """Rooms that prefill handed over and of which no decode log speaks."""
    inputs: tuple[SourceReport, ...]

    @property
    def exposed(self) -> tuple[Exposed, ...]:
        """Every affected response, rank by rank in the order of their ends."""
        return tuple(e for r in self.replayed for e in r.exposed)


def read_evidence(paths: tuple[str, ...], tenant_by: str | None) -> tuple[pl.DataFrame, tuple[SourceReport, ...]]:
    """All rows of engine logs, and what was read. Raises `UsageError` for a path that cannot be read."""
    frames, reports = [pl.DataFrame(schema=RECORDS)], []
    for source in find_sources(paths):
        report = SourceReport(source.name)
        frames += read_records(read_lines(source, WANTED, report), tenant_by)
        reports.append(report)
    return pl.concat(frames), tuple(reports)


def trace(options: TraceOptions) -> Trace:
    """Replay the logs. Raises `NotTraceable` where pool or page size are neither in them nor given."""
    records, reports = read_evidence(options.paths, options.tenant_by)
    nodes = audit(AuditOptions(options.paths)).nodes
    if options.tenants is not None:
        records = _with_tenants(records, Path(options.tenants))
    decodes = [n for n in nodes if n.role == "decode"]
    pool = options.pool_tokens or _agreed([n.pool.exact for n in decodes], "pool", "--pool-tokens")
    page = options.page_size or _agreed([n.page_size for n in decodes], "page size", "--page-size")
    limit = options.first_rejected
    limits = Range(limit, limit) if limit is not None else over_all(n.limit.tokens for n in nodes if n.role == "prefill")
    with Store() as store:
        store.register("engine_records", records.to_arrow(compat_level=pl.CompatLevel.oldest()))
        store.create_table_as("rooms", query("401_rooms"))
        affected = store.run(query("402_affected_rooms"), {"first_rejected": limits.low, "certain_from": limits.high})
        absent = store.run(query("403_rooms_without_decode")).num_rows
    basis = dict(zip(affected["rid"].to_pylist(), affected["basis"].to_pylist(), strict=True))
    ranks = tuple(read_ranks(records, pl.DataFrame({"rid": list(basis)}, schema={"rid": pl.String})))
    replayed = replay_ranks(ranks, pool, page, draws=options.draws, workers=options.workers)
    doubts = tuple(_doubts(decodes, ranks, replayed, absent))
    return Trace(ranks, tuple(replayed), basis, pool, page, limits.low, doubts, absent, reports)


def _agreed(told: Sequence[int | None], what: str, option: str) -> int:
    values = {v for v in told if v is not None}
    if len(values) != 1:
        problem = f"the decode nodes tell several values of the {what}" if values else f"no decode log tells the {what}"
        raise NotTraceable(problem, advice=f"add the start-up log of the decode node, or give {option}")
    return values.pop()


def _with_tenants(records: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The rows with tenants from a CSV of the columns `rid` or `bootstrap_room`, and `tenant`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [
                (r.get("rid") or None, r.get("bootstrap_room") or None, r.get("tenant")) for r in csv.DictReader(file)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(
            "cannot be read as CSV", where=str(path), advice="columns: rid or bootstrap_room, tenant"
        ) from error
    by_rid = {rid: tenant for rid, _, tenant in rows if rid and tenant}
    by_room = {int(room): tenant for _, room, tenant in rows if room and room.isdigit() and tenant}
    if not by_rid and not by_room:
        raise UsageError("names no tenant", where=str(path), advice="columns: rid or bootstrap_room, tenant")
    named = pl.coalesce(
        pl.col("rid").replace_strict(by_rid, default=None, return_dtype=pl.String),
        pl.col("room").replace_strict(by_room, default=None, return_dtype=pl.String),
        pl.col("tenant"),
    )
    return records.with_columns(named.alias("tenant"))


def _doubts(
    decodes: Sequence[Node], ranks: Sequence[RankLog], replayed: Sequence[Replayed], absent: int
) -> Iterator[str]:
    """Why the shares of the replay are to be trusted less than the superset."""
    for node in decodes:
        args = node.args
        if args is None:
            yield f"{node.label}: its settings are not in the evidence; a pool of another kind would not be noticed"
            continue
        for key, why in (
            ("disaggregation_decode_enable_radix_cache", "finished prompts stay in a tree on decode"),
            ("disaggregation_decode_enable_offload_kvcache", "pages are given back early and restored"),
            ("enable_hisparse", "logical and host pages differ"),
            ("enable_kv_cache_sharding", "pages are spread over shards"),
        ):
            if args.flag(key):
                yield f"{node.label}: {key} is on: {why}"
        if args.text("speculative_algorithm"):
            yield f"{node.label}: speculative decoding takes pages ahead and gives them back"
        if node.start.swa_tokens:
            yield f"{node.label}: a hybrid model has several pools"
    for log, found in zip(ranks, replayed, strict=True):
        where = f"{log.node} DP{log.dp}"
        if found.exposed and found.completeness is not None and found.completeness < WHOLE_ENOUGH:
            yield f"{where}: the log explains {found.completeness:.1%} of the running requests that the rank counted"
        if found.exposed and float((log.end_high - log.end_low).max()) > 100_000:
            yield f"{where}: times are known to the second only"
        if found.shortfalls > 0.01 * len(log):
            yield f"{where}: the pool ran out in the replay {found.shortfalls:.0f} times: sizes or times do not fit"
    if absent:
        yield f"{absent} requests that prefill handed over have no decode record; they shift the replay"
