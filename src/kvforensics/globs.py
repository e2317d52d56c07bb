"""Which sources does a GLOB name?

A glob is tried on the whole label of a source and on its last name.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence


def fits(glob: str | None, source: str) -> bool:
    """Whether a glob names a source; None names every one."""
    return glob is None or any(fnmatch.fnmatchcase(name, glob) for name in (source, source.rsplit("/", 1)[-1]))


def chosen_by_name(source: str, choices: Sequence[tuple[str | None, str]]) -> str | None:
    """What the last matching `VALUE` or `GLOB=VALUE` says for a source."""
    return next((value for glob, value in reversed(choices) if fits(glob, source)), None)
