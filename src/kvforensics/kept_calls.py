"""Which of the calls that a home-made record keeps as text is its own, and does the rest of the record contradict it?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kvforensics.layer import CALL_NAMES, encoded, record_in
from kvforensics.paths import compile_path, lookup

_PROMPT = tuple(map(compile_path, (
    "**.~usage.~prompt_tokens", "**.~usage.~input_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt", "ai.usage.inputTokens", "ai.usage.promptTokens",
)))  # fmt: skip
# Runs are bounded, so that a hostile line cannot make the search slow.
_COUNT = re.compile(
    rb'(?<!max)(?<!max_)(?:prompt|input)_?tokens\\{0,32}"\s{0,8}:\s{0,8}(?:\\{0,32}")?(\d{1,15})(?!\d)', re.IGNORECASE
)
# The same as an attribute of OpenTelemetry, in an export request that stands where none is looked for.
_ATTRIBUTE = re.compile(
    rb'"key"\s{0,8}:\s{0,8}"[\w.]{0,64}(?:(?:prompt|input)[._]?tokens|token_count\.prompt)', re.IGNORECASE
)


def prompt_of(value: Any) -> float:
    """The prompt count of a record in one of the common shapes, 0 where none is found."""
    for steps in _PROMPT:
        found = lookup(value, steps)
        if type(found) in (int, float) or (type(found) is str and found.isascii() and found.isdigit()):
            return float(found)
    return 0.0


def told_counts(data: bytes) -> set[float]:
    """The prompt counts that stand in bytes under their common names, also in JSON kept as text."""
    return {float(n) for n in _COUNT.findall(data)}


def may_hold_call(data: bytes) -> bool:
    """Whether an object that is of no format may hold a call: it counts a prompt, or keeps JSON as text."""
    return b'\\"' in data or bool(told_counts(data)) or _ATTRIBUTE.search(data) is not None


def own_call(calls: Sequence[Any], data: bytes, names_model: Callable[[bytes], bool]) -> tuple[int | None, bool]:
    """The place of the call that is the record, and whether others contradict it.

    The first one, as an answer comes before its request; where models or counts differ the one on the model, and the
    longest. None where a part of `data`, the bytes of the record, that is no call may be a call on the model instead.
    """
    told = [_is_on_model(c, names_model) for c in calls]
    counts = [prompt_of(c) for c in calls]
    contradicts = {True, False} <= set(told) or len(set(counts) - {0.0}) > 1
    own = max(range(len(calls)), key=lambda i: (told[i] is True, counts[i], -i)) if contradicts else 0
    if (True not in told and False in told) or counts[own]:
        others = told_counts(data) - set(counts)
        hidden = True not in told or max(others, default=0.0) > counts[own]
        if hidden and names_model(data):
            return None, contradicts
    return own, contradicts


def _is_on_model(call: Any, names_model: Callable[[bytes], bool]) -> bool | None:
    """Whether the call names the model as its own, None where it has no name."""
    said = [v for k, v in record_in(call).items() if k.lower() in CALL_NAMES and k.lower() != "usage" and v is not None]
    return names_model(encoded(said)) if said else None
