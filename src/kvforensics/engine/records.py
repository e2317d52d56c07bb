"""Which requests and which signs of the bug do run-time lines show?

One row a line that speaks of one request (time statistics, request log as text or JSON, metrics export) or of one event
(rejection, unequal page counts, truncation, canary, checksum, and the look-alikes). `bootstrap_room` joins prefill and
decode; it is a 63-bit whole number and stays one. Prompts and answers are skipped over, never kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import polars as pl

from kvforensics.engine.lines import EngineLine
from kvforensics.engine.literals import pairs, scalar

WANTED = re.compile(
    rb"Req ?Time ?Stats\(rid=|Finish: obj=|request\.finished|request_parameters|exceeds the maximum allowed length"
    rb"|len\(prefill_state_indices\)|Truncated\. len\(req|kv_canary violation|KV checksum mismatch|chunked_dst_kv_indice"
    rb"|exceeds the maximum number of tokens|Context corruption detected|transfer failed for request|bootstrap failed"
    rb"|longer than the model's context length|State index length mismatch|Decode batch|Cache flushed"
    rb"|#new-seq: 1, #new-token: \d{1,3},|Prefill server returned error status|status_code=\d{3} latency="
)
SCHEMA: dict[str, Any] = {
    "source": pl.String, "line": pl.Int64, "node": pl.String, "local_us": pl.Int64, "utc_us": pl.Int64, "dp": pl.Int64,
    "tp": pl.Int64, "kind": pl.String, "role": pl.String, "rid": pl.String, "room": pl.Int64, "prompt_tokens": pl.Int64,
    "cached_tokens": pl.Int64, "output_tokens": pl.Int64, "finish": pl.String, "finish_length": pl.Int64,
    "status": pl.Int64, "received_us": pl.Int64, "answered_us": pl.Int64, "finished_us": pl.Int64, "entry_us": pl.Int64,
    "bootstrap_us": pl.Int64, "wait_us": pl.Int64, "transfer_us": pl.Int64, "queue_us": pl.Int64, "forward_us": pl.Int64,
    "transfer_bytes": pl.Int64, "host": pl.String, "tenant": pl.String, "limit": pl.Int64, "pages": pl.Int64,
    "other_pages": pl.Int64, "latency_us": pl.Int64,
}  # fmt: skip
BATCH = 50_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STATS = re.compile(
    r"Req ?Time ?Stats\(rid=([^,]{1,200}), bootstrap_room=(\d+|None), input[ _]len=(\d+)(?:, cached_input_len=(\d+))?"
    r", output[ _]len=(\d+)(?:, attempts=\d+)?, type=(\w+)\)"
)
_DURATION = re.compile(r"(\w+?)(?:_queue)?_duration=([\d.]+)ms")
_ENTRY = re.compile(r"entry_time=(\d{9,10}(?:\.\d+)?)(?!\d)")
_BYTES = re.compile(r"transfer_total=([\d.]+) ?MB")
_EVENTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple((kind, re.compile(text)) for kind, text in (
    ("rejected", r"Input length \((?P<prompt_tokens>\d+) tokens\) exceeds the maximum allowed length \((?P<limit>\d+) tokens\)"
                 r"(?:.{0,200}?self\.rid='(?P<rid>[^']{1,200})')?"),
    ("unequal_pages", r"len\(prefill_state_indices\) = (?P<pages>\d+), len\(dst_state_indices\) = (?P<other_pages>\d+)"),
    ("truncated", r"Request length is longer than .{0,90}Truncated\. len\(req\.origin_input_ids\)=(?P<prompt_tokens>\d+), "
                  r"max_req_input_len=(?P<limit>\d+)"),
    ("canary", r"kv_canary violation: "),
    ("checksum", r"KV checksum mismatch req=(?P<rid>\S{1,200}) bootstrap_room=(?P<room>\d+)"),
    ("decode_rejected", r"len\(chunked_dst_kv_indice\) = (?P<other_pages>\d+), "
                        r"len\(kv_chunk\.prefill_kv_indices\) = (?P<pages>\d+)"),
    ("queue_capacity", r"Request (?P<rid>\S{1,200}) exceeds the maximum number of tokens: "
                       r"(?P<prompt_tokens>\d+) > (?P<limit>\d+)"),
    ("metadata_collision", r"Context corruption detected: "),
    ("transfer_failed", r"(?:Decode transfer|Prefill transfer|Prefill bootstrap) failed for request"),
    ("context_refused", r"The input \((?P<prompt_tokens>\d+) tokens\) is longer than the model's context length"),
    ("index_mismatch", r"State index length mismatch"),
    ("flushed", r"Cache flushed successfully"),
    # A batch of one request and few tokens: what the stub of a rejected prompt looks like, and health checks too.
    ("prefill_batch", r"Prefill batch(?: \[\d+\])?[.,] ?#new-seq: (?P<pages>1), #new-token: (?P<prompt_tokens>\d{1,3}), "),
    ("batch", r"Decode batch, #running-req: (?P<pages>\d+), #token: (?P<prompt_tokens>\d+)"),
))  # fmt: skip
_GATEWAY = re.compile(
    r"(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\s+[A-Z]+ http_request\{[^}]*"
    r"request_id=\"(?P<rid>[^\"]{1,200})\"(?: status_code=(?P<status>\d{3}) latency=(?P<latency>\d+))?"
    r"[^}]*\}:(?P<said>.*)", re.DOTALL
)  # fmt: skip
_REFUSED = re.compile(r".{0,200}?Prefill server returned error status.{0,300}?status=(\d{3})", re.DOTALL)
_TENANT_KEYS = (
    "tenant",
    "organization",
    "organisation",
    "org",
    "team",
    "account",
    "project",
    "x-tenant-id",
    "x-tenant",
)


def read_records(lines: Iterable[EngineLine], tenant_by: str | None = None) -> Iterator[pl.DataFrame]:
    """Batches of rows with the columns of `SCHEMA`. `tenant_by` names the header, label or field that names the tenant."""
    reader = _Reader(tenant_by)
    rows: list[dict[str, Any]] = []
    for line in lines:
        row = reader.row(line)
        if row is None:
            continue
        rows.append({
            "source": line.source, "line": line.line, "node": line.node, "local_us": line.local_us, "utc_us": line.utc_us,
            "dp": line.rank("DP"), "tp": line.rank("TP"), **row,
        })  # fmt: skip
        if row.get("dp") is None:
            rows[-1]["dp"] = line.rank("DP")
        if len(rows) >= BATCH:
            yield pl.DataFrame(rows, schema=SCHEMA)
            rows = []
    if rows:
        yield pl.DataFrame(rows, schema=SCHEMA)


class _Reader:
    """Reads one line after the other."""

    def __init__(self, tenant_by: str | None) -> None:
        self._tenant_keys = (tenant_by,) if tenant_by else _TENANT_KEYS
        self._json = msgspec.json.Decoder()

    def row(self, line: EngineLine) -> dict[str, Any] | None:
        """What the line says, None where it says nothing of interest."""
        text = line.text
        if text.startswith("{"):
            return self._object(text)
        if found := _STATS.match(text):
            return _stats(found, text)
        if text.startswith("Finish: obj="):
            return self._finish(text)
        if text[:2] == "20" and (gateway := _GATEWAY.match(text)):
            return _gateway(gateway)
        for kind, pattern in _EVENTS:
            if event := pattern.match(text):
                numbers = {k: (v if k == "rid" else whole(v)) for k, v in event.groupdict().items()}
                return {"kind": kind, **numbers}
        return None

    def _object(self, text: str) -> dict[str, Any] | None:
        try:
            value = self._json.decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        if value.get("event") == "request.finished":
            request, out = value.get("obj"), value.get("out")
            meta = out.get("meta_info") if isinstance(out, dict) else None
            row = self._request(request if isinstance(request, dict) else {}, meta if isinstance(meta, dict) else {})
            # A local stamp without an offset; it takes the place of the line's own.
            return {**row, "kind": "finish", **_local(value.get("timestamp"))}
        if "request_parameters" in value:
            try:
                request = self._json.decode(value["request_parameters"])
            except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
                return None
            return {**self._request(request if isinstance(request, dict) else {}, value), "kind": "export"}
        return None

    def _finish(self, text: str) -> dict[str, Any] | None:
        start = text.find("(", len("Finish: obj="))
        if start < 0 or start > 60:
            return None
        request, at = _fields(text, start + 1)
        marker = text.find("out={", at) if at >= 0 else -1
        meta: dict[str, Any] = {}
        if marker >= 0:
            out, _ = _fields(text, marker + len("out={"), nested="meta_info")
            meta = out
        return {**self._request(request, meta), "kind": "finish"} if request or meta else None

    def _request(self, request: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
        finish = meta.get("finish_reason")
        reason = finish if isinstance(finish, dict) else {}
        received, ended = micros(meta.get("request_received_ts")), meta.get("request_finished_ts")
        return {
            "role": None,
            "rid": _text(meta.get("id")) or _text(request.get("rid")),
            "room": whole(request.get("bootstrap_room")),
            "host": _text(request.get("bootstrap_host")),
            "prompt_tokens": whole(meta.get("prompt_tokens")),
            "cached_tokens": whole(meta.get("cached_tokens")),
            "output_tokens": whole(meta.get("completion_tokens")),
            "finish": _text(reason.get("type")),
            "finish_length": whole(reason.get("length")),
            "status": whole(reason.get("status_code")),
            "dp": whole(meta.get("dp_rank")),
            "received_us": received,
            "answered_us": micros(meta.get("response_sent_to_client_ts")),
            "finished_us": micros(ended if ended is not None else meta.get("decode_finished_ts")),
            "tenant": self._tenant(request),
        }

    def _tenant(self, request: Mapping[str, Any]) -> str | None:
        labels, headers = request.get("custom_labels"), request.get("external_trace_header")
        places = [p for p in (labels, headers, request) if isinstance(p, Mapping)]
        return next((t for p in places for k in self._tenant_keys if (t := _text(p.get(k))) is not None), None)


def _stats(found: re.Match[str], text: str) -> dict[str, Any]:
    durations = {name: int(float(value) * 1_000) for name, value in _DURATION.findall(text)}
    entry, total = _ENTRY.search(text), _BYTES.search(text)
    return {
        "kind": "stats", "role": found[6], "rid": found[1], "room": whole(found[2]), "prompt_tokens": whole(found[3]),
        "cached_tokens": whole(found[4]), "output_tokens": whole(found[5]),
        "entry_us": int(float(entry[1]) * 1_000_000) if entry else None, "bootstrap_us": durations.get("bootstrap"),
        "wait_us": durations.get("alloc_wait"), "transfer_us": durations.get("transfer"), "queue_us": durations.get("queue"),
        "forward_us": durations.get("forward"), "transfer_bytes": int(float(total[1]) * (1 << 20)) if total else None,
    }  # fmt: skip


def _gateway(found: re.Match[str]) -> dict[str, Any] | None:
    """A line of the gateway, whose stamps are UTC. Its request id is its own, not that of an engine."""
    at = _local(found["stamp"]).get("local_us")
    if found["status"] is not None:
        return {"kind": "gateway_end", "rid": found["rid"], "status": whole(found["status"]), "utc_us": at,
                "latency_us": whole(found["latency"])}  # fmt: skip
    refused = _REFUSED.match(found["said"])
    return {"kind": "gateway_refusal", "rid": found["rid"], "status": whole(refused[1]), "utc_us": at} if refused else None


def _fields(text: str, at: int, nested: str | None = None) -> tuple[dict[str, Any], int]:
    """The plain values of a repr, one level down where `nested` or a dictionary is asked for; and where it ends."""
    found: dict[str, Any] = {}
    for key, begin, end in pairs(text, at):
        if not key:
            return found, begin
        value = text[begin:end].strip()
        if value.startswith("{") and key in (nested, "finish_reason", "custom_labels"):
            inner, _ = _fields(text, begin + text[begin:end].index("{") + 1, nested=None)
            found |= inner if key == nested else {key: inner}
        else:
            known, plain = scalar(value) if len(value) < 500 else (False, None)
            if known:
                found[key] = plain
    return found, -1


def whole(value: object) -> int | None:
    """A whole number that fits 63 bits, never by way of a float."""
    if isinstance(value, str) and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def micros(value: object) -> int | None:
    """Microseconds of seconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e9 <= value < 1e10:
        return None
    return round(value * 1_000_000)


def _text(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _local(stamp: object) -> dict[str, int]:
    if not isinstance(stamp, str):
        return {}
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return {}
    if moment.tzinfo is not None:
        return {"utc_us": (moment - _EPOCH) // _MICROSECOND}
    return {"local_us": (moment.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND}
