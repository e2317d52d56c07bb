"""What does a log lack that it does not cover the window, in words?"""

from __future__ import annotations

from kvforensics.formats import all_formats

_REASONS = {
    "no_records_before": "no record before the window opens",
    "no_records_after": "no record after the window closes",
    "silence": "silent for longer than the incident allows",
    "sampled": "only a sample of the requests is in it",
    "too_many_rejects": "more than one line in a hundred is no record",
}


def shortcoming(code: str, log: str) -> str:
    """A shortcoming of a log in words; `log` is its name, which starts with its format."""
    kind, _, spot = code.partition(":")
    if kind != "blind":
        return _REASONS.get(code, code)
    known = {b.code: b.text for f in all_formats() if log.startswith(f"{f.name}: ") for b in f.blind_spots}
    return known.get(spot, spot)
