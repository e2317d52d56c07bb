"""Which formats are made ready already?

Trying every format on each of thousands of small files would make each of them anew for every file.
"""

from __future__ import annotations

from kvforensics.raw import Extractor
from kvforensics.spec import Format

_made: dict[str, Extractor] = {}


def extractor_of(fmt: Format) -> Extractor:
    """An extractor of the format that is made once."""
    made = _made.get(fmt.name)
    if made is None or made.format is not fmt:
        made = _made[fmt.name] = Extractor(fmt)
    return made
