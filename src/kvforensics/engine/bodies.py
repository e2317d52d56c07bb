"""Which prompts and answers are in the evidence, and whose are they?

Reads JSON lines that keep bodies: engine request logs (level 2 and up), dumps of chat calls, flat objects with a prompt and
an answer. Texts stay in memory for one record; nothing of them is ever written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from kvforensics.engine.lines import SourceReport, read_lines
from kvforensics.source import find_sources

DEEPEST = 12
_OBJECT = re.compile(rb"\{")
_PROMPTS = ("prompt", "messages", "input", "text", "instructions", "system", "question")
_ANSWERS = ("answer", "response", "output", "completion", "choices", "out", "result")
_IDS = ("rid", "request_id", "record_id", "id")
_TENANTS = ("tenant", "team", "organization", "org", "account", "project", "user")
_TEXT_KEYS = ("text", "content", "reasoning_content", "output_text", "arguments")


class Body(Struct, frozen=True):
    """The texts of one request; `tenant` is None where the record does not name one."""

    rid: str
    tenant: str | None
    prompt: str
    answer: str
    thinks: bool = False
    """Whether the answer opens with the model's thinking, marked as such."""


def read_bodies(paths: tuple[str, ...]) -> Iterator[Body]:
    """Every record that keeps a prompt or an answer. Raises `UsageError` for a path that cannot be read."""
    decoder = msgspec.json.Decoder()
    for source in find_sources(paths):
        for line in read_lines(source, _OBJECT, SourceReport(source.name)):
            body = _body(decoder, line.text, f"{line.source}:{line.line}")
            if body is not None:
                yield body


def _body(decoder: msgspec.json.Decoder[Any], text: str, place: str) -> Body | None:
    try:
        value = decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("event") == "request.received":
        return None
    request = next((value[k] for k in ("obj", "request", "body") if isinstance(value.get(k), dict)), value)
    reply = next((value[k] for k in _ANSWERS if k in value), None)
    if reply is None and request is not value:
        return None
    prompt = "\n".join(t for k in _PROMPTS if k in request for t in _texts(request[k], 0))
    answer = "\n".join(_texts(reply, 0)) if reply is not None else ""
    if not prompt and not answer:
        return None
    thinks = answer.lstrip()[:6].lower() == "<think" or _has_reasoning(reply, 0)
    labels = request.get("custom_labels")
    places: list[Mapping[str, Any]] = [p for p in (value, request, labels) if isinstance(p, Mapping)]
    return Body(_named(places, _IDS) or place, _named(places, _TENANTS), prompt, answer, thinks)


def _has_reasoning(value: Any, depth: int) -> bool:
    if depth > DEEPEST or not isinstance(value, dict | list):
        return False
    if isinstance(value, list):
        return any(_has_reasoning(item, depth + 1) for item in value)
    return bool(value.get("reasoning_content")) or any(_has_reasoning(item, depth + 1) for item in value.values())


def _named(places: list[Mapping[str, Any]], keys: tuple[str, ...]) -> str | None:
    return next((p[k] for p in places for k in keys if isinstance(p.get(k), str) and p[k]), None)


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Texts of messages and choices, however they are nested; names, roles and ids are not text."""
    if isinstance(value, str):
        yield value
    elif depth > DEEPEST:
        return
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _TEXT_KEYS or isinstance(item, list | dict):
                yield from _texts(item, depth + 1)
