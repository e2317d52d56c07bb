"""Which lines of a known layout need no close look?

Most lines are plainly about another model, or on the model with a prompt that is plainly small. Both are outside
whatever else they say, so a few of their keys are enough. Everything that is not plain, a key given twice, an escape in a
key, a count that is no number, goes the careful way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress
from operator import attrgetter
from typing import Any

import polars as pl

from kvforensics.framing import Block
from kvforensics.model_id import ModelReader
from kvforensics.paths import text_of
from kvforensics.probe import Probe
from kvforensics.slot_text import microseconds
from kvforensics.spec import Format
from kvforensics.ties import id_digests

Near = tuple[bytes, int, int]
"""A line that needs a closer look, with its number and its offset."""
WAITING = 4096
_TIMES = ("start", "stamp", "end")
_NESTED = re.compile(r"[.\[~*]")
_ESCAPED_KEY = re.compile(rb"\\u00[4-7]")
_SETTLING = ("cache_read", "cache_write", "total", "request_bytes")
"""Slots beside the prompt that could move its bounds: a line that has one is looked at closely."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the keys are that settle a line: plain keys of its object. `others` are names that must not occur at all."""

    format: Format
    model: str
    time_slot: str | None
    time: str | None
    prompt: str | None
    duration: tuple[str, str] | None
    from_cache: tuple[str, ...]
    ids: tuple[str, ...]
    nested_ids: tuple[bytes, ...]
    others: tuple[bytes, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys beside model and time, in the order in which a probe reads them."""
        plain = (self.prompt, self.duration[0] if self.duration else None)
        return tuple(dict.fromkeys(k for k in (*plain, *self.from_cache, *self.ids) if k is not None))


@dataclass(slots=True)
class Passed:
    """What was not looked at closely: times for the coverage, ids, and times and durations of the settled lines."""

    off_model: int = 0
    times: list[Any] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    settled_times: list[Any] = field(default_factory=list)
    settled_durations: list[str | None] = field(default_factory=list)


class Lane:
    """Passes the plain lines of blocks and yields the others."""

    def __init__(self, layout: Layout, reader: ModelReader, below: int | None, wanted: pl.Series) -> None:
        """`below` is the count under which a prompt settles its line, None to settle none.

        `wanted` are digests of ids whose lines are wanted whole.
        """
        self.layout = layout
        self.passed = Passed()
        self._reader = reader
        self._others: set[str | None] = set()
        self._below = below if layout.prompt is not None else None
        self._wanted = wanted
        self._narrow = Probe(layout.model, layout.time, layout.ids)
        self._narrow_ids = tuple(attrgetter(f"a{i}") for i in range(len(layout.ids)))
        self._wide = Probe(layout.model, layout.time, layout.keys)
        named = {key: attrgetter(f"a{i}") for i, key in enumerate(layout.keys)}
        self._prompt = named.get(layout.prompt or "")
        self._duration = named[layout.duration[0]] if layout.duration else None
        self._cached = tuple(named[k] for k in layout.from_cache)
        self._ids = tuple(named[k] for k in layout.ids)
        self._model_key = _quoted(layout.model)
        once = {layout.model: attrgetter("model"), **named} | ({layout.time: attrgetter("time")} if layout.time else {})
        self._once = tuple((_quoted(key), get) for key, get in once.items())
        self._waiting: list[Near] = []

    def take(self, block: Block, newline: bytes) -> Iterator[Near]:
        """Reads a block; yields lines that need a closer look once enough of them wait."""
        data = block.data
        count = block.lines
        rows = self._narrow.block(data, newline, count)
        models = [r.model for r in rows]
        others = self._others
        others.update(m for m in set(models).difference(others) if m is not None and self._reader.is_plainly_other(m))
        near = [i for i, m in enumerate(models) if m not in others]
        lines: list[bytes] | None = None
        if _ESCAPED_KEY.search(data) or data.count(self._model_key) != count - models.count(None):
            lines = data.split(newline)
            near = [i for i, m in enumerate(models) if m not in others or not self._is_plain(lines[i])]
        if any(name in data for name in self.layout.nested_ids):
            lines = lines or data.split(newline)
            hidden = (i for i, line in enumerate(lines[:count]) if any(n in line for n in self.layout.nested_ids))
            near = sorted({*near, *hidden})
        passed = self.passed
        if not self._wanted.is_empty():
            near = sorted({*near, *self._wanted_rows(rows, self._narrow_ids)})
        passed.off_model += count - len(near)
        times = [r.time for r in rows]
        ids = [list(map(get, rows)) for get in self._narrow_ids]
        if near:
            lines = lines or data.split(newline)
            ends = list(accumulate(map(len, lines)))
            for i in near:
                times[i] = None
                for column in ids:
                    column[i] = None
                line = lines[i]
                self._waiting.append((line, block.first_line + i, block.offset + ends[i] - len(line) + i * len(newline)))
        passed.times += times
        for column in ids:
            passed.ids += column
        if len(self._waiting) >= WAITING:
            yield from self.rest()

    def rest(self) -> Iterator[Near]:
        """The lines that still wait and need a closer look."""
        waiting, self._waiting = self._waiting, []
        yield from waiting if self._below is None or not waiting else self._settle(waiting)

    def _is_plain(self, line: bytes) -> bool:
        return line.count(self._model_key) == 1 and not _ESCAPED_KEY.search(line)

    def _wanted_rows(self, rows: Sequence[Any], getters: Sequence[Callable[[Any], Any]]) -> Iterator[int]:
        for get in getters:
            digests = id_digests(texts(list(map(get, rows))))
            yield from digests.is_in(self._wanted.implode()).fill_null(value=False).arg_true()

    def _settle(self, waiting: list[Near]) -> list[Near]:
        """Those of the waiting lines that are not settled; the others are passed."""
        layout, below = self.layout, self._below or 0
        data = b"\n".join([line for line, _, _ in waiting]) + b"\n"
        rows = self._wide.block(data, b"\n", len(waiting))
        clean = not _ESCAPED_KEY.search(data) and all(name not in data for name in layout.others)
        clean = clean and all(data.count(key) == sum(v is not None for v in map(get, rows)) for key, get in self._once)
        small = [self._is_small(r, below) and (clean or self._is_clean(n[0])) for r, n in zip(rows, waiting, strict=True)]
        if not self._wanted.is_empty():
            for at in self._wanted_rows(rows, self._ids):
                small[at] = False
        passed = self.passed
        settled = list(compress(rows, small))
        for get in self._ids:
            passed.ids += map(get, settled)
        passed.settled_times += [r.time for r in settled]
        if layout.duration is not None and self._duration is not None:
            unit = layout.duration[1]
            passed.settled_durations += [microseconds(value, unit) for value in map(self._duration, settled)]
        else:
            passed.settled_durations += [None] * len(settled)
        return [n for n, s in zip(waiting, small, strict=True) if not s]

    def _is_small(self, row: Any, below: int) -> bool:
        prompt = self._prompt(row) if self._prompt else None
        # A line without a time of its own may have one from a layer around it.
        if type(prompt) is not int or not 0 < prompt < below or row.time is None or type(row.time) is bool:
            return False
        for cached in self._cached:
            said = cached(row)
            if said is not None and said is not False:
                return False
        return True

    def _is_clean(self, line: bytes) -> bool:
        """Whether each key occurs at most once, none is spelled with escapes, and nothing else could move the bounds."""
        if _ESCAPED_KEY.search(line) or any(name in line for name in self.layout.others):
            return False
        return all(line.count(key) <= 1 for key, _ in self._once)


def layout_of(fmt: Format) -> Layout | None:
    """The layout of a format whose model and time are plain keys of the line and of which nothing else needs a look."""
    models = fmt.fields.get("model", ())
    times = [(slot, path) for slot in _TIMES for path in fmt.fields.get(slot, ())]
    if len(models) != 1 or len(times) > 1 or any(_NESTED.search(p) or "|" in p for p in (*models, *(p for _, p in times))):
        return None
    if fmt.framing or fmt.aggregates or fmt.chatter or fmt.opening or fmt.pattern or fmt.constants:
        return None
    if "sample_interval" in fmt.fields:
        return None
    slot, time = times[0] if times else (None, None)
    ids = tuple(dict.fromkeys(p for paths in (fmt.fields.get("record_id", ()), *fmt.ids.values()) for p in paths))
    plain_ids = tuple(p for p in ids if not _NESTED.search(p))
    durations = fmt.fields.get("duration", ())
    prompt = fmt.fields.get("prompt", ())
    settling = [p for slot in _SETTLING for p in fmt.fields.get(slot, ())] + [p for p in ids if _NESTED.search(p)]
    heads = {_head(p) for p in settling}
    settles = (
        bool(prompt) and not _NESTED.search(prompt[0]) and len(durations) <= 1
        and not any(_NESTED.search(p) for p in (*durations, *fmt.fields.get("from_cache", ())))
        and "" not in heads and fmt.cache_rule != "exclusive"
    )  # fmt: skip
    name, _, unit = durations[0].partition("|") if durations else ("", "", "")
    return Layout(
        fmt, models[0], slot, time, prompt[0] if settles else None,
        (name, unit or fmt.duration_unit) if durations and settles else None,
        tuple(fmt.fields.get("from_cache", ())) if settles else (), plain_ids,
        tuple(dict.fromkeys(_opening(_head(p)) for p in ids if _NESTED.search(p))),
        tuple(map(_opening, sorted(heads))),
    )  # fmt: skip


def _head(path: str) -> str:
    return _NESTED.split(path)[0].partition("|")[0]


def _opening(name: str) -> bytes:
    """How a key begins, also one that is spelled flat with dots behind it."""
    return f'"{name}'.encode()


def _quoted(key: str) -> bytes:
    return f'"{key}"'.encode()


def texts(values: list[Any]) -> pl.Series:
    """Plain JSON values as a column of texts."""
    try:
        return pl.Series(values, dtype=pl.String)
    except TypeError:
        return pl.Series([v if type(v) is str else text_of(v) for v in values], dtype=pl.String)
