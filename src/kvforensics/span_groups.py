"""Which spans are read alike, and how?

Spans with the same attributes, of those that are asked for, are of one format, and their fields are in the same places, as
long as the values that decide about it are the same. What is learned of one is true of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Any

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from kvforensics.learned import Rows
from kvforensics.raw import ID_COLUMNS, Extractor
from kvforensics.reading import TIMES, WIDE, Field, Reading
from kvforensics.slot_text import TICKS
from kvforensics.span_attributes import ODD, Column, Span, Texts, counts, ends, ids, own_ids, starts, states
from kvforensics.spec import Format
from kvforensics.terms import compile_terms
from kvforensics.value_reading import READINGS

STATUS_KEYS = ("http.response.status_code", "http.status_code")
MAX_DECISIONS = 1 << 14
_COUNTED = frozenset(("prompt", "cache_read", "cache_write", "completion", "total"))
_ESCAPE = re.compile(rb"\\u")
Path = tuple[str, ...]
_Key = tuple[str, bool]
"""What a column is of: a path, and whether it is read as counts."""
IDS: tuple[_Key, ...] = (("span.traceId", False), ("span.spanId", False), ("span.parentSpanId", False))


class Group(Struct, frozen=True):
    """Spans of one batch that are read alike, by their places in it."""

    extractor: Extractor | None
    """None where it takes a closer look."""
    at: Sequence[int]
    spans: Sequence[Span]
    values: Mapping[str, Sequence[Raw]]
    """A column of each attribute that is asked for; all of them have it."""
    columns: dict[_Key, Column] = field(default_factory=dict)
    """What was read of them so far."""
    framing: bool = False

    def those(self, own: Sequence[int]) -> Group:
        """Some of the spans."""
        at, spans = [self.at[k] for k in own], [self.spans[k] for k in own]
        values = {name: [column[k] for k in own] for name, column in self.values.items()}
        columns = {key: Column([c.values[k] for k in own], c.plain) for key, c in self.columns.items()}
        return replace(self, at=at, spans=spans, values=values, columns=columns)

    def without(self, places: AbstractSet[int]) -> Group:
        """The spans that are not at some places."""
        return self if places.isdisjoint(self.at) else self.those([k for k, i in enumerate(self.at) if i not in places])

    def without_odd(self, keys: Iterable[_Key]) -> tuple[Group, list[int]]:
        """The spans of which some columns are plain, and the places of the others."""
        columns = [self.columns[key] for key in keys]
        odd = {k for column in columns if not column.plain for k, v in enumerate(column.values) if v is ODD}
        if not odd:
            return self, []
        return self.those([k for k in range(len(self.at)) if k not in odd]), [self.at[k] for k in sorted(odd)]


class SpanGroups:
    """Sorts the spans of batches into groups, and tells how they are read."""

    def __init__(self, extractors: Sequence[Extractor]) -> None:
        last = max(k for k, e in enumerate(extractors) if e.format.view == "otlp")
        # What another format before them would look for is not asked.
        self._extractors = extractors if all(e.format.view == "otlp" for e in extractors[:last]) else ()
        own = [e for e in extractors if e.format.view == "otlp"]
        which = [p for e in own for p in (*e.deciding, *(p for terms in e.signature for p, _ in terms))]
        where = [p for e in own for slot in WIDE for p, _ in e.slots.get(slot, ())]
        self._telling = frozenset(".".join(p) for p in which)
        self._counted = frozenset(".".join(p) for e in own for slot in _COUNTED for p, _ in e.slots.get(slot, ()))
        terms = [t for e in own for terms in compile_terms(e.format.requests) for t in terms]
        framing = [path.partition("|")[0] for e in own for path, _ in e.format.framing]
        self._formed = frozenset((*framing, *(".".join(t.steps) for t in terms if t.form is not None)))
        self._around = frozenset(name for p in which for name in _around(p))
        self._asked = frozenset(
            (*STATUS_KEYS, *(name for p in (*which, *where) for name in (".".join(p), *_around(p))))
        )
        self._decisions: dict[tuple[tuple[str, ...], tuple[Any, ...]], tuple[Extractor | None, bool]] = {}
        self._plans: dict[tuple[Extractor | None, tuple[str, ...], int], _Plan | None] = {}
        self._texts = Texts()

    def of(self, spans: Sequence[Span]) -> Iterator[Group]:
        """The groups of a batch."""
        alike: dict[tuple[str, ...], list[int]] = {}
        for i, span in enumerate(spans):
            alike.setdefault(tuple([a.key for a in span.attributes or ()]), []).append(i)
        groups: dict[tuple[str, ...], tuple[list[int], list[Span], dict[str, list[Raw]]]] = {}
        for keys, at in alike.items():
            places = {name: k for k, name in enumerate(keys) if name in self._asked}
            own = [spans[i] for i in at]
            if len(places) < sum(name in places for name in keys):
                yield Group(None, at, own, {})
                continue
            group = groups.setdefault(tuple(places), ([], [], {name: [] for name in places}))
            group[0].extend(at)
            group[1].extend(own)
            for name, k in places.items():
                group[2][name] += [span.attributes[k].value for span in own]  # type: ignore[index]
        for group in groups.values():
            yield from self._decided(Group(None, *group))

    def _decided(self, group: Group) -> Iterator[Group]:
        """The spans by the values that decide how they are read."""
        telling = [(name, name in self._counted) for name in group.values if name in self._telling]
        for key in telling:
            self._read(group, key)
        # An attribute may be there without a value.
        group, odd = group.without_odd(telling)
        if odd:
            yield Group(None, odd, (), {})
        columns = [group.columns[key].values for key in telling if key[0] in self._formed]
        patterns = list(zip(*columns, strict=True)) if columns else [()] * len(group.at)
        members: dict[tuple[Any, ...], list[int]] = {p: [] for p in set(patterns)}
        for k, pattern in enumerate(patterns if len(members) > 1 else ()):
            members[pattern].append(k)
        for pattern, own in members.items():
            extractor, framing = self._decision(tuple(group.values), pattern)
            yield replace(group.those(own) if own else group, extractor=extractor, framing=framing)

    def _decision(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Extractor | None, bool]:
        """The extractor of spans, None where they need a closer look, and whether they are framing."""
        known = self._decisions.get((names, values))
        if known is None:
            if len(self._decisions) >= MAX_DECISIONS:
                self._decisions.clear()
            known = self._decisions[names, values] = self._decide(names, values)
        return known

    def _decide(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Extractor | None, bool]:
        if not self._around.isdisjoint(names):
            return None, False
        record = {
            **dict.fromkeys(names, "1"), **dict(zip((n for n in names if n in self._formed), values, strict=True)),
            "span": {"traceId": "1", "spanId": "1", "startTimeUnixNano": "1"}, "resource": {},
        }  # fmt: skip
        winner = next((e for e in self._extractors if e.matches(record)), None)
        if winner is None or winner.format.view != "otlp":
            return None, False
        return winner, winner.is_framing(record)

    def statuses(self, group: Group) -> tuple[Group, list[int], list[Any]]:
        """Of which spans ids and HTTP status are plain, the places of the others, and the status of each."""
        told = [(name, False) for name in STATUS_KEYS if name in group.values]
        for key in (*IDS, *told):
            self._read(group, key)
        group, odd = group.without_odd((*IDS, *told))
        return group, odd, group.columns[told[0]].values if told else [None] * len(group.at)

    def rows(self, groups: Sequence[Group], slots: Sequence[str], hints: Sequence[str] = ()) -> tuple[Rows, list[int]]:
        """How groups are read for some slots, and the places of spans that need a closer look instead."""
        rows = Rows(b"", b"\n", 0)
        left: list[int] = []
        for group in groups:
            plan = self._plan(group, (*slots, *hints), slots)
            if plan is None:
                left += group.at
                continue
            for key in plan.keys:
                self._read(group, key)
            plain, odd = group.without_odd(plan.keys)
            left += odd
            if plain.at:
                rows.groups.append((plan.reading(plain.columns), plain.at, range(len(plain.at))))
        return rows, left

    def _plan(self, group: Group, slots: Sequence[str], needed: Sequence[str]) -> _Plan | None:
        """How spans of a group are read, None where a path would go through some of their attributes."""
        extractor, names = group.extractor, tuple(group.values)
        known = (extractor, names, len(slots))
        if known not in self._plans:
            if len(self._plans) >= MAX_DECISIONS:
                self._plans.clear()
            self._plans[known] = None if extractor is None else _plan(extractor, names, slots, needed)
        return self._plans[known]

    def _read(self, group: Group, key: _Key) -> None:
        """Read a column of a group."""
        name, counted = key
        if key in group.columns:
            return
        if name in _OWN:
            column = _OWN[name](list(map(attrgetter(name.removeprefix("span.")), group.spans)))
        else:
            column = counts(group.values[name]) if counted else self._texts.column(group.values[name])
        group.columns[key] = column


class _Plan(Struct, frozen=True):
    """How the spans of a group are read for some slots."""

    format: Format
    keys: tuple[_Key, ...]
    fields: Mapping[str, tuple[tuple[_Key, str, Path], ...]]
    """For each slot the columns in the order in which they are tried, with the unit and the path of each."""
    hinted: bool

    def reading(self, columns: Mapping[_Key, Column]) -> Reading:
        """How rows are read by their places in columns."""
        found = {
            slot: tuple([Field(columns[key].values.__getitem__, unit, path) for key, unit, path in fields])
            for slot, fields in self.fields.items()
        }
        ids = tuple([field for slot in ID_COLUMNS for field in found[slot]])
        times = tuple([field for slot in TIMES for field in found.get(slot, ())])
        return Reading(self.format, found, (), ids, times, (), _ESCAPE, self.hinted)


def _plan(extractor: Extractor, names: Sequence[str], slots: Sequence[str], needed: Sequence[str]) -> _Plan | None:
    keys: dict[_Key, None] = {}
    fields: dict[str, tuple[tuple[_Key, str, Path], ...]] = {}
    around: list[tuple[str, str]] = []
    for slot in slots:
        own = []
        for path, unit in extractor.slots.get(slot, ()):
            key = (".".join(path), slot in _COUNTED)
            around += [(slot, name) for name in _around(path) if name in names]
            if key[0] in names or key[0] in _OWN:
                keys[key] = None
                plain = slot != "duration" and unit != TICKS and unit[:1] not in READINGS
                own.append((key, "" if plain else unit, path))
        # Of sampling it is only seen whether a span tells it.
        fields[slot] = () if slot == "sample_interval" else tuple(own)
    # There is nothing below a number.
    open_ = {slot for slot, name in around if (name, True) not in keys}
    if not fields["model"] or not open_.isdisjoint(needed):
        return None
    return _Plan(extractor.format, tuple(keys), fields, not open_)


_OWN: Mapping[str, Callable[[list[Any]], Column]] = {
    "span.traceId": own_ids, "span.spanId": own_ids, "span.parentSpanId": ids, "span.startTimeUnixNano": starts,
    "span.endTimeUnixNano": ends, "span.traceState": states,
}  # fmt: skip


def _around(path: Path) -> Iterator[str]:
    """The attributes that a path would go through, if they were there."""
    return (".".join(path[:cut]) for cut in range(1, len(path)))
