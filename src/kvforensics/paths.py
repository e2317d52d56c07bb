"""Where in a parsed record is a field?

A path is dotted (`usage.prompt_tokens`). Each step may be nested or flat (`llm.model` finds `{"llm": {"model": 1}}` and
`{"llm.model": 1}`), may go through JSON kept as text, and a list of one stands for its element. So does the event that tells
the usage for a whole stream, be it server-sent events kept as text or a list of chunks. `[n]` picks a list element, a step
that starts with `~` ignores case, `-`, `_` and spaces, and `**` looks breadth first at any depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

MAX_DEPTH = 12
MAX_NODES = 4096
_decode = msgspec.json.Decoder().decode
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")


@lru_cache(maxsize=4096)
def compile_path(path: str) -> tuple[str, ...]:
    """The steps of a path."""
    return tuple(_STEP.findall(path))


@lru_cache(maxsize=1 << 14)
def fold(name: str) -> str:
    """A name without case, dashes, underscores and spaces."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def embedded(text: str) -> Any:
    """The value that a text carries as JSON or as server-sent events, else None."""
    head = text.lstrip()[:1]
    if head in ("{", "["):
        try:
            return _decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
    if "data:" in text[:4096]:
        return _last_event(text)
    return None


def _last_event(text: str) -> Any:
    """The last event that tells its usage; Anthropic's streams tell the prompt in their first one, with the message itself."""
    last: Any = None
    message: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("data:") and line[5:].lstrip().startswith("{"):
            try:
                event = _decode(line[5:])
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(event, dict) and event.get("type") == "message_start" and isinstance(event.get("message"), dict):
                message = event["message"]
            if isinstance(event, dict) and (event.get("usage") or not isinstance(last, dict) or not last.get("usage")):
                last = event
    return _with_message(message, last) if message else last


def _with_message(message: Mapping[str, Any], last: Any) -> dict[str, Any]:
    """The message that a stream began with and the counts that it ended with."""
    counts = [u for u in (message.get("usage"), last.get("usage")) if isinstance(u, dict)]
    return {**message, "usage": {name: n for usage in counts for name, n in usage.items() if n is not None}}


def last_chunk(values: list[Any]) -> Any:
    """Of the chunks of a stream the last that tells its usage, None where that is no such list."""
    if not all(type(v) is dict and "choices" in v for v in values):
        return None
    if not any(type(c) is dict and "delta" in c for v in values for c in v["choices"] or () if type(v["choices"]) is list):
        return None
    return next((v for v in reversed(values) if type(v.get("usage")) is dict and v["usage"]), None)


def lookup(value: Any, steps: tuple[str, ...]) -> Any:
    """The value at the path, or None."""
    for at, step in enumerate(steps):
        if type(value) is str:
            value = embedded(value)
        if type(value) is list:
            if step[0] == "[":
                index = int(step[1:-1])
                value = value[index] if index < len(value) else None
                continue
            value = value[0] if len(value) == 1 else last_chunk(value)
            if type(value) is str:
                value = embedded(value)
        if type(value) is not dict:
            return None
        if step == "**":
            return next(_anywhere(value, steps[at + 1 :]), None)
        if step in value:
            value = value[step]
        elif step[0] == "~":
            value = _folded(value, step[1:])
        else:
            return _flat(value, steps[at:])
    return value


def _folded(value: Mapping[str, Any], name: str) -> Any:
    wanted = fold(name)
    return next((v for k, v in value.items() if fold(k) == wanted), None)


def _flat(value: Mapping[str, Any], steps: tuple[str, ...]) -> Any:
    for cut in range(len(steps), 1, -1):
        name = ".".join(steps[:cut])
        if name in value:
            return lookup(value[name], steps[cut:])
    return None


def every(value: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    """All values that a path finds which searches, the one value of another path."""
    if "**" in steps:
        at = steps.index("**") + 1
        root = lookup(value, steps[:at])
        yield from () if root is None else _anywhere(root, steps[at:])
    elif (found := lookup(value, steps)) is not None:
        yield found


def _anywhere(value: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    level: list[Any] = [value]
    seen = 0
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            seen += 1
            if seen > MAX_NODES:
                return
            found = lookup(node, steps)
            if found is not None:
                yield found
            below.extend(v for v in node.values() if type(v) is dict)
            below.extend(x for v in node.values() if type(v) is list for x in v if type(x) is dict)
        level = below


def text_of(value: Any) -> str | None:
    """A JSON value as canonical text; None for null, empty text and NaN-like text stays what it is."""
    if type(value) is str:
        return value or None
    if value is None:
        return None
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) in (int, float):
        return str(value)
    return msgspec.json.encode(value).decode()
