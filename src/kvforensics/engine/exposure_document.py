"""How is whose data was in whose reach written down, and read again?

The document `kvforensics.exposure/1`. One that comes from a file is checked key by key; what it has beyond is left alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kvforensics.engine.exposure import Exposed, Share
from kvforensics.engine.sources import sources
from kvforensics.engine.trace import Trace
from kvforensics.errors import EvidenceError, UsageError

SCHEMA = "kvforensics.exposure/1"
MOST_SHARES = 50
LARGEST = 1 << 30


class Pair(msgspec.Struct, frozen=True):
    """A receiving and a source tenant, None where the logs do not name one: answers, and rows of all of them together.

    `responses_likely` are those whose 90 % interval of rows lies above zero, `responses_at_most` those of the superset.
    """

    receiving_tenant: str | None
    source_tenant: str | None
    responses_likely: int
    responses_in_replay: int
    responses_at_most: int
    rows_low: int
    rows: int
    rows_high: int


class InReach(msgspec.Struct, frozen=True):
    """Rows of one tenant in the reach of one response."""

    tenant: str | None
    rows: float
    rows_low: float
    rows_high: float
    share: float | None
    seen_in_draws: float


class Superset(msgspec.Struct, frozen=True):
    """The superset of one response; `whole` where nothing says that the logs lack requests, so that it is safe."""

    requests: int
    tenants: tuple[str | None, ...]
    whole: bool = False


class Response(msgspec.Struct, frozen=True):
    """One affected response."""

    rid: str
    bootstrap_room: int | None
    node: str
    dp: int
    tenant: str | None
    basis: str | None
    prompt_tokens: int
    rows_in_reach: int
    rows_never_written: float
    tenants: tuple[InReach, ...]
    superset: Superset


class OwnRequest(msgspec.Struct, frozen=True):
    """One earlier request whose rows were in the reach of `answers` answers of others."""

    rid: str
    bootstrap_room: int | None
    ended_earliest: str | None
    ended_latest: str | None
    prompt_tokens: int
    answers: int
    rows_low: int
    rows: int
    rows_high: int


class SourceTenant(msgspec.Struct, frozen=True):
    """One earlier tenant: in how many answers of others its text was in reach, as in `Pair`."""

    tenant: str | None
    answers_likely: int
    answers_in_replay: int
    answers_at_most: int
    rows_low: int
    rows: int
    rows_high: int
    requests_at_most: int
    requests_in_replay: int
    requests: tuple[OwnRequest, ...]


class Rank(msgspec.Struct, frozen=True):
    """One decode rank, from one start of its process to the next; `run` counts them from 0."""

    node: str
    dp: int
    run: int
    pool_tokens: int
    page_size: int
    requests: int
    affected: int
    draws: int
    completeness: float | None
    shortfalls: float


class Input(msgspec.Struct, frozen=True):
    """One source that was read."""

    source: str
    sha256: str
    bytes: int
    lines: int
    problems: tuple[str, ...]


class Exposure(msgspec.Struct, frozen=True):
    """The document."""

    schema: str
    first_rejected_length: int | None
    affected_responses: int
    confidence: str
    doubts: tuple[str, ...]
    prefill_rows_of_first_page: int
    handed_over_without_a_decode_record: int
    ranks: tuple[Rank, ...]
    responses: tuple[Response, ...]
    matrix: tuple[Pair, ...]
    sources: tuple[SourceTenant, ...]
    inputs: tuple[Input, ...]


def exposure_of(document: Mapping[str, Any]) -> Exposure:
    """The document as a value."""
    return msgspec.convert(document, Exposure)


class ExposureFile(Struct, frozen=True):
    """A document that was read: what it says, its bytes, and their SHA-256."""

    exposure: Exposure
    data: bytes
    sha256: str


def read_exposure(path: Path) -> ExposureFile:
    """What `whose --json` wrote. Raises `UsageError` for another file."""
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError("is too large", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    advice = "write it with `kvforensics whose LOG... --json > FILE`"
    try:
        found = msgspec.json.decode(data, type=Exposure)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError("is no output of `whose --json`", where=str(path), advice=advice) from error
    if found.schema != SCHEMA:
        raise UsageError(f"has the schema {found.schema!r}, not {SCHEMA!r}", where=str(path), advice=advice)
    if found.affected_responses != len(found.responses):
        raise EvidenceError("counts other responses than it lists", where=str(path))
    return ExposureFile(found, data, hashlib.sha256(data).hexdigest())


def document_of(trace: Trace) -> dict[str, Any]:
    """A trace as one JSON document."""
    return {
        "schema": SCHEMA,
        "first_rejected_length": trace.first_rejected,
        "affected_responses": len(trace.exposed),
        "confidence": "replay" if not trace.doubts else "superset",
        "doubts": list(trace.doubts),
        "prefill_rows_of_first_page": max((m.page_size for m in trace.memories), default=1) - 1,
        "handed_over_without_a_decode_record": trace.absent,
        "ranks": [
            {"node": log.node, "dp": log.dp, "run": log.run, "pool_tokens": memory.pool_tokens,
             "page_size": memory.page_size, "requests": len(log), "affected": len(found.exposed), "draws": found.draws,
             "completeness": found.completeness, "shortfalls": found.shortfalls}
            for log, memory, found in zip(trace.ranks, trace.memories, trace.replayed, strict=True)
        ],
        "responses": [_response(trace, e) for e in trace.exposed],
        "matrix": list(_matrix(trace)),
        "sources": list(sources(trace.ranks, trace.replayed)),
        "inputs": [i.document() for i in trace.inputs],
    }  # fmt: skip


def _response(trace: Trace, exposed: Exposed) -> dict[str, Any]:
    log = trace.ranks[exposed.rank]
    rid = log.rid[exposed.request]
    return {
        "rid": rid,
        "bootstrap_room": log.room[exposed.request],
        "node": log.node,
        "dp": log.dp,
        "tenant": log.tenant(exposed.request),
        "basis": trace.basis.get(rid),
        "prompt_tokens": int(log.prompt[exposed.request]),
        "rows_in_reach": exposed.rows,
        "rows_never_written": round(exposed.nobody, 1),
        "tenants": [_written(s, exposed.rows) for s in exposed.tenants],
        "requests": [
            {"rid": log.rid[s.request or 0], **_written(s, exposed.rows)} for s in exposed.requests[:MOST_SHARES]
        ],
        "superset": {"requests": exposed.earlier, "tenants": list(exposed.earlier_tenants),
                     "whole": trace.whole[exposed.rank]},
    }  # fmt: skip


def _written(share: Share, total: int) -> dict[str, Any]:
    return {
        "tenant": share.tenant, "rows": round(share.rows, 1), "rows_low": round(share.low, 1),
        "rows_high": round(share.high, 1), "share": round(share.rows / total, 4) if total else None,
        "seen_in_draws": round(share.seen, 3),
    }  # fmt: skip


def _matrix(trace: Trace) -> Iterator[dict[str, Any]]:
    """Receiving tenant by source tenant: answers and rows with bounds. At most: those of the superset."""
    cells: dict[tuple[str | None, str | None], list[float]] = {}
    for exposed in trace.exposed:
        receiver = trace.ranks[exposed.rank].tenant(exposed.request)
        found = {s.tenant: s for s in exposed.tenants}
        for source in dict.fromkeys((*found, *exposed.earlier_tenants)):
            cell = cells.setdefault((receiver, source), [0, 0, 0, 0, 0, 0])
            cell[2] += 1
            share = found.get(source)
            if share is not None:
                cell[0] += share.low > 0
                cell[1] += share.seen > 0
                cell[3] += share.low
                cell[4] += share.rows
                cell[5] += share.high
    for receiver, source in sorted(cells, key=lambda pair: [(name is None, name or "") for name in pair]):
        least, replayed, most, low, rows, high = cells[receiver, source]
        yield {
            "receiving_tenant": receiver, "source_tenant": source, "responses_likely": int(least),
            "responses_in_replay": int(replayed), "responses_at_most": int(most), "rows_low": round(low),
            "rows": round(rows), "rows_high": round(high),
        }  # fmt: skip
