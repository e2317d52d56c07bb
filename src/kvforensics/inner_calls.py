"""Which objects inside a record name the model as that of a call, and which prompts do they count?

Routers log the attempts before an answer, and the model that answered as the record's own. Only keys that name a model
count, or a name that is itself the key of counts. What prompts and answers say is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from functools import lru_cache
from typing import Any

import polars as pl
from msgspec import Struct, field

from kvforensics.paths import MAX_DEPTH, MAX_NODES, embedded, fold
from kvforensics.tokens import ALSO, more_counts

_MODEL = re.compile(r"model(?:id|name|slug|permaslug)?\Z")
_PROVIDER = re.compile(r"provider(?:id|name|slug)?\Z")
_STATUS = frozenset(("status", "statuscode", "httpstatus", "httpstatuscode", "responsestatus"))
_ITSELF = ("id", "name", "slug")
"""Keys under which an object that stands for a model or a provider has its name."""
_SPEECH = frozenset((
    "messages", "message", "content", "contents", "prompt", "prompts", "input", "output", "completion", "text", "choices",
    "tools", "toolcalls", "arguments", "system", "instructions", "question", "answer", "usermessage", "systemprompt",
    "userprompt", "variables", "documents", "thinking", "reasoning", "transcript", "history", "conversation",
))  # fmt: skip
"""Keys of what people and models say, and of what tools are given."""
_COUNT = re.compile(
    r"(?:prompt|input)\.?tokens?|tokens?(?:count)?\.?(?:prompt|input|in\Z)|total\.?tokens?\Z|\A(?:prompt|input|total)\Z"
)
_NO_COUNT = re.compile(r"max|limit|remaining|budget|cost|price")
_PRICES = re.compile(r"prices?\Z|pricing\Z|limits\Z")
"""Keys of tables of models, of which none has to have been called."""
_MOST_DIGITS = 15
_REFUSED = range(400, 600)
_CLIENT_CLOSED = 499
_OPENED = 2
"""So many times JSON may be kept as text, one in the other."""
MayBe = Callable[[str, Collection[str], int], bool]
"""Whether a name may be that of the model: with the providers beside and below it, and how deep in the record it is."""
Told = tuple[set[int], set[str]]
"""The prompts that an object counts, and the providers that it names, with all that is in it."""


class InnerCalls(Struct):
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


def is_passed(key: str, roots: Container[str]) -> bool:
    """Whether nothing under a key tells of a call; the keys `roots` are looked into also where they are keys of speech."""
    name = fold(key)
    return _PRICES.search(name) is not None or (name in _SPEECH and key not in roots)


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

    def at(self, node: dict[str, Any], depth: int, opened: int = 0) -> Told:
        """What an object tells, with all that is in it."""
        self._room -= 1
        counts, providers, names = _own_counts(node), set[str](), set[str]()
        within: dict[str, set[int]] = {}
        for key, held in node.items():
            kind = _kind(key)
            if kind in ("model", "provider"):
                (names if kind == "model" else providers).update(_names(held))
            if self._is_passed(key, depth):
                continue
            for inner, texts in _objects(held, opened):
                if self._room <= 0:
                    break
                below, served_by = self.at(inner, depth + 1, texts)
                counts |= below
                providers |= served_by
                if below:
                    within.setdefault(key, set()).update(below)
        if any(self._may_be(key, providers, depth) for key in within):
            self.found.named = True
        if any(self._may_be(name, providers, depth) for name in names) and not (depth and not counts and _failed(node)):
            self.found.named = True
            self.found.counted = self.found.counted and bool(counts)
        self.found.counts |= counts
        return counts, providers

    def _is_passed(self, key: str, depth: int) -> bool:
        """Whether what is under a key is not looked at."""
        return self._room <= 0 or depth >= MAX_DEPTH or is_passed(key, () if depth else self._roots)


def _objects(held: Any, opened: int, depth: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects that a value is, or has as elements of lists, each with how often a text was opened on the way."""
    if type(held) is str and opened < _OPENED and held[:1] in ("{", "["):
        held, opened = embedded(held), opened + 1
    if type(held) is dict:
        yield held, opened
    elif type(held) is list and depth < MAX_DEPTH:
        for element in held:
            yield from _objects(element, opened, depth + 1)


def _names(held: Any) -> Iterator[str]:
    """What a value says that stands for a model or a provider."""
    for name in map(held.get, _ITSELF) if type(held) is dict else (held,):
        if type(name) is str:
            yield name


def _failed(node: Mapping[str, Any]) -> bool:
    """Whether an attempt says of itself that it surely was not answered."""
    told = [amount(held) for key, held in node.items() if fold(key) in _STATUS]
    return bool(told) and all(status in _REFUSED and status != _CLIENT_CLOSED for status in told)


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


def names_model(key: str) -> bool:
    """Whether what is under a key is the name of a model."""
    return _kind(key) == "model"


@lru_cache(maxsize=1 << 14)
def _kind(key: str) -> str:
    """What is told under a key: the name of a `model`, a `provider`, a `count` of prompt tokens, or something else."""
    name = fold(key)
    if _MODEL.search(name):
        return "model"
    if _PROVIDER.search(name):
        return "provider"
    if _COUNT.search(name) and not _NO_COUNT.search(name):
        return "count"
    return ""
