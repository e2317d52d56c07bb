"""How are a command's modules loaded?"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Load modules in here: nobody looks for garbage meanwhile, nor later, not even at the end, in what stays anyway."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
