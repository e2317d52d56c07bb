"""Where may the units of a document be, beside where a format says?

Pages that were fetched one by one are often kept as one array, and records that no product's envelope is known of lie in
a list under one of a few names. What the elements are decides: such a form is taken only where it explains more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from kvforensics.envelope import ELEMENT, compile_envelope
from kvforensics.paths import fold

LISTS = ("data", "results", "result", "items", "records", "logs", "rows", "entries", "requests", "calls", "generations")
"""Names under which lists of records are kept."""
_BARE = (ELEMENT, "")
_CALL = frozenset(("model", "modelid", "modelname", "usage", "request", "response"))
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def forms_of(units: tuple[str, ...], text: bytes) -> tuple[tuple[str, ...], ...]:
    """The envelope paths as given, and those that documents that begin with `text` may have instead."""
    paths = tuple(f"{name}{ELEMENT}" for name in LISTS) if units == _BARE else tuple(p for p in units if p not in _BARE)
    forms = [units, (*paths, *units)] if units == _BARE else [units]
    if text.lstrip()[:1] == b"[":
        forms.append((*(f"{ELEMENT}.{path}" for path in paths), *units))
    return tuple(form for form in forms if form is units or any(may_lead(path, text) for path in form if path not in units))


def is_bare(units: Sequence[str]) -> bool:
    """Whether a format has no envelope of its own."""
    return tuple(units) == _BARE


def may_lead(path: str, text: bytes) -> bool:
    """Whether an envelope path can lead anywhere: whether its keys are in the text at all."""
    keys = [step for step in compile_envelope(path) if step not in (ELEMENT, "*")]
    return has_text(text, b"\\u") or all(has_name(text, key) for key in keys)


def has_name(text: bytes, name: str) -> bool:
    """Whether a name in quotes is anywhere in the text."""
    return has_text(text, b'"' + name.encode() + b'"')


def has_text(text: bytes, part: bytes) -> bool:
    """Whether the part is in the text, which is looked through once for each part however often it is asked."""
    known = _known(text)
    if part not in known:
        known[part] = part in text
    return known[part]


@lru_cache(maxsize=1)
def _known(_text: bytes) -> dict[bytes, bool]:
    """What is known of the one text that is looked at now."""
    return {}


def tells_a_call(context: Sequence[bytes]) -> bool:
    """Whether the object around a unit tells of a model call itself, so that the unit is a part of its record."""
    try:
        return bool(context) and any(fold(key) in _CALL for key in _members(context[-1]))
    except msgspec.DecodeError:
        return False
