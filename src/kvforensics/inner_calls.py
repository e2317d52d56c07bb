"""Which objects inside a record name the model as that of a call, and which prompts do they count?

Routers log the attempts before an answer, and the model that answered as the record's own. Only keys that name a model
count, or a name that is itself the key of counts. What prompts and answers say is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import polars as pl

from kvforensics.paths import MAX_DEPTH, MAX_NODES, embedded, fold
from kvforensics.tokens import ALSO, more_counts

_MODEL = re.compile(r"model(?:id|name|slug)?\Z")
_SPEECH = frozenset((
    "messages", "message", "content", "contents", "prompt", "prompts", "input", "output", "completion", "text", "choices",
    "tools", "toolcalls", "arguments", "system", "instructions", "question", "answer",
))  # fmt: skip
"""Keys of what people and models say, and of what tools are given."""
_COUNT = re.compile(
    r"(?:prompt|input)\.?tokens?|tokens?(?:count)?\.?(?:prompt|input|in\Z)|total\.?tokens?\Z|\A(?:prompt|input|total)\Z"
)
_NO_COUNT = re.compile(r"max|limit|remaining|budget|cost|price")
_MOST_DIGITS = 15
_OPENED = 2
"""So many levels of a record may keep JSON as text."""
MayBe = Callable[[str, Any, int], bool]
"""Whether a name may be that of the model: with the provider beside it, and how deep in the record it is."""


@dataclass(slots=True)
class InnerCalls:
    """What a record says of calls."""

    named: bool = False
    """Whether anything beside its own name names the model."""
    counted: bool = True
    """Whether every object that does counts a prompt."""
    counts: set[int] = field(default_factory=set)
    """The prompts that are counted anywhere in the record; a total bounds one."""


def inner_calls(record: dict[str, Any], may_be: MayBe, roots: Container[str]) -> InnerCalls:
    """What a record says; the keys `roots` of it hold values of its own, also where they are keys of speech elsewhere."""
    look = _Look(may_be, roots)
    look.at(record, 0)
    return look.found


def with_counts(raw: pl.DataFrame, calls: Mapping[int, InnerCalls]) -> pl.DataFrame:
    """A raw batch in which such records, by their places, may have the highest prompt that anything in them counts."""
    prompts, also = raw["prompt"].to_list(), raw[ALSO].to_list()
    for i, call in calls.items():
        if prompts[i] is None and raw["total"][i] is None:
            prompts[i] = str(max(call.counts)) if call.counted and call.counts else None
        elif call.counts:
            also[i] = more_counts(also[i], sorted(call.counts))
    return raw.with_columns(pl.Series("prompt", prompts, pl.String), pl.Series(ALSO, also, pl.String))


class _Look:
    def __init__(self, may_be: MayBe, roots: Container[str]) -> None:
        self.found = InnerCalls()
        self._may_be, self._roots = may_be, roots
        self._room = MAX_NODES

    def at(self, node: dict[str, Any], depth: int) -> set[int]:
        """The prompts that an object counts, with all that is in it."""
        self._room -= 1
        counts = _own_counts(node)
        provider = node.get("provider")
        names = False
        for key, held in node.items():
            if type(held) is str and _kind(key) == "model":
                names = names or self._may_be(held, provider, depth)
            if self._room <= 0 or depth >= MAX_DEPTH or (fold(key) in _SPEECH and (depth or key not in self._roots)):
                continue
            for inner in _objects(held, as_text=depth < _OPENED):
                below = self.at(inner, depth + 1)
                counts |= below
                if below and self._may_be(key, provider, depth):
                    self.found.named = True
        if names:
            self.found.named = True
            self.found.counted = self.found.counted and bool(counts)
        self.found.counts |= counts
        return counts


def _objects(held: Any, *, as_text: bool) -> Iterator[dict[str, Any]]:
    """The objects that a value is, or has as elements."""
    if as_text and type(held) is str and held[:1] in ("{", "["):
        held = embedded(held)
    if type(held) is dict:
        yield held
    elif type(held) is list:
        yield from (element for element in held if type(element) is dict)


def _own_counts(node: dict[str, Any]) -> set[int]:
    """The prompt that an object counts: what it counts at most, and the parts that are in a cache."""
    told = [(key, amount(held)) for key, held in node.items() if _kind(key) == "count"]
    cached = sum(n for key, n in told if "cache" in key.lower())
    most = max((n for key, n in told if "cache" not in key.lower()), default=0) + cached
    return {most} if most else set()


def amount(value: Any) -> int:
    """A count, 0 where a value is none."""
    text = str(value) if type(value) in (int, str) else ""
    return int(text) if len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit() else 0


@lru_cache(maxsize=1 << 14)
def _kind(key: str) -> str:
    """What is told under a key: the name of a `model`, a `count` of prompt tokens, or something else."""
    name = fold(key)
    if _MODEL.search(name):
        return "model"
    if _COUNT.search(name) and not _NO_COUNT.search(name):
        return "count"
    return ""
