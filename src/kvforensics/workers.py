"""Which processes do the reading?

Every worker is a child of a small server process that has the reading modules loaded. The server can be started before
the main process loads its own modules, so that both get ready at the same time.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from pathlib import Path

PARALLEL_FROM = 24 << 20
"""Bytes of evidence below which several processes cost more than they save."""
_MODULES = ["kvforensics.worker_server"]
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 128 << 20
_BLOCK_BYTES = 32 << 20
"""The most that glibc takes for it."""


def count(workers: int) -> int:
    """The number of processes; 0 is one for each core that this process may use."""
    if workers:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool(workers: int) -> ProcessPoolExecutor:
    """A pool of so many processes."""
    return ProcessPoolExecutor(workers, mp_context=_context(), initializer=_begin)


def get_ready(paths: Iterable[str], workers: int) -> None:
    """Start the server early where the evidence is large enough to need it. Never fails: the pool would start it too."""
    if count(workers) < 2 or sys.platform == "win32" or not _is_large(paths):
        return
    context = _context()
    with suppress(OSError):
        from multiprocessing.forkserver import ensure_running

        if context.get_start_method() == "forkserver":
            ensure_running()


def _is_large(paths: Iterable[str]) -> bool:
    total = 0
    for path in paths:
        with suppress(OSError, ValueError):
            total += Path(path).stat().st_size
    return total >= PARALLEL_FROM


def _context() -> BaseContext:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    context = get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        context.set_forkserver_preload(_MODULES)
    return context


def _begin() -> None:
    """Ctrl-C is for the main process; it ends the workers. What is loaded stays, so that nobody need look for garbage in it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    _keep_pages()


def _keep_pages() -> None:
    """Where the C library is glibc, let it keep what blocks of bytes leave behind for the next ones (mallopt(3)).

    It would give them back to the system each time, and to get new pages costs more than to read what is put there.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tune is not None:
        tune(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        tune(_M_MMAP_THRESHOLD, _BLOCK_BYTES)
