"""How is a unit seen, where paths alone do not lead to its fields?

Some logs write what they know as lists of named values, or under a key that is itself a value. A view turns such a unit
into an object that paths can be tried on; a unit that has not that shape stays as it is. Views are named by formats.

    otlp     a span or log record of OpenTelemetry, or a span of Jaeger or Zipkin: its attributes as keys of the object
             (`gen_ai.request.model`), its own fields under `span`, the attributes of its resource under `resource`
    mlflow   a span of an MLflow trace: attributes that are JSON kept as text opened, the trace's `info` beside it
    weave    a call of Weave: the usage of its only model as `usage`, with the model's name as `usage.model`
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kvforensics.other_spans import as_otlp

MAX_DEPTH = 64
Seen = tuple[Any, tuple[str, ...]]
"""The value, and the reasons why parts of it are unknown."""

_decode = msgspec.json.Decoder().decode
_METADATA = ("ai.telemetry.metadata.", "traceloop.association.properties.", "langfuse.trace.metadata.", "metadata.")
_IDS = ("traceId", "spanId", "parentSpanId")
_SNAKE = {
    "trace_id": "traceId", "span_id": "spanId", "parent_span_id": "parentSpanId",
    "start_time_unix_nano": "startTimeUnixNano", "end_time_unix_nano": "endTimeUnixNano", "time_unix_nano": "timeUnixNano",
    "observed_time_unix_nano": "observedTimeUnixNano", "event_name": "eventName",
    "trace_state": "traceState",
}  # fmt: skip
_TIMES = ("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "observedTimeUnixNano")
_PLAIN = frozenset((
    "stringValue", "intValue", "doubleValue", "boolValue", "bytesValue",
    "string_value", "int_value", "double_value", "bool_value", "bytes_value",
))  # fmt: skip
_BYTES = ("bytesValue", "bytes_value")
_ARRAYS, _LISTS = ("arrayValue", "array_value"), ("kvlistValue", "kvlist_value")


def view(names: Sequence[str], value: Any, context: Sequence[bytes] = ()) -> Seen:
    """The value as the first of the named views that knows its shape sees it. `context`: see `envelope.Unit`."""
    if type(value) is dict:
        for name in names:
            seen = _VIEWS[name](value, context)
            if seen is not None:
                return seen
    return value, ()


def hex_id(text: Any) -> Any:
    """A trace or span id in lower-case hex, as which it is compared; JSON made of protobuf may have it in base64."""
    if type(text) is not str or not text:
        return None
    if len(text) in (24, 12) and text.endswith("="):
        try:
            return base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return text.lower()


def attribute(value: Any, depth: int = 0) -> Any:
    """What an attribute value of OTLP JSON holds; a plain value stands for itself."""
    if type(value) is not dict or len(value) != 1:
        return None if value == {} else value
    ((kind, held),) = value.items()
    if kind in _PLAIN:
        return _text_of_bytes(held) if kind in _BYTES else held
    if depth > MAX_DEPTH:
        return None
    inner = held.get("values", ()) if type(held) is dict else held
    if kind in _ARRAYS and type(inner) in (list, tuple):
        return [attribute(v, depth + 1) for v in inner]
    if kind in _LISTS and type(inner) in (list, tuple):
        return attributes(inner, depth + 1)[0]
    return value


def _text_of_bytes(held: Any) -> Any:
    """Bytes, which JSON has in base64, as the text that they are."""
    try:
        return base64.b64decode(held, validate=True).decode() if type(held) is str else held
    except ValueError:
        return held


def attributes(listed: Any, depth: int = 0) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A list of `{key, value}` as an object, and the reasons where a key is given twice with different values."""
    if type(listed) is dict:
        return dict(listed), ()
    found: dict[str, Any] = {}
    twice: dict[str, None] = {}
    for pair in listed if type(listed) in (list, tuple) else ():
        if type(pair) is not dict or type(pair.get("key")) is not str:
            continue
        key, value = pair["key"], attribute(pair.get("value"), depth)
        if found.get(key, value) != value:
            twice[key] = None
        found[key] = value
    for key in twice:
        found[key] = None
    return found, tuple(f"repeated_key:{k[:64]}" for k in twice)


