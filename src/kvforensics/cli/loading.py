"""How are a command's modules loaded?"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CAN_WAIT = sys.platform != "win32"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def loading() -> Iterator[None]:
    """Load modules in here: nobody looks for garbage meanwhile, nor later, not even at the end, in what stays anyway.

    An interrupt waits until all are loaded: DuckDB aborts the process where one comes while it is being loaded.
    """
    gc.disable()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS) if _CAN_WAIT else ()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        if _CAN_WAIT:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
