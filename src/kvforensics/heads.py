"""What do many records say below each of their first keys?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvforensics.paths import embedded, fold, lookup

Path = tuple[str, ...]


class Heads:
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


def _by_folded(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(set(names)):
        found[fold(name)] = (*found.get(fold(name), ()), name)
    return found


def below(steps: Path, heads: Heads) -> list[Any] | None:
    """The values that a path of several steps leads to, None where it leads nowhere in any record."""
    flat = heads.flat(steps)
    nested = _nested(steps, heads)
    if flat is None or nested is None:
        return flat if nested is None else nested
    # Some records of the batch may be nested and others flat.
    heads_there = heads.plain(steps[0]) or flat
    return [f if h is None and n is None else n for n, f, h in zip(nested, flat, heads_there, strict=True)]


def _nested(steps: Path, heads: Heads) -> list[Any] | None:
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
