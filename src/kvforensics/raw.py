"""What do parsed records say in each slot of their format?

Runs a `Format` over decoded JSON values and gives one text column a slot: the raw batch that `normalise` reads.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from kvforensics.asked import Asked
from kvforensics.heads import Heads, below
from kvforensics.paths import compile_path, embedded, every, lookup, text_of
from kvforensics.shapes import Place, ShapeCache, places, telling_shape, value_at
from kvforensics.slot_text import TICKS, slot_text
from kvforensics.spec import ID_KINDS, SLOTS, Format
from kvforensics.terms import compile_terms, meets
from kvforensics.tokens import ALSO, all_counts
from kvforensics.value_reading import READINGS

SPECIAL = ("output", "error", "duration", "first_token", "tag")
RAW_COLUMNS = (*SLOTS, ALSO, *(f"id_{kind}" for kind in ID_KINDS))
ID_COLUMNS = ("record_id", *(f"id_{kind}" for kind in ID_KINDS))
TIMES = ("start", "stamp", "end")
TELLING = frozenset((*ID_COLUMNS, *TIMES, "model", "answer_model", "provider", "host", "sample_interval"))
"""The slots of which something stays when a record is left out."""

Path = tuple[str, ...]


class Extractor:
    """Reads the slots of one format from records."""

    def __init__(self, fmt: Format, tenant_by: str | None = None) -> None:
        self.format = fmt
        self.slots = {
            slot: tuple(_with_unit(p, fmt.duration_unit) for p in paths) for slot, paths in fmt.fields.items()
        }
        self.slots |= {
            f"id_{kind}": tuple(_with_unit(p, "") for p in paths) for kind, paths in fmt.ids.items() if kind in ID_KINDS
        }
        counts = tuple(_with_unit(p, "") for p in fmt.fields.get("prompt", ()) if p not in fmt.stand_ins)
        if len(counts) > 1 or any("**" in steps for steps, _ in counts):
            self.slots[ALSO] = counts
        if fmt.cache_rules:
            self.slots["cache_rule"] = tuple(_rule(term, rule) for term, rule in fmt.cache_rules)
        if tenant_by and tenant_by not in ("tenant", "key", "user", "client_ip", "user_agent", "node"):
            self.slots["tenant"] = (_with_unit(tenant_by, ""),)
        self.signature = tuple(tuple(_term(term) for term in terms) for terms in fmt.signature)
        steps = [p for paths in self.slots.values() for p, _ in paths]
        self._opened = tuple(dict.fromkeys(p[0] for p in steps if len(p) > 1 and p[0][0] not in "[~*"))
        self.roots = tuple(dict.fromkeys(p[0] for p in steps if p[0][0] not in "[~*"))
        """The names below which values are, or which are values themselves."""
        signature = [p for terms in self.signature for p, _ in terms]
        self._search = any(path[0][0] in "[~*" or "**" in path for path in steps)
        self._search_signature = any(step[0] in "~*" for path in signature for step in path)
        self._shapes_match: ShapeCache[bool] = ShapeCache(self._looks_like)
        self._shapes_places: ShapeCache[dict[str, tuple[tuple[Place, str], ...]]] = ShapeCache(self._places)
        asked = [term for terms in self.signature for term in terms]
        plain = all(wanted and len(path) == 1 and path[0][0] not in "[~*" for path, wanted in asked)
        self._keys = tuple(frozenset(path[0] for path, _ in terms) for terms in self.signature) if plain else None
        self._framing = tuple((*_with_unit(path, ""), wanted) for path, wanted in fmt.framing)
        self._requests, self._sums = compile_terms(fmt.requests), compile_terms(fmt.sums)

    @property
    def deciding(self) -> tuple[Path, ...]:
        """The paths of which a value decides whether a unit is a request of its own."""
        return (*(path for path, _, _ in self._framing), *(t.steps for terms in self._requests for t in terms))

    def matches(self, record: Any, shape: Any = None) -> bool:
        """Whether the record has the shape of the format; `shape` is the record's own where it is known."""
        if self._keys is not None:
            return type(record) is dict and any(record.keys() >= keys for keys in self._keys)
        if shape is None and self._search_signature:
            shape = telling_shape(record, opened=True)
        return self._looks_like(record) if shape is None else self._shapes_match.answer_for(shape, record)

    def alternatives(self, record: Any) -> list[int]:
        """Which alternatives of the signature the record meets."""
        return [n for n, terms in enumerate(self.signature) if all(present(record, s) is w for s, w in terms)]

    def _looks_like(self, record: Any) -> bool:
        return any(all(present(record, steps) is wanted for steps, wanted in terms) for terms in self.signature)

    def is_framing(self, record: Any) -> bool:
        """Whether the unit belongs to the format but is no request of its own."""
        if self.format.aggregates or self.format.chatter:
            return True
        for steps, unit, wanted in self._framing:
            value = slot_text("", lookup(record, steps), unit)
            if value is not None and (wanted in ("*", value) or (wanted[:1] == "!" and wanted[1:] != value)):
                return True
        return bool(self._requests) and not meets(record, self._requests)

    @property
    def asked(self) -> Asked | None:
        """What is asked of a record, None where it takes more than paths to tell."""
        fmt = self.format
        if fmt.view or fmt.opening or fmt.aggregates or self._requests:
            return None
        opened = frozenset(self._opened) if self._search else frozenset()
        return Asked(self.slots, self.signature, self._framing, opened, not self._sums)

    def adds_up(self, record: Any) -> bool:
        """Whether the unit may be a sum of several model calls."""
        return bool(self._sums) and meets(record, self._sums)

    def batch(self, records: Sequence[Any], only: Container[str] | None = None) -> pl.DataFrame:
        """One row a record, one text column a slot.

        All but `only` these slots are left null; `TELLING` are enough to see which records are of another model.
        """
        slots = self.slots if only is None else {k: v for k, v in self.slots.items() if k in only}
        if self._search:
            columns = self._by_shape([self._open(r) for r in records] if self._opened else records, slots)
        else:
            heads = Heads(records)
            columns = {slot: _column(slot, paths, heads) for slot, paths in slots.items()}
        return raw_batch(columns, len(records), self.format.constants, self.format.nothing)

    def _by_shape(
        self, records: Sequence[Any], slots: Mapping[str, tuple[tuple[Path, str], ...]]
    ) -> dict[str, list[str | None]]:
        columns: dict[str, list[str | None]] = {slot: [None] * len(records) for slot in slots}
        groups: dict[int, tuple[dict[str, tuple[tuple[Place, str], ...]] | None, list[int]]] = {}
        for i, record in enumerate(records):
            where = self._shapes_places.answer(record)
            groups.setdefault(id(where), (where, []))[1].append(i)
        for where, members in groups.values():
            for slot, paths in slots.items():
                column = columns[slot]
                if where is None:
                    for i in members:
                        column[i] = self._value(slot, paths, records[i])
                elif slot == ALSO:
                    for i in members if len(where[slot]) > 1 else ():
                        column[i] = all_counts(value_at(records[i], place) for place, _ in where[slot])
                elif found := where[slot]:
                    for i in members:
                        column[i] = _first(slot, found, records[i])
        return columns

    def _places(self, record: Any) -> dict[str, tuple[tuple[Place, str], ...]]:
        return {
            slot: tuple(dict.fromkeys((place, unit) for steps, unit in paths for place in places(record, steps)))
            for slot, paths in self.slots.items()
        }

    def _open(self, record: Any) -> Any:
        """The record with JSON kept as text opened once where several paths go through it."""
        found = {k: v for k in self._opened if type(v := record.get(k)) is str}
        opened = {k: value for k, text in found.items() if (value := embedded(text)) is not None}
        return {**record, **opened} if opened else record

    def _value(self, slot: str, paths: Iterable[tuple[Path, str]], record: Any) -> str | None:
        if slot == ALSO:
            return all_counts(value for steps, _ in paths for value in every(record, steps))
        for steps, unit in paths:
            value = lookup(record, steps)
            if value is not None and (text := slot_text(slot, value, unit)) is not None:
                return text
        return None


