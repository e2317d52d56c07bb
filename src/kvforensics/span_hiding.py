"""Which spans may hide a call on the affected model although what is asked of them says that they hold none?

Those that name the model elsewhere than where a model is told, and those that are framing and count a long prompt. The
closer look that they get decides; see `hidden_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvforensics.raw import Extractor
from kvforensics.span_attributes import Span
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
        self._models = frozenset(
            ".".join(path) for e in own for slot in ("model", "answer_model") for path, _ in e.slots.get(slot, ())
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
            spans = {i: span for group in groups for i, span in zip(group.at, group.spans, strict=True)}
            told = dict.fromkeys(spans, 0)
            for group in groups:
                for name in self._models.intersection(group.values):
                    for i, value in zip(group.at, group.values[name], strict=True):
                        told[i] += bytes(value).count(mark)
            for places, count in here:
                if count > sum(told.get(i, 0) for i in places):
                    yield from (i for i in places if i in spans and self._names(spans[i], mark))

    def _names(self, span: Span, mark: bytes) -> bool:
        """Whether a span names the model in an attribute that does not tell a model."""
        return any(mark in bytes(a.value) for a in span.attributes or () if a.key not in self._models)

    def _is_long(self, span: Span) -> bool:
        known = self._counts
        for attribute in span.attributes or ():
            is_count = known.get(attribute.key)
            if is_count is None:
                if len(known) >= _MOST_NAMES:
                    known.clear()
                is_count = known[attribute.key] = COUNT.search(attribute.key) is not None
            if is_count and _LONG.search(bytes(attribute.value)):
                return True
        return False
