"""How far is the run? Said on standard error, and only to somebody who is watching."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

SILENT_SECONDS = 1.0


@contextmanager
def shown(*, wanted: bool | None) -> Iterator[Callable[[int, int], None] | None]:
    """A callback for bytes done and bytes in all, or None where nobody is watching; a short run stays silent."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, disable=False,
    )  # fmt: skip
    task = bar.add_task("reading", total=None)
    patience = Timer(SILENT_SECONDS, bar.start)
    patience.daemon = True
    patience.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
    finally:
        patience.cancel()
        patience.join()
        bar.stop()
