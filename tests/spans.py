"""Spans for tests, as exporters write them."""

from __future__ import annotations

import json
from typing import Any

MODEL = "@cf/zai-org/glm-5.3"
START = 1788338472907000000
Json = dict[str, Any]


def listed(values: Json) -> list[Json]:
    """Attributes as OTLP JSON has them."""
    return [{"key": k, "value": {"intValue" if type(v) is int else "stringValue": str(v)}} for k, v in values.items()]


def span(number: int, attributes: Json, parent: int | None = None, trace: int = 1, **own: Any) -> Json:
    """A span; `number`, `parent` and `trace` make its ids."""
    return {
        "traceId": f"{trace:032x}", "spanId": f"{number:016x}", "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": "chat", "startTimeUnixNano": str(START + number), "endTimeUnixNano": str(START + number + 5),
        "attributes": listed(attributes), "status": {}, **own,
    }  # fmt: skip


def chat(number: int, prompt: int | None, parent: int | None = None, model: str = MODEL, **more: Any) -> Json:
    """A model call by the GenAI conventions; keyword `own` holds the span's own fields, the rest are attributes."""
    own = more.pop("own", {})
    values = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, **more}
    if prompt is not None:
        values |= {"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": 9}
    return span(number, values, parent, **own)


def sdk(number: int, operation: str, prompt: int, parent: int | None = None) -> Json:
    """A span of the AI SDK."""
    values = {"ai.operationId": operation, "ai.model.id": MODEL, "ai.model.provider": "workersai.chat"}
    return span(number, {**values, "ai.usage.inputTokens": prompt, "ai.usage.outputTokens": 5}, parent)


def http(number: int, parent: int, status: int) -> Json:
    """The HTTP span of a call."""
    return span(number, {"http.request.method": "POST", "http.response.status_code": status}, parent)


def export(*spans: Json, resource: Json | None = None) -> Json:
    """One export request."""
    around = {"attributes": listed(resource or {"service.name": "agent"})}
    return {"resourceSpans": [{"resource": around, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def lines(*requests: Json) -> str:
    """Export requests one a line."""
    return "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in requests)
