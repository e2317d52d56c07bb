"""What does one record of an engine's request log or metrics export say about its request?

Only the named fields are decoded, so that prompts and answers are skipped over and never kept. Fields are those of
`srt/utils/request_logger.py` and `srt/observability/request_metrics_exporter.py` of the released SGLang packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import polars as pl

COLUMNS: dict[str, Any] = {
    "kind": pl.String, "local_us": pl.Int64, "utc_us": pl.Int64, "rid": pl.String, "room": pl.Int64, "host": pl.String,
    "prompt_tokens": pl.Int64, "cached_tokens": pl.Int64, "output_tokens": pl.Int64, "finish": pl.String,
    "finish_length": pl.Int64, "status": pl.Int64, "dp": pl.Int64, "received_us": pl.Int64, "answered_us": pl.Int64,
    "finished_us": pl.Int64, "tenant": pl.String,
}  # fmt: skip
"""What a record tells; `local_us` and `utc_us` are its own stamp."""
TENANT_KEYS = (
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
Values = tuple[Any, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class _Meta(msgspec.Struct, frozen=True, gc=False):
    id: Any = None
    finish_reason: Any = None
    prompt_tokens: Any = None
    cached_tokens: Any = None
    completion_tokens: Any = None
    dp_rank: Any = None
    request_received_ts: Any = None
    response_sent_to_client_ts: Any = None
    request_finished_ts: Any = None
    decode_finished_ts: Any = None


class _Out(msgspec.Struct, frozen=True, gc=False):
    meta_info: _Meta


class _Export(_Meta, frozen=True, gc=False):
    request_parameters: str = ""


class AnswerReader:
    """Reads records. `tenant_by` names the header, label or field that names the tenant."""

    def __init__(self, tenant_by: str | None) -> None:
        self._keys = (tenant_by,) if tenant_by else TENANT_KEYS
        names = [f"tenant_{n}" for n in range(len(self._keys))]
        known = ("rid", "bootstrap_room", "bootstrap_host", "custom_labels", "external_trace_header")
        taken = [n for n, key in zip(names, self._keys, strict=True) if key not in known]
        self._own = tuple(
            name if name in taken else key for name, key in zip(names, self._keys, strict=True)
        )
        request = msgspec.defstruct(
            "Request", [(name, Any, None) for name in (*known, *taken)], frozen=True, gc=False,
            rename=dict(zip(names, self._keys, strict=True)).get,
        )  # fmt: skip
        finish = msgspec.defstruct(
            "Finish", [("obj", request), ("out", _Out), ("event", Any, None), ("timestamp", Any, None)], frozen=True, gc=False
        )
        self._request_type = request
        self._finish: msgspec.json.Decoder[Any] = msgspec.json.Decoder(finish)
        self._export = msgspec.json.Decoder(_Export)
        self._parameters: msgspec.json.Decoder[Any] = msgspec.json.Decoder(request)

    def decoded(self, text: str) -> Values | None:
        """What a record as JSON says, in the order of `COLUMNS`; None where it is none, or is not built as expected."""
        try:
            if '"event"' in text[:120]:
                found = self._finish.decode(text)
                if found.event != "request.finished":
                    return None
                return self._values("finish", found.obj, found.out.meta_info, found.timestamp)
            export = self._export.decode(text)
            if not export.request_parameters:
                return None
            return self._values("export", self._parameters.decode(export.request_parameters), export, None)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def read(self, kind: str, request: object, meta: object, stamp: object = None) -> Values:
        """The same of values that are decoded already; what is no object says nothing."""
        return self._values(
            kind, msgspec.convert(request if isinstance(request, dict) else {}, self._request_type),
            msgspec.convert(meta if isinstance(meta, dict) else {}, _Meta), stamp,
        )  # fmt: skip

    def _values(self, kind: str, request: Any, meta: _Meta, stamp: object) -> Values:
        reason = meta.finish_reason if isinstance(meta.finish_reason, dict) else {}
        ended = meta.request_finished_ts
        return (
            kind,
            *_stamp(stamp),
            text_of(meta.id) or text_of(request.rid),
            whole(request.bootstrap_room),
            text_of(request.bootstrap_host),
            whole(meta.prompt_tokens),
            whole(meta.cached_tokens),
            whole(meta.completion_tokens),
            text_of(reason.get("type")),
            whole(reason.get("length")),
            whole(reason.get("status_code")),
            whole(meta.dp_rank),
            micros(meta.request_received_ts),
            micros(meta.response_sent_to_client_ts),
            micros(ended if ended is not None else meta.decode_finished_ts),
            self._tenant(request),
        )

    def _tenant(self, request: Any) -> str | None:
        for place in (request.custom_labels, request.external_trace_header):
            if isinstance(place, Mapping):
                for key in self._keys:
                    if (told := text_of(place.get(key))) is not None:
                        return told
        return next((told for name in self._own if (told := text_of(getattr(request, name))) is not None), None)


def whole(value: object) -> int | None:
    """A whole number that fits 63 bits, never by way of a float."""
    if type(value) is int:
        return value if 0 <= value < 1 << 63 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return whole(int(value))
    return None


def micros(value: object) -> int | None:
    """Microseconds of seconds since 1970."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float) or not 1e9 <= value < 1e10:
        return None
    return round(value * 1_000_000)


def text_of(value: object) -> str | None:
    """A text that says something, cut where it is longer than any id, without what is no text (a lone surrogate)."""
    if not isinstance(value, str) or not value:
        return None
    return value[:200] if value.isascii() else value[:200].encode("utf-8", "replace").decode()


def local_stamp(text: str) -> int | None:
    """Microseconds of a time without an offset, as if it were UTC."""
    return _stamp(text)[0]


def _stamp(stamp: object) -> tuple[int | None, int | None]:
    """Local time without an offset, and UTC, of which at most one is told."""
    if not isinstance(stamp, str):
        return None, None
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None, None
    if moment.tzinfo is not None:
        return None, (moment - _EPOCH) // _MICROSECOND
    return (moment.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND, None
