"""Which spans may hide a call on the affected model although what is asked of them says that they hold none?

Those that name the model elsewhere than where a model is told, and those that are framing and count a long prompt. The
closer look that they get decides; see `hidden_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from kvforensics.raw import Extractor
from kvforensics.span_attributes import Attribute, Span
from kvforensics.span_groups import Group

COUNT = re.compile(r"(?:prompt|input)[._-]?tokens?|tokens?(?:[._-]?count)?[._-](?:prompt|input|in\b)", re.IGNORECASE)
"""The name of a count of prompt tokens, in whatever convention."""
_LONG = re.compile(rb"[0-9]{5}")
_MOST_NAMES = 1 << 14
_HINTS = (b"oken", b"OKEN")
"""What every name of a count has in it, as names are written."""


class Hiding:
    """Looks for them among the spans of batches. `marks` are the ways in which the bytes of a log may name the model."""

    def __init__(self, extractors: Sequence[Extractor], marks: Sequence[bytes]) -> None:
        self._marks = marks
        own = [e for e in extractors if e.format.view == "otlp"]
        # Beside the first attribute that tells the model, another one that could do so is any attribute.
        self._models, self._answers = (
            {e.format.name: tuple(".".join(path) for path, _ in e.slots.get(slot, ())) for e in own}
            for slot in ("model", "answer_model")
        )
        self._counts: dict[str, bool] = {}

    def among(self, groups: Sequence[Group], lines: Sequence[tuple[range, bytes]]) -> set[int]:
        """The places of such spans. `lines` are the places of the spans of each line of the batch, and its bytes."""
        # The others are looked at closely anyway.
        groups = [group for group in groups if group.extractor is not None]
        found = set(self._beside(groups, lines))
        if any(group.framing for group in groups) and any(hint in data for _, data in lines for hint in _HINTS):
            found.update(i for g in groups if g.framing for i, s in zip(g.at, g.spans, strict=True) if self._is_long(s))
        return found

    def _beside(self, groups: Sequence[Group], lines: Sequence[tuple[range, bytes]]) -> Iterator[int]:
        for mark in self._marks:
            here = [(places, count) for places, data in lines if (count := data.count(mark))]
            if not here:
                continue
            spans: dict[int, tuple[Span, AbstractSet[str]]] = {}
            told: dict[int, int] = {}
            for group in groups:
                own = self._own(group, mark)
                spans.update(zip(group.at, zip(group.spans, own, strict=True), strict=True))
                for name in frozenset().union(*set(own)).intersection(group.values):
                    for i, names, value in zip(group.at, own, group.values[name], strict=True):
                        told[i] = told.get(i, 0) + (bytes(value).count(mark) if name in names else 0)
            for places, count in here:
                if count > sum(told.get(i, 0) for i in places):
                    yield from (i for i in places if i in spans and _names(*spans[i], mark))

    def _own(self, group: Group, mark: bytes) -> list[frozenset[str]]:
        """For each span of a group the attributes that tell its model."""
        name = group.extractor.format.name if group.extractor is not None else ""
        models, answers = self._models.get(name, ()), frozenset(self._answers.get(name, ()))
        first = next((m for m in models if m in group.values), None)
        if first is None:
            return [answers] * len(group.at)
        few, every = answers | {first}, answers.union(models)
        return [every if mark in bytes(value) else few for value in group.values[first]]

    def _is_long(self, span: Span) -> bool:
        known = self._counts
        for attribute in _told(span):
            is_count = known.get(attribute.key)
            if is_count is None:
                if len(known) >= _MOST_NAMES:
                    known.clear()
                is_count = known[attribute.key] = COUNT.search(attribute.key) is not None
            if is_count and _LONG.search(bytes(attribute.value)):
                return True
        return False


def _names(span: Span, own: AbstractSet[str], mark: bytes) -> bool:
    """Whether a span names the model in an attribute that does not tell its own."""
    if any(mark in bytes(a.value) for a in span.attributes or () if a.key not in own):
        return True
    return any(mark in bytes(a.value) for event in span.events or () for a in event.attributes or ())


def _told(span: Span) -> Iterable[Attribute]:
    """The attributes of a span and of its events."""
    own = span.attributes or ()
    return chain(own, *(event.attributes or () for event in span.events)) if span.events else own
