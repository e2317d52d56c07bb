"""Which processes do the reading?

Every worker begins with the reading modules loaded. It is a copy of the main process where that has loaded these and run
nothing of them yet; otherwise a child of a small server process, which loads them once more.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import accumulate, islice
from multiprocessing import get_context, parent_process
from multiprocessing.context import BaseContext
from pathlib import Path

from kvforensics.errors import KvForensicsError

PARALLEL_FROM = 24 << 20
"""Bytes of evidence below which several processes cost more than they save."""
_READING = "kvforensics.piece"
_SERVER = "kvforensics.worker_server"
_THREADED = ("polars", "pyarrow", "duckdb")
"""Libraries that start threads of their own once they are used, which a copy of a process does not have."""
_MOST_FILES = 4096
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 128 << 20
_BLOCK_BYTES = 32 << 20
"""The most that glibc takes for it."""
_ready: dict[int, ProcessPoolExecutor] = {}


def count(workers: int) -> int:
    """The number of processes; 0 is one for each core that this process may use."""
    if workers:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool(workers: int) -> ProcessPoolExecutor:
    """A pool of so many processes, which may have been got ready before."""
    return _ready.pop(workers, None) or ProcessPoolExecutor(workers, mp_context=_context(), initializer=_begin)


def get_ready(paths: Iterable[str], workers: int) -> None:
    """Load the reading modules and copy this process for each worker, where the evidence is large enough to need several.

    Does nothing where a copy might not work: nothing of `_THREADED` may have been loaded before. Other systems than Linux
    have libraries of their own that no copy may use.
    """
    workers = count(workers)
    untouched = threading.active_count() == 1 and sys.modules.keys().isdisjoint(_THREADED)
    if workers < 2 or sys.platform != "linux" or not untouched or not _is_large(paths):
        return
    _bound_threads()
    import_module(_READING)
    _ready[workers] = ProcessPoolExecutor(workers, mp_context=get_context("fork"), initializer=_begin)
    # With the first task all of them start, before the pool has a thread.
    _ready[workers].submit(int)


@contextmanager
def all_alive() -> Iterator[None]:
    """What asks the workers. Raises `KvForensicsError` where one of them was killed meanwhile."""
    try:
        yield
    except BrokenProcessPool as error:
        raise KvForensicsError(
            "a process that read the evidence was killed, most likely for want of memory", advice="use fewer with --workers"
        ) from error


def _is_large(paths: Iterable[str]) -> bool:
    return any(total >= PARALLEL_FROM for total in accumulate(islice(_sizes(paths), _MOST_FILES)))


def _sizes(paths: Iterable[str]) -> Iterator[int]:
    for path in paths:
        with suppress(OSError, ValueError):
            yield Path(path).stat().st_size
            for folder, _, names in os.walk(path):
                yield from _sizes(str(Path(folder, name)) for name in names)


def _context() -> BaseContext:
    _bound_threads()
    context = get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        context.set_forkserver_preload([_SERVER])
    return context


def _bound_threads() -> None:
    """Each worker has a core; what more threads would do in it costs the others theirs."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")


def _begin() -> None:
    """Ctrl-C is for the main process; it ends the workers. What is loaded stays, so that nobody need look for garbage in it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform != "win32":
        # A copy has the mask of the process that was loading.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    gc.freeze()
    gc.enable()
    threading.Thread(target=_end_with_main, daemon=True).start()
    _keep_pages()


def _end_with_main() -> None:
    """Where the main process is killed it can end nobody, and a worker would wait for its next piece for ever."""
    if (main := parent_process()) is not None:
        main.join()
        os._exit(1)


def _keep_pages() -> None:
    """Where the C library is glibc, let it keep what blocks of bytes leave behind for the next ones (mallopt(3)).

    It would give them back to the system each time, and to get new pages costs more than to read what is put there.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tune is not None:
        tune(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        tune(_M_MMAP_THRESHOLD, _BLOCK_BYTES)
