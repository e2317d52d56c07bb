"""Which formats may these logs be? Prints ranked guesses and how many of the sampled records each explains."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from kvforensics.cli import emit

if TYPE_CHECKING:
    from kvforensics.guesses import Guess, SourceGuesses

SCHEMA = "kvforensics.detect/1"
WIDTH = 80


@click.command(name="detect")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--mapping", multiple=True, metavar="FILE", help="Where a home-made log keeps its fields (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print the guesses as JSON.")
def command(*, paths: tuple[str, ...], mapping: tuple[str, ...], as_json: bool) -> None:
    """Say which formats logs may be, the best guess first.

    Looks at the beginning of each source, at most some hundred records. PATH is a file, a folder, `-` for standard input, or s3://bucket/prefix.
    """
    from kvforensics.guesses import guess_all
    from kvforensics.mapping import load_mapping

    found = list(guess_all(paths, [load_mapping(path) for path in mapping]))
    if as_json:
        emit(json.dumps({"schema": SCHEMA, "sources": to_builtins(found)}, indent=2, ensure_ascii=True))
    else:
        emit("\n\n".join("\n".join(_lines(source)) for source in found))


def _lines(source: SourceGuesses) -> Iterator[str]:
    from kvforensics.escape import terminal
    from kvforensics.plural import counted

    yield terminal(source.source)
    stored = [s for s in (source.compression, source.encoding, source.problem) if s]
    if stored:
        yield from _wrapped(", ".join(terminal(s) for s in stored), "  ")
    for rank, guess in enumerate(source.guesses, 1):
        yield from _wrapped(f"{rank}. {_name(guess)}", "  ")
        yield from _wrapped(
            f"{guess.records:,} of {counted(guess.sampled, 'record')} sampled, {guess.container}; {_times(guess)}", "     "
        )


def _name(guess: Guess) -> str:
    name = " > ".join((*guess.wrappers, guess.format or "(nothing known inside)"))
    return f"{name}: {guess.title}" if guess.title else name


def _times(guess: Guess) -> str:
    if guess.format is None:
        return "name the format inside with --format"
    return f"times without offset: {guess.zone}" if guess.zone else "times without offset need --timezone"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "   ", break_on_hyphens=False,
    )  # fmt: skip
