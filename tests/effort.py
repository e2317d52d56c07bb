"""How hard do the tests try?

The gate has minutes. With `KVFORENSICS_EFFORT=10` the tests that make up their own cases make ten times as many.
"""

from __future__ import annotations

import os

EFFORT = float(os.environ.get("KVFORENSICS_EFFORT", "1"))


def cases(count: int) -> int:
    """So many cases, more where more effort is asked for."""
    return max(1, round(count * EFFORT))