def _column(slot: str, paths: Sequence[tuple[Path, str]], heads: Heads) -> list[str | None]:
    texts: list[str | None] | None = None
    columns = ((unit, heads.plain(steps[0]) if len(steps) == 1 else below(steps, heads)) for steps, unit in paths)
    if slot == ALSO:
        told = [values for _, values in columns if values is not None]
        return list(map(all_counts, zip(*told, strict=True))) if len(told) > 1 else heads.nothing
    for unit, values in columns:
        if values is None:
            continue
        if slot in SPECIAL or unit == TICKS or unit[:1] in READINGS:
            found = [None if v is None else slot_text(slot, v, unit) for v in values]
        else:
            found = [v if type(v) is str and v else text_of(v) for v in values]
        texts = found if texts is None else [f if t is None else t for t, f in zip(texts, found, strict=True)]
        if None not in texts:
            break
    return texts if texts is not None else heads.nothing


def _first(slot: str, where: tuple[tuple[Place, str], ...], record: Any) -> str | None:
    for place, unit in where:
        value = record
        for key in place:
            value = value[key]
        if type(value) is str and value and slot not in SPECIAL and unit != TICKS and unit[:1] not in READINGS:
            return value
        if value is not None and (text := slot_text(slot, value, unit)) is not None:
            return text
    return None


def raw_batch(
    columns: Mapping[str, Any], height: int, constants: Mapping[str, str], nothing: Sequence[str] = ()
) -> pl.DataFrame:
    """The raw batch with every slot present; `nothing` are texts that say that there is no value."""
    empty = pl.Series([None], dtype=pl.String).new_from_index(0, height)
    known = {k: v if isinstance(v, pl.Series) else pl.Series(k, v, dtype=pl.String) for k, v in columns.items()}
    for slot, said in constants.items():
        known[slot] = known.get(slot, empty).fill_null(said)
    for word in nothing:
        texts = {k: v == word for k, v in known.items() if v.dtype == pl.String}
        known |= {k: known[k].set(said, None) for k, said in texts.items() if said.any()}
    return pl.DataFrame([known.get(c, empty).alias(c) for c in dict.fromkeys((*known, *RAW_COLUMNS))])


def _with_unit(path: str, default: str) -> tuple[Path, str]:
    name, _, unit = path.partition("|")
    return compile_path(name), unit or default


def _rule(term: str, rule: str) -> tuple[Path, str]:
    """A path to what a cache rule looks at, and the reading that gives the rule where it has the form."""
    path, _, form = term.partition("=")
    return compile_path(path), f"/(?i)^{fnmatch.translate(form or '*')}/={rule}"


def _term(term: str) -> tuple[Path, bool]:
    return (compile_path(term[1:]), False) if term.startswith("!") else (compile_path(term), True)


def present(record: Any, steps: Path) -> bool:
    """Whether a path leads to something. A key that is there with null counts as present at the top level."""
    if lookup(record, steps) is not None:
        return True
    parent = lookup(record, steps[:-1]) if len(steps) > 1 else record
    return type(parent) is dict and steps[-1] in parent
