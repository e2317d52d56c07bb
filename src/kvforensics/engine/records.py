"""Which requests and which signs of the bug do run-time lines show?

One row a line that speaks of one request (time statistics, request log as text or JSON, metrics export) or of one event
(rejection, unequal page counts, truncation, canary, checksum, and the look-alikes). `bootstrap_room` joins prefill and
decode; it is a 63-bit whole number and stays one. Prompts and answers are skipped over, never kept.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import polars as pl

from kvforensics.engine.answers import COLUMNS, AnswerReader, Values, local_stamp, whole
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
_STATS = re.compile(
    r"Req ?Time ?Stats\(rid=([^,]{1,200}), bootstrap_room=(\d+|None), input[ _]len=(\d+)(?:, cached_input_len=(\d+))?"
    r", output[ _]len=(\d+)(?:, attempts=\d+)?, type=(\w+)\)"
)
LONGEST = 4_000
"""Characters of a line of the engine's own words that are looked at; only request logs are longer."""
_DURATION = re.compile(r"\b(\w{1,40}?)(?:_queue)?_duration=(\d{1,12}(?:\.\d{1,12})?)ms")
_ENTRY = re.compile(r"entry_time=(\d{9,10}(?:\.\d+)?)(?!\d)")
_BYTES = re.compile(r"transfer_total=(\d{1,9}(?:\.\d{1,12})?) ?MB")
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


class RecordReader:
    """Reads one line after the other, and keeps what they say until it is asked for."""

    def __init__(self, answers: AnswerReader) -> None:
        self._answers = answers
        self._json = msgspec.json.Decoder()
        self._rows: list[dict[str, Any]] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to ask."""
        return len(self._rows) >= BATCH

    def rows(self) -> pl.DataFrame:
        """What was kept since the last time."""
        rows, self._rows = self._rows, []
        return pl.DataFrame(rows, schema=SCHEMA)

    def take(self, line: EngineLine) -> None:
        """Read a line, if it says something of interest."""
        row = self._row(line)
        if row is None:
            return
        told = {key: value for key, value in row.items() if value is not None}
        self._rows.append({
            "source": line.source, "line": line.line, "node": line.node, "local_us": line.local_us, "utc_us": line.utc_us,
            "dp": line.rank("DP"), "tp": line.rank("TP"), **told,
        })  # fmt: skip

    def _row(self, line: EngineLine) -> dict[str, Any] | None:
        text = line.text
        if text.startswith("{"):
            return self._object(text)
        if text.startswith("Finish: obj="):
            return self._finish(text)
        text = text[:LONGEST]
        if found := _STATS.match(text):
            return _stats(found, text)
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
            if not isinstance(value, dict):
                return None
            if value.get("event") == "request.finished":
                out = value.get("out")
                meta = out.get("meta_info") if isinstance(out, dict) else None
                return _answer(self._answers.read("finish", value.get("obj"), meta, value.get("timestamp")))
            if "request_parameters" in value:
                return _answer(self._answers.read("export", self._json.decode(value["request_parameters"]), value))
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            return None
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
        return _answer(self._answers.read("finish", request, meta)) if request or meta else None


def _answer(values: Values) -> dict[str, Any]:
    return dict(zip(COLUMNS, values, strict=True))


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
    at = local_stamp(found["stamp"])
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
