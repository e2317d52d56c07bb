"""What do parsed records say in each slot of their format?

Runs a `Format` over decoded JSON values and gives one text column a slot: the raw batch that `normalise` reads.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from kvforensics.asked import Asked
from kvforensics.paths import compile_path, embedded, fold, lookup, text_of
from kvforensics.shapes import Place, ShapeCache, places, telling_shape
from kvforensics.slot_text import TICKS, slot_text
from kvforensics.spec import ID_KINDS, SLOTS, Format
from kvforensics.terms import compile_terms, meets
from kvforensics.value_reading import READINGS

SPECIAL = ("output", "error", "duration", "first_token", "tag")
RAW_COLUMNS = (*SLOTS, *(f"id_{kind}" for kind in ID_KINDS))
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
            heads = _Heads(records)
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
        for steps, unit in paths:
            value = lookup(record, steps)
            if value is not None and (text := slot_text(slot, value, unit)) is not None:
                return text
        return None


class _Heads:
    """The values of a batch under each first key, and which keys are below them: a path that leads nowhere costs nothing."""

    def __init__(self, records: Sequence[Any]) -> None:
        self._records = records
        self.nothing: list[str | None] = [None] * len(records)
        self._dotted: frozenset[str] | None = None
        self._plain: dict[str, list[Any] | None] = {}
        self._open: dict[str, tuple[list[Any], dict[str, tuple[str, ...]] | None] | None] = {}

    def plain(self, key: str) -> list[Any] | None:
        """The values of a key, None where every record has none."""
        if key not in self._plain:
            values = [r.get(key) for r in self._records]
            self._plain[key] = values if values.count(None) < len(values) else None
        return self._plain[key]

    def opened(self, key: str) -> tuple[list[Any], dict[str, tuple[str, ...]] | None] | None:
        """The values with JSON kept as text opened, and the names below them by their folded form.

        The names are None where a value is no object.
        """
        if key not in self._open:
            values = self.plain(key)
            if values is None:
                self._open[key] = None
            else:
                inner = [embedded(v) if type(v) is str else v for v in values]
                kinds = {tuple(v) if type(v) is dict else () if v is None else None for v in inner}
                self._open[key] = (
                    inner,
                    None if None in kinds else _by_folded(k for kind in kinds for k in kind or ()),
                )
        return self._open[key]

    def flat(self, steps: Path) -> list[Any] | None:
        """The values of a dotted path whose first key no record has: a key with the dots in it."""
        if self._dotted is None:
            self._dotted = frozenset(k for kind in {tuple(r) for r in self._records} for k in kind if "." in k)
        names = self._dotted
        found = [name for cut in range(2, len(steps) + 1) if (name := ".".join(steps[:cut])) in names]
        if not found:
            return None
        if len(found) == 1 and found[0] == ".".join(steps):
            return [r.get(found[0]) for r in self._records]
        return [lookup(r, steps) for r in self._records]


def _column(slot: str, paths: Sequence[tuple[Path, str]], heads: _Heads) -> list[str | None]:
    texts: list[str | None] | None = None
    for steps, unit in paths:
        values = heads.plain(steps[0]) if len(steps) == 1 else _below(steps, heads)
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


def _by_folded(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(set(names)):
        found[fold(name)] = (*found.get(fold(name), ()), name)
    return found


def _below(steps: Path, heads: _Heads) -> list[Any] | None:
    flat = heads.flat(steps)
    nested = _nested(steps, heads)
    if flat is None or nested is None:
        return flat if nested is None else nested
    # Some records of the batch may be nested and others flat.
    heads_there = heads.plain(steps[0]) or flat
    return [f if h is None and n is None else n for n, f, h in zip(nested, flat, heads_there, strict=True)]


def _nested(steps: Path, heads: _Heads) -> list[Any] | None:
    head = heads.opened(steps[0])
    if head is None:
        return None
    values, names = head
    if names is None:
        return [None if v is None else lookup(v, steps[1:]) for v in values]
    spelled = names.get(fold(steps[1].removeprefix("~")), ())
    if not spelled and not any(fold(".".join(steps[1:cut])) in names for cut in range(3, len(steps) + 1)):
        return None
    if len(steps) == 2 and (spelled == (steps[1],) or (steps[1][0] == "~" and len(spelled) == 1)):
        return [None if v is None else v.get(spelled[0]) for v in values]
    return [None if v is None else lookup(v, steps[1:]) for v in values]


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
