"""What does a format ask of a record, for readers that see whole columns?"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

Path = tuple[str, ...]


class Asked(Struct, frozen=True):
    """Paths, made ready.

    `slots`: paths and units; `signature`: alternatives of (path, wanted); `framing`: (path, unit, value). `opened` are the
    keys whose JSON text is opened before paths are followed. `alike` says whether all records are read by one rule.
    """

    slots: Mapping[str, tuple[tuple[Path, str], ...]]
    signature: tuple[tuple[tuple[Path, bool], ...], ...]
    framing: tuple[tuple[Path, str, str], ...]
    opened: frozenset[str]
    alike: bool
