"""Which formats may each source be, and how many of its records does each explain?

The first guess is how `check` would read the source. Each further one is what would be left if those before it were unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kvforensics.formats import all_formats
from kvforensics.mapping import Mapping as MappingFile
from kvforensics.plan import Plan
from kvforensics.recognise import plans_for, recognise
from kvforensics.source import Source, find_sources
from kvforensics.spec import Format
from kvforensics.wrappers import all_wrappers

ROUNDS = 3
"""How often the formats that were found are taken away to see what comes next."""


class Guess(Struct, frozen=True):
    """One answer: `records` of the `sampled` ones are of the format. `wrappers` are the layers around it, outermost first."""

    format: str | None
    """None where only the layers are known."""
    title: str | None
    container: str
    wrappers: tuple[str, ...]
    records: int
    sampled: int
    zone: str | None
    """The zone of times without an offset that the format's documentation or its mapping tells."""


class SourceGuesses(Struct, frozen=True):
    """The ranked guesses for one source. `bytes` is its stored size, None where that is not known beforehand."""

    source: str
    bytes: int | None
    compression: str | None
    encoding: str | None
    problem: str | None
    """Why there is no guess, or what is wrong with the beginning."""
    guesses: tuple[Guess, ...] = ()


def guess_all(paths: Sequence[str], mappings: Sequence[MappingFile] = ()) -> Iterator[SourceGuesses]:
    """The guesses for every source, in the order of reading. Raises `UsageError` for a path that is not there."""
    for source in find_sources(paths):
        formats = (*(m.format for m in mappings if m.takes(source.name)), *all_formats())
        yield _guess(source, formats)


def _guess(source: Source, formats: Sequence[Format]) -> SourceGuesses:
    if source.skipped:
        return SourceGuesses(source.name, source.size, None, None, f"skipped: {source.skipped}")
    found = recognise(source, formats)
    with found.stream as stream:
        known = {f.name: f for f in formats}
        guesses: dict[tuple[str | None, tuple[str, ...]], Guess] = {}
        plans, left = found.plans, list(formats)
        for _ in range(ROUNDS):
            fresh = [g for plan in plans for g in _guesses(plan, known) if g.records or not guesses]
            for guess in fresh:
                guesses.setdefault((guess.format, guess.wrappers), guess)
            taken = {g.format for g in fresh}
            left = [f for f in left if f.name not in taken]
            if not fresh:
                break
            plans = plans_for(source, found.head, left, whole=found.whole)
        problem = stream.problem if found.whole else None
        if not guesses:
            problem = problem or ("not_understood" if found.head else "empty")
        return SourceGuesses(source.name, source.size, stream.compression, found.mark, problem, tuple(guesses.values()))


def _guesses(plan: Plan, known: Mapping[str, Format]) -> Iterator[Guess]:
    layers = {w.name for w in all_wrappers()}
    for shown, records in plan.counts:
        *around, last = shown.split(" > ")
        fmt = known.get(last)
        if fmt is None and last in layers:
            yield Guess(None, None, plan.container, (*around, last), records, plan.sampled, None)
        else:
            title, zone = (fmt.title, fmt.zone) if fmt else (None, None)
            yield Guess(last, title, plan.container, tuple(around), records, plan.sampled, zone)
