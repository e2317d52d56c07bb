"""What is done beside the rest, in a thread that an interrupt does not wait for?"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Told = TypeVar("Told")


def begin_beside(work: Callable[[], Told]) -> Callable[[], Told]:
    """Begin some work; what waits for its result, or raises its error."""
    done: Future[Told] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done.result
