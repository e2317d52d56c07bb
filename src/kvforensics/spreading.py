"""How are the pieces of a source scanned by several processes, and taken in order?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor

from kvforensics.gather import SourceState, add_piece
from kvforensics.piece import Piece, scan_piece
from kvforensics.scanned import Scanned


def scan_all(
    state: SourceState, pieces: Iterator[Piece], pool: ProcessPoolExecutor | None, workers: int, told: Callable[[], None],
) -> None:  # fmt: skip
    """Scan pieces on all cores, a bounded number ahead, and take the results in order, up to one that breaks off."""
    for scanned in map(scan_piece, pieces) if pool is None else _ahead(pieces, pool, workers):
        add_piece(state, scanned)
        told()
        if scanned.tally.problem:
            return


def scan_up_to(
    state: SourceState, pieces: Sequence[Piece], pool: ProcessPoolExecutor, workers: int, told: Callable[[], None],
    mark: int,
) -> int:  # fmt: skip
    """Scan pieces of delimited text up to one behind which its last row goes on; where it begins.

    `mark` is the length of the byte order mark.
    """
    for piece, scanned in zip(pieces, _ahead(iter(pieces), pool, workers), strict=True):
        add_piece(state, scanned)
        told()
        if state.tally.bytes + mark < piece.offset + piece.length:
            break
    return state.tally.bytes + mark


def _ahead(pieces: Iterator[Piece], pool: ProcessPoolExecutor, workers: int) -> Iterator[Scanned]:
    waiting: deque[Future[Scanned]] = deque()
    try:
        for piece in pieces:
            waiting.append(pool.submit(scan_piece, piece))
            # Each that waits is held in memory, here and on its way.
            if len(waiting) > workers + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
