"""What does a log lack that it does not cover the window, and what kept a source from being read, in words?"""

from __future__ import annotations

from collections.abc import Iterable

from kvforensics.formats import all_formats
from kvforensics.spec import BlindSpot
from kvforensics.wrappers import all_wrappers

_REASONS = {
    "no_records_before": "no record before the window opens",
    "no_records_after": "no record after the window closes",
    "silence": "silent for longer than the incident allows",
    "sampled": "only a sample of the requests is in it",
    "too_many_rejects": "more than one line in a hundred is no record",
}


_PROBLEMS = {
    "not_understood": "not understood: no log format that is known fits it",
    "empty": "it is empty",
    "truncated": "truncated: it ends too early",
    "trailing_garbage": "other bytes lie behind its end",
    "changed_while_read": "it changed while it was read",
    "encrypted": "it is encrypted",
    "expansion_limit": "it unpacks to more than is safe",
    "ledger_does_not_add_up": "its lines do not add up",
}


def shortcoming(code: str, log: str) -> str:
    """A shortcoming of a log in words; `log` is its name, which starts with its format and the wrappers around it."""
    kind, _, spot = code.partition(":")
    if kind != "blind":
        return _REASONS.get(code, code)
    layers = log.partition(": ")[0].split(" > ")
    texts = [s.text for name, spots in blind_spots() if name in layers for s in spots if s.code == spot]
    return " ".join(dict.fromkeys(texts)) or spot


def problem(code: str) -> str:
    """What kept a source from being read, in words."""
    kind, colon, what = code.partition(": ")
    return f"skipped: {what.replace('_', ' ')}" if colon and kind == "skipped" else _PROBLEMS.get(code, code)


def blind_spots() -> Iterable[tuple[str, tuple[BlindSpot, ...]]]:
    """Every format and every wrapper by name, with what it cannot show."""
    yield from ((f.name, f.blind_spots) for f in all_formats())
    yield from ((w.name, w.blind_spots) for w in all_wrappers())
