"""What do the rows of a table say in each slot of a format, read column by column?

Follows the paths of a format once for each table instead of once for each row. What takes a look inside a cell (JSON kept
as text, a nested value) is not guessed: such rows are named as unsure and left to the reading row by row.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

import polars as pl

from kvforensics.asked import Asked
from kvforensics.cells import COUNTS, Batch, Cell, as_it_is, either_pattern, key_pattern, records, told
from kvforensics.inner_calls import is_passed, names_model
from kvforensics.masks import Mask, both, either, every, some, without
from kvforensics.paths import fold
from kvforensics.raw import TELLING, TIMES, Extractor, raw_batch
from kvforensics.sealed import MARK, SHORTEST
from kvforensics.tokens import ALSO, both_counts

Path = tuple[str, ...]
_ODD_NAME = re.compile(r"[\[~*]")
_TEXT = pl.String
_SEALED = MARK.decode()


class Columns:
    """Reads the slots of one format from tables with the given columns."""

    def __init__(self, extractor: Extractor, names: Sequence[str], nested: Iterable[str]) -> None:
        """`nested` are columns whose values are no scalars. Check `can_read` first."""
        asked = extractor.asked
        if asked is None:  # pragma: no cover - the caller checked
            raise ValueError(extractor.format.name)
        self.extractor, self.format, self.asked = extractor, extractor.format, asked
        self._names = tuple(names)
        self._known = frozenset(names)
        self._nested = tuple(n for n in names if n in set(nested))
        self._roots = tuple(n for n in names if n in set(extractor.roots) and n not in self._nested)
        self._openable = tuple(n for n in names if n in asked.opened and n not in self._nested)
        slots = {slot: self._cells(paths) for slot, paths in asked.slots.items()}
        # One count alone contradicts nothing.
        self._slots = {slot: cells for slot, cells in slots.items() if slot != ALSO or len(cells) > 1}
        self.beside = self._beside()
        """The columns in which a row may tell of another call than its own: those that are read as no values, or in part."""
        self._native = self._as_they_are()
        self._terms = tuple(tuple((self._cell(p), p, wanted) for p, wanted in terms) for terms in asked.signature)
        self._framing = tuple((self._cell(p), unit, wanted) for p, unit, wanted in asked.framing)
        self._signing = self._wanted([c for terms in self._terms for c, _, _ in terms])
        self._framed = self._wanted([c for c, _, _ in self._framing])

    def needed(self, slots: Iterable[str], *, whole: bool = False) -> set[str]:
        """The columns that the signature, the framing and these slots look at; `whole`: enough to read rows one by one."""
        cells = [c for terms in self._terms for c, path, _ in terms if whole or not self._is_given(path)]
        cells += [c for c, _, _ in self._framing]
        cells += [c for slot in slots for c, _ in self._slots.get(slot, ())]
        found = {c.column for c in cells if c.column is not None}
        return found.union(*([self._nested, self._openable] if any(c.anywhere for c in cells) else []))

    def _beside(self) -> tuple[str, ...]:
        told = [(slot, cell) for slot, cells in self._slots.items() for cell, _ in cells if cell.column is not None]
        deep = {cell.column for _, cell in told if cell.deep}.union(self._nested, self._openable)
        own = next((cell.column for slot, cell in told if slot == "model"), None)
        whole = {cell.column for _, cell in told if not names_model(cell.column or "")} | {own}
        return tuple(n for n in self._names if n in deep or not (n in whole or is_passed(n, self.extractor.roots)))

    def _as_they_are(self) -> frozenset[str]:
        """The slots that are read of one column each, of which nothing is to be told but what is in it."""
        plain = {
            slot for slot, cells in self._slots.items()
            if len(cells) == 1 and not cells[0][0].deep and not cells[0][0].anywhere and slot not in self.format.constants
            and cells[0][0].column not in (*self._nested, *self._openable)
        }  # fmt: skip
        # One kind of times is not mixed with another.
        times = TIMES if sum(bool(self._slots.get(slot)) for slot in TIMES) == 1 else ()
        return frozenset(plain.intersection((*COUNTS, *times, "duration")))

    def _cells(self, paths: Iterable[tuple[Path, str]]) -> list[tuple[Cell, str]]:
        """Where the paths of a slot lead, without those that lead nowhere in this table."""
        cells = ((self._cell(path), unit) for path, unit in paths)
        return list(dict.fromkeys((c, unit) for c, unit in cells if c.column is not None or c.anywhere))

    def _cell(self, path: Path) -> Cell:
        anywhere = path[0] == "**" and bool(self._nested or self._openable)
        steps = path[1:] if path[0] == "**" else path
        inside = key_pattern(steps[0]) if anywhere else None
        found = self._resolve(steps)
        if found is None:
            return Cell(None, anywhere=anywhere, inside=inside)
        column, rest = found
        if rest:
            inside = either_pattern(inside, key_pattern(rest[0])) if anywhere else key_pattern(rest[0])
        return Cell(column, bool(rest), anywhere, inside)

    def _resolve(self, steps: Path) -> tuple[str, Path] | None:
        """The column in which a path begins, as `paths.lookup` would find it, and the steps that are left."""
        first = steps[0]
        if first in self._known:
            return first, steps[1:]
        if first[0] == "~":
            wanted = fold(first[1:])
            found = next((n for n in self._names if fold(n) == wanted), None)
            return None if found is None else (found, steps[1:])
        for cut in range(len(steps), 1, -1):
            if (name := ".".join(steps[:cut])) in self._known:
                return name, steps[cut:]
        return None

    def _wanted(self, cells: Iterable[Cell]) -> dict[str, str | None]:
        """For each column into which one of the paths may lead, what all texts match in which one does."""
        found: dict[str, set[str | None]] = {}
        for cell in cells:
            if cell.column is not None and (cell.deep or cell.column in self._openable):
                found.setdefault(cell.column, set()).add(cell.inside if cell.deep else None)
            for name in self._openable if cell.anywhere else ():
                found.setdefault(name, set()).add(cell.inside)
        return {n: None if None in of else "|".join(sorted(o for o in of if o)) for n, of in found.items()}

    @property
    def takes_all(self) -> bool:
        """Whether every row has the shape, whatever its cells hold."""
        return any(all(self._is_given(p) and wanted for _, p, wanted in terms) for terms in self._terms)

    def _is_given(self, path: Path) -> bool:
        """Whether a path leads to a column, which is a key of every row even where it is null."""
        return path[-1] in self._known and path[:-1] in ((), ("**",))

    def matches(self, frame: pl.DataFrame) -> tuple[Mask, Mask]:
        """Which rows have the shape of the format, and of which that is unsure."""
        if self.takes_all:
            return every(frame), None
        batch = Batch(frame, self._signing)
        yes: Mask = None
        unsure: Mask = None
        for terms in self._terms:
            holds: Mask = every(frame)
            doubt: Mask = None
            for cell, path, wanted in terms:
                there, open_there = (every(frame), None) if self._is_given(path) else self._is_there(cell, batch)
                # A sure no settles the alternative whatever the doubtful terms are.
                holds = both(holds, either(there if wanted else without(there, frame), open_there))
                doubt = either(doubt, open_there)
                if holds is None:
                    break
            yes = either(yes, both(holds, without(doubt, frame)))
            if yes is not None and yes.all():
                return yes, None
            unsure = either(unsure, both(holds, doubt))
        return yes, both(unsure, without(yes, frame))

    def _is_there(self, cell: Cell, batch: Batch) -> tuple[Mask, Mask]:
        value, doubt = self._value("", cell, "", batch)
        # An empty text is a value too.
        return None if value is None else some(batch.frame[cell.column or ""].is_not_null()), doubt

    def framing(self, frame: pl.DataFrame) -> tuple[Mask, Mask]:
        """Which rows are framing, and of which that is unsure."""
        if self.format.chatter:
            return every(frame), None
        batch = Batch(frame, self._framed)
        yes: Mask = None
        unsure: Mask = None
        for cell, unit, wanted in self._framing:
            value, doubt = self._read("", [(cell, unit)], batch)
            if value is not None:
                there = value.is_not_null()
                if wanted != "*":
                    there &= (value != wanted[1:] if wanted[:1] == "!" else value == wanted).fill_null(value=False)
                yes = either(yes, both(some(there), without(doubt, frame)))
            unsure = either(unsure, doubt)
        return yes, both(unsure, without(yes, frame))

    def batch(self, frame: pl.DataFrame, slots: Iterable[str]) -> tuple[pl.DataFrame, Mask]:
        """The raw batch as `Extractor.batch` would have it of some slots, and which rows of it are unsure.

        Counts and times that are none of text stay what they are.
        """
        raw, doubts = self._batch(frame, slots, self._native)
        unsure: Mask = None
        for doubt in doubts.values():
            unsure = either(unsure, doubt)
        return raw, unsure

    def whole(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The raw batch of all slots. What is inside of cells is read row by row, of those slots that may have it there."""
        raw, doubts = self._batch(frame, self._slots)
        unsure: Mask = None
        for doubt in doubts.values():
            unsure = either(unsure, doubt)
        if unsure is None:
            return raw
        inside = self.extractor.batch(list(records(frame.filter(unsure))), doubts)
        at = (unsure.cast(pl.Int64).cum_sum() - 1).clip(0)
        return raw.with_columns(raw[slot].zip_with(~unsure, inside[slot].gather(at)) for slot in doubts)

    def _batch(
        self, frame: pl.DataFrame, slots: Iterable[str], native: Container[str] = ()
    ) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
        """The raw batch of some slots, and the rows that are unsure by the slots in which they are.

        `native` slots may have other columns than texts.
        """
        names = [s for s in slots if self._slots.get(s)]
        batch = Batch(frame, self._wanted(c for s in names for c, _ in self._slots[s]))
        doubts: dict[str, pl.Series] = {}
        columns: dict[str, pl.Series] = {}
        for slot in names:
            cells = self._slots[slot]
            value = self._as_it_is(slot, cells, batch) if slot in native else None
            doubt: Mask = None
            if value is None:
                value, doubt = self._read(slot, cells, batch)
            if doubt is not None:
                doubts[slot] = doubt
            if value is not None:
                columns[slot] = value
        return raw_batch(columns, frame.height, self.format.constants, self.format.nothing), doubts

    def _as_it_is(self, slot: str, cells: Sequence[tuple[Cell, str]], batch: Batch) -> pl.Series | None:
        ((cell, unit),) = cells
        held = batch.get(cell.column)
        return None if held is None else as_it_is(slot, held, unit)

    def sealed(self, frame: pl.DataFrame) -> Mask:
        """Which rows may have an encrypted field, as far as the frame has the columns."""
        found: Mask = None
        for name in self._roots:
            held = frame[name] if name in frame.columns and frame.schema[name] == _TEXT else None
            # To search costs much more than to see that there is no room for it.
            if held is not None and (held.str.len_bytes() >= SHORTEST).any():
                found = either(found, some(held.str.contains(_SEALED, literal=True).fill_null(value=False)))
        return found

    def telling(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, Mask]:
        """The times of the sure rows; the other slots of `TELLING`; the unsure rows."""
        raw, unsure = self.batch(frame, sorted(TELLING))
        sure = raw if unsure is None else raw.filter(~unsure)
        return sure[list(TIMES)], raw, unsure

    def _read(
        self, slot: str, cells: Sequence[tuple[Cell, str]], batch: Batch
    ) -> tuple[pl.Series | None, Mask]:
        """The texts of a slot, None where no row has one."""
        value: pl.Series | None = None
        doubt: Mask = None
        for cell, unit in cells:
            if value is not None and slot != ALSO and not value.null_count():
                break
            here, open_here = self._value(slot, cell, unit, batch)
            if open_here is not None:
                doubt = either(doubt, open_here if value is None or slot == ALSO else some(open_here & value.is_null()))
            if here is not None and here.null_count() < len(here):
                value = here if value is None else _joined(slot, value, here)
        return value, doubt

    def _value(self, slot: str, cell: Cell, unit: str, batch: Batch) -> tuple[pl.Series | None, Mask]:
        """What one path tells, and where only a look inside of cells tells."""
        value: pl.Series | None = None
        doubt: Mask = None
        held = batch.get(cell.column)
        if held is not None and cell.column is not None:
            if cell.column in self._nested:
                doubt = held.is_not_null()
            elif cell.deep:
                doubt = batch.may_hold(cell.column, cell.inside)
            else:
                value = told(slot, held, unit)
                doubt = batch.may_hold(cell.column, None) if cell.column in self._openable else None
        if cell.anywhere and (value is None or slot == ALSO or value.null_count()):
            # Only where the row itself has no such key does the search go on below.
            for name in (*self._nested, *self._openable):
                other = batch.get(name)
                if other is None or name == cell.column:
                    continue
                below = other.is_not_null() if name in self._nested else batch.may_hold(name, cell.inside)
                if below is not None:
                    doubt = either(doubt, below if value is None or slot == ALSO else some(below & value.is_null()))
        return value, doubt


def _joined(slot: str, value: pl.Series, more: pl.Series) -> pl.Series:
    return both_counts(value, more) if slot == ALSO else value.zip_with(value.is_not_null(), more)


def can_read(extractor: Extractor, names: Sequence[str]) -> bool:
    """Whether a format's paths mean the same for columns of these names as for single rows."""
    asked: Asked | None = extractor.asked
    if asked is None or len(set(names)) < len(names) or any(not n or _ODD_NAME.match(n) for n in names):
        return False
    paths = [p for paths in asked.slots.values() for p, _ in paths]
    paths += [p for terms in asked.signature for p, _ in terms] + [p for p, _, _ in asked.framing]
    heads = {p[1] if p[0] == "**" and len(p) > 1 else p[0] for p in paths}
    if any("**" in p[1:] for p in paths) or any(p[-1] == "**" for p in paths):
        return False
    # A key and a dotted key below it could both be meant.
    return not any(head in names and any(n.startswith(f"{head}.") for n in names) for head in heads)
