"""What changed between two runs: which findings, which numbers, and why?

Findings are matched by their id, which holds as long as the log does; where a log changed, by the digest of their raw
record, or else by format and id of the record. What is left is new or gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from kvforensics.case_reader import StoredCase
from kvforensics.finding import KEYS
from kvforensics.finding_rows import finding_rows

_PLACE = frozenset({"finding_id", "source", "line", "byte_offset", "duplicate_of", "replay_of"})
"""Fields that say where a record lies; they change with the log around it."""
_NOT_COUNTED = frozenset({"inputs", "warnings", "schema", "estimate"})


class Cause(Struct, frozen=True):
    """Something that went into a run and is another in the other: kind, name, and `added`, `removed` or `changed`."""

    kind: str
    name: str
    change: str


class Place(Struct, frozen=True):
    """One finding, where it lies and what it was."""

    finding_id: str
    disposition: str
    source: str
    line: int


class Changed(Struct, frozen=True):
    """A finding of both runs that says something else now: field, before, after."""

    place: Place
    fields: tuple[tuple[str, Any, Any], ...]


class Difference(Struct, frozen=True):
    """Everything that differs; numbers as (path in the summary, before, after)."""

    causes: tuple[Cause, ...]
    numbers: tuple[tuple[str, Any, Any], ...]
    added: tuple[Place, ...]
    removed: tuple[Place, ...]
    changed: tuple[Changed, ...]
    same: int

    @property
    def found(self) -> bool:
        """Whether anything differs."""
        return bool(self.causes or self.numbers or self.added or self.removed or self.changed)


def compare(before: StoredCase, after: StoredCase) -> Difference:
    """What differs from one case to the other."""
    old = {row["finding_id"]: row for row in finding_rows(before)}
    new = {row["finding_id"]: row for row in finding_rows(after)}
    pairs = [(i, i) for i in new if i in old]
    pairs += _matched({i: r for i, r in old.items() if i not in new}, {i: r for i, r in new.items() if i not in old})
    changed = []
    for one, other in pairs:
        if fields := _fields(old[one], new[other]):
            changed.append(Changed(_place(new[other]), fields))
    gone, come = old.keys() - {one for one, _ in pairs}, new.keys() - {other for _, other in pairs}
    order = {i: at for at, i in enumerate(new)}
    return Difference(
        causes=tuple(_causes(before.document, after.document)),
        numbers=tuple(_numbers("", before.summary, after.summary)),
        added=tuple(_place(new[i]) for i in new if i in come),
        removed=tuple(_place(old[i]) for i in old if i in gone),
        changed=tuple(sorted(changed, key=lambda c: order[c.place.finding_id])),
        same=len(pairs) - len(changed),
    )


def _matched(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of ids of the same record in another place; equal records are paired in order."""
    pairs: list[tuple[str, str]] = []
    left, right = dict(old), dict(new)
    for name in ("sha256", "record_id"):
        waiting: dict[tuple[str, str], list[str]] = {}
        for ident, row in left.items():
            if row[name] is not None:
                waiting.setdefault((row["format"], row[name]), []).append(ident)
        for ident, row in list(right.items()):
            if same := waiting.get((row["format"], row[name])):
                one = same.pop(0)
                pairs.append((one, ident))
                del left[one], right[ident]
    return pairs


def _fields(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[tuple[str, Any, Any], ...]:
    return tuple((key, one[key], other[key]) for key in KEYS if key not in _PLACE and one[key] != other[key])


def _place(row: Mapping[str, Any]) -> Place:
    return Place(row["finding_id"], row["disposition"], row["source"], row["line"])


def _numbers(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other} - (_NOT_COUNTED if not path else set())):
            yield from _numbers(f"{path}.{key}" if path else key, one.get(key), other.get(key))
    elif one != other:
        yield path, one, other


def _causes(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Cause]:
    yield from _named("input", _digests(one["inputs"], "source"), _digests(other["inputs"], "source"))
    yield from _named("incident", _digests([one["incident"]], "id"), _digests([other["incident"]], "id"))
    yield from _named("exclusions", _digests(one["exclusions"], "name"), _digests(other["exclusions"], "name"))
    yield from _named("mapping", _digests(one.get("mappings", []), "name"), _digests(other.get("mappings", []), "name"))
    yield from _named("option", one["options"], other["options"])
    yield from _named("tool", {"version": one["tool"]["version"]}, {"version": other["tool"]["version"]})
    yield from _named("query", one["queries"], other["queries"])
    yield from _named("rule", one["summary"]["excluded"]["by_rule"].keys(), other["summary"]["excluded"]["by_rule"].keys())


def _digests(told: list[Mapping[str, Any]], key: str) -> dict[str, Any]:
    return {entry[key]: (entry["sha256"], entry.get("lists")) for entry in told}


def _named(kind: str, one: Any, other: Any) -> Iterator[Cause]:
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            yield Cause(kind, name, "removed" if name in one else "added")
        elif isinstance(one, Mapping) and one[name] != other[name]:
            yield Cause(kind, name, "changed")
