"""How does each container hold the benchmark's records, and which answer is right there?

The same calls as in the gateway's lines, as CSV, Parquet, OTLP lines, an Envoy access log, CRI-wrapped lines, a journal,
an application's own lines and one JSON document. An access log has no counts, so the answer asked of it is how many
calls may be affected: those whose size does not rule them out.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import generate
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from generate import Truth

UNCERTAIN_UNTIL = datetime(2026, 9, 9, 14, 52, tzinfo=UTC)
FEWEST_BYTES = 681_274 - 4_096
"""From this size on a request may have had too many tokens: a byte each, and what a template adds."""
SPANS = 16
NAMES = {
    "csv": "gateway-{}.csv", "parquet": "gateway-{}.parquet", "otlp": "traces-{}.jsonl", "access": "envoy-{}.log",
    "cri": "gateway-{}.cri.log", "journald": "journal-{}.json", "app": "app-{}.jsonl", "document": "gateway-{}.json",
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_decode = msgspec.json.Decoder().decode
Row = dict[str, Any]


def write(form: str, target: Path, count: int) -> Truth:
    """Write `target` in a form; the truth is also kept beside it."""
    size = hits = 0
    rows = _rows(count)
    if form == "parquet":
        hits = _parquet(target, rows)
        size = target.stat().st_size
    else:
        first = True
        with target.open("wb", buffering=1 << 20) as file:
            for chunk, affected in rows:
                data = _WRITERS[form](chunk, first)
                hits += sum(map(_may_be, chunk)) if form == "access" else affected
                size += file.write(data)
                first = False
            if form == "document":
                size += file.write(b"]\n")
    truth = Truth(count, size, hits)
    target.with_name(target.name + ".truth.json").write_bytes(msgspec.json.encode(truth) + b"\n")
    return truth


def _rows(count: int) -> Iterator[tuple[list[Row], int]]:
    for data, affected in generate.chunks(count):
        yield [_decode(line) for line in data.splitlines()], affected


def _may_be(row: Row) -> bool:
    at = datetime.fromisoformat(row["created_at"])
    inside = generate.WINDOW[0] <= at < UNCERTAIN_UNTIL
    return bool(inside and row["model"] == generate.MODEL and row["status_code"] == 200 and _size(row) >= FEWEST_BYTES)


def _size(row: Row) -> int:
    return int(row["tokens_in"]) * 4 + 900


def _nanoseconds(row: Row) -> int:
    return (datetime.fromisoformat(row["created_at"]) - _EPOCH) // timedelta(microseconds=1) * 1000


def _csv(rows: Sequence[Row], first: bool) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if first:
        writer.writerow(rows[0])
    writer.writerows([str(v).lower() if isinstance(v, bool) else v for v in row.values()] for row in rows)
    return text.getvalue().encode()


def _parquet(target: Path, rows: Iterator[tuple[list[Row], int]]) -> int:
    hits, held = 0, []
    writer: pq.ParquetWriter | None = None
    for chunk, affected in rows:
        held += chunk
        hits += affected
        if len(held) >= 30 * generate.CHUNK:
            writer = _group(writer, target, held)
            held = []
    if held:
        writer = _group(writer, target, held)
    if writer is not None:
        writer.close()
    return hits


def _group(writer: pq.ParquetWriter | None, target: Path, rows: Sequence[Row]) -> pq.ParquetWriter:
    table = pa.Table.from_pylist([{**r, "created_at": datetime.fromisoformat(r["created_at"])} for r in rows])
    writer = pq.ParquetWriter(target, table.schema) if writer is None else writer
    writer.write_table(table, row_group_size=table.num_rows)
    return writer


def _span(row: Row) -> Row:
    start = _nanoseconds(row)
    texts = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "workers-ai", "gen_ai.request.model": row["model"]}
    counts = {
        "gen_ai.usage.input_tokens": row["tokens_in"], "gen_ai.usage.output_tokens": row["tokens_out"],
        "http.response.status_code": row["status_code"],
    }  # fmt: skip
    return {
        "traceId": f"{int(row['id'][3:], 16):032x}"[-32:], "spanId": f"{int(row['id'][12:], 16):016x}"[-16:], "name": "chat",
        "kind": 3, "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + row["duration"] * 1_000_000),
        "attributes": [
            *({"key": k, "value": {"stringValue": v}} for k, v in texts.items()),
            *({"key": k, "value": {"intValue": str(v)}} for k, v in counts.items()),
        ],
        "status": {"code": 1 if row["success"] else 2},
    }  # fmt: skip


def _otlp(rows: Sequence[Row], first: bool) -> bytes:
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "llm-gateway"}}]}
    lines = []
    for begin in range(0, len(rows), SPANS):
        spans = [_span(row) for row in rows[begin : begin + SPANS]]
        lines.append({"resourceSpans": [{"resource": service, "scopeSpans": [{"scope": {"name": "gw"}, "spans": spans}]}]})
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _access(rows: Sequence[Row], first: bool) -> bytes:
    return "".join(
        f'[{r["created_at"]}] "POST /client/v4/accounts/0a1b/ai/run/{r["model"]} HTTP/2" {r["status_code"]} - {_size(r)} '
        f'{r["tokens_out"] * 4} {r["duration"]} {r["duration"] - 3} "192.0.2.17" "curl/8.10.1" "{r["id"]}" '
        f'"api.cloudflare.com" "203.0.113.5:443"\n'
        for r in rows
    ).encode()


def _cri(rows: Sequence[Row], first: bool) -> bytes:
    return b"".join(f"{r['created_at'][:-1]}000000Z stdout F ".encode() + _line(r) + b"\n" for r in rows)


def _journal(rows: Sequence[Row], first: bool) -> bytes:
    return "".join(
        json.dumps({
            "__CURSOR": f"s=5f;i={r['id']}", "__REALTIME_TIMESTAMP": str(_nanoseconds(r) // 1000), "_HOSTNAME": "gw-1",
            "_PID": "4711", "SYSLOG_IDENTIFIER": "gateway", "PRIORITY": "6", "MESSAGE": _line(r).decode(),
        }) + "\n"
        for r in rows
    ).encode()  # fmt: skip


def _app(rows: Sequence[Row], first: bool) -> bytes:
    return b"".join(
        msgspec.json.encode({
            "level": "info", "msg": "llm_call", "started_at": r["created_at"], "request_id": r["id"], "model": r["model"],
            "provider": "workers-ai", "status": r["status_code"], "latency_ms": r["duration"], "tenant": "team-a",
            "usage": {
                "prompt_tokens": r["tokens_in"], "completion_tokens": r["tokens_out"],
                "total_tokens": r["tokens_in"] + r["tokens_out"],
            },
        }) + b"\n"
        for r in rows
    )  # fmt: skip


def _document(rows: Sequence[Row], first: bool) -> bytes:
    return (b"[" if first else b",\n") + b",\n".join(map(_line, rows))


def _line(row: Row) -> bytes:
    return msgspec.json.encode(row)


_WRITERS: dict[str, Callable[[Sequence[Row], bool], bytes]] = {
    "csv": _csv, "otlp": _otlp, "access": _access, "cri": _cri, "journald": _journal, "app": _app, "document": _document,
}  # fmt: skip