def is_span(value: Mapping[str, Any]) -> bool:
    """Whether an object has the shape of a span or log record of OTLP JSON."""
    named = ("traceId" in value or "trace_id" in value) and ("spanId" in value or "span_id" in value)
    timed = named and ("startTimeUnixNano" in value or "start_time_unix_nano" in value or "name" in value)
    logged = "timeUnixNano" in value or "time_unix_nano" in value or "observedTimeUnixNano" in value
    return (timed or logged) and type(value.get("attributes", ())) in (list, tuple)


def _otlp(value: dict[str, Any], context: Sequence[bytes]) -> Seen | None:
    if not is_span(value):
        other = as_otlp(value)
        return None if other is None else _otlp(other, context)
    found, reasons = attributes(value.get("attributes"))
    body = attribute(value.get("body"))
    if type(body) is dict:
        found = {**body, **found}
    own = {_SNAKE.get(k, k): v for k, v in value.items() if k != "attributes"}
    for key in _IDS:
        if key in own:
            own[key] = hex_id(own[key])
    for key in _TIMES:
        # Zero is how OTLP writes that it does not know.
        if own.get(key) in (0, "0", ""):
            own[key] = None
    metadata = {k.removeprefix(p): v for k, v in found.items() for p in _METADATA if k.startswith(p)}
    if metadata:
        found["metadata"] = metadata
    found["span"] = own
    found["resource"] = _resource(context)
    return found, reasons


def _resource(context: Sequence[bytes]) -> dict[str, Any]:
    """The attributes of the resource that encloses a span."""
    for text in context:
        try:
            around = _decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        resource = around.get("resource") if type(around) is dict else None
        if type(resource) is dict:
            return attributes(resource.get("attributes"))[0]
    return {}


def _mlflow(value: dict[str, Any], context: Sequence[bytes]) -> Seen | None:
    held = value.get("attributes")
    if type(held) is not dict or not any(k.startswith("mlflow.") for k in held):
        return None
    info: Any = None
    for text in context:
        try:
            around = _decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        info = around.get("info", info) if type(around) is dict else info
    seen = {**value, "attributes": {k: _opened(v) for k, v in held.items()}}
    inner = value.get("context")
    ids = inner if type(inner) is dict else value
    for key in ("trace_id", "span_id"):
        seen[key] = _mlflow_id(ids.get(key))
    seen["parent_span_id"] = _mlflow_id(value.get("parent_span_id", value.get("parent_id")))
    return (seen | {"info": info} if type(info) is dict else seen), ()


def _mlflow_id(text: Any) -> Any:
    """MLflow writes its trace ids with a prefix (`tr-`), and older versions all ids with `0x`."""
    return hex_id(text.removeprefix("tr-").removeprefix("0x")) if type(text) is str else None


def _opened(value: Any) -> Any:
    """An attribute that is JSON kept as text (a name arrives with its own quotes)."""
    if type(value) is str and value[:1] in ('"', "{", "["):
        try:
            return _decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _weave(value: dict[str, Any], _: Sequence[bytes]) -> Seen | None:
    if "op_name" not in value:
        return None
    summary = value.get("summary")
    if type(summary) is str:
        summary = _opened(summary)
    usage = summary.get("usage") if type(summary) is dict else _spread(value)
    if type(usage) is not dict or not usage:
        return value, ()
    counts = [(name, c) for name, c in usage.items() if type(c) is dict]
    if len(counts) == 1:
        return {**value, "usage": {"model": counts[0][0], **counts[0][1]}}, ()
    # Several models below one call: a sum of several calls, whatever each says.
    return {**value, "usage": {"requests": "several"}}, ()


def _spread(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Usage spread over columns, as data frames have it: `summary.usage.MODEL.prompt_tokens`."""
    found: dict[str, dict[str, Any]] = {}
    for key, held in value.items():
        if key.startswith("summary.usage.") and held not in (None, ""):
            model, _, counter = key.removeprefix("summary.usage.").rpartition(".")
            found.setdefault(model, {})[counter] = held
    return found


_VIEWS: Mapping[str, Callable[[dict[str, Any], Sequence[bytes]], Seen | None]] = {
    "otlp": _otlp, "mlflow": _mlflow, "weave": _weave,
}  # fmt: skip
VIEWS = tuple(_VIEWS)
