"""What do spans as Jaeger and Zipkin keep them say in the words of OTLP?

Both count microseconds, as numbers. Jaeger lists tags with their types and names the parent among references; Zipkin keeps
tags as one object of texts. How a span ended is a tag in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ZIPKIN = frozenset((
    "traceId", "id", "parentId", "name", "timestamp", "duration", "kind", "localEndpoint", "remoteEndpoint", "annotations",
    "tags", "debug", "shared",
))  # fmt: skip
_STATUS = ("otel.status_code", "status.code")


def as_otlp(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The span as OTLP JSON would have it, None where it is neither Jaeger's nor Zipkin's."""
    tags = value.get("tags")
    if "traceID" in value and "spanID" in value and "startTime" in value and type(tags) is list:
        pairs = {t["key"]: t.get("value") for t in tags if type(t) is dict and type(t.get("key")) is str}
        return _span(value["traceID"], value["spanID"], _parent(value), value["startTime"], value, pairs)
    if {"traceId", "id", "timestamp"} <= value.keys() <= _ZIPKIN and type(tags) is dict:
        return _span(value["traceId"], value["id"], value.get("parentId"), value["timestamp"], value, tags)
    return None


def _span(
    trace: Any, own: Any, parent: Any, start: Any, value: Mapping[str, Any], tags: Mapping[str, Any]
) -> dict[str, Any]:
    duration = value.get("duration")
    known = type(start) is int and type(duration) is int
    status = next((str(tags[k]) for k in _STATUS if tags.get(k) is not None), None)
    if status is None and str(tags.get("error", "false")).lower() not in ("false", ""):
        status = "error"
    return {
        "traceId": trace, "spanId": own, "parentSpanId": parent, "name": value.get("operationName", value.get("name")),
        # A start that is no whole number stays as it is written, for the clock to read.
        "startTimeUnixNano": start * 1000 if type(start) is int else start,
        "endTimeUnixNano": (start + duration) * 1000 if known else None,
        "attributes": [{"key": k, "value": v} for k, v in tags.items()],
        "status": {} if status is None else {"code": status},
    }  # fmt: skip


def _parent(value: Mapping[str, Any]) -> Any:
    """The parent of a Jaeger span; older writers have it as a field of its own."""
    listed = value.get("references")
    for reference in listed if type(listed) is list else ():
        if type(reference) is dict and reference.get("refType") == "CHILD_OF":
            return reference.get("spanID")
    return value.get("parentSpanID")
