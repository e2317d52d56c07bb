"""What does the server of the workers load? Only that process imports this.

Each worker begins with what is loaded here, and needs nothing more.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
from importlib import import_module

# Ctrl-C is for the main process, which ends this one.
signal.signal(signal.SIGINT, signal.SIG_IGN)
gc.disable()
import_module("kvforensics.piece")
gc.freeze()
gc.enable()
# It ends after the main process, and whoever reads that one's output waits for it. It holds nothing that has to be put away.
atexit.register(os._exit, 0)
