"""How are the pieces of one source read on all cores?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import closing
from pathlib import Path

from kvforensics.gather import SourceState, add_piece
from kvforensics.piece import Piece, scan_apart, scan_piece
from kvforensics.scanned import Scanned


def run_pieces(
    state: SourceState, pieces: Iterator[Piece], pool: ProcessPoolExecutor | None, workers: int, told: Callable[[], None],
    last: int | None = None,
) -> int | None:  # fmt: skip
    """Scan pieces on all cores, a bounded number ahead, and take the results in order, up to one that breaks off.

    `last` is the number of the last piece where others may end within a line; the first that does is not taken but told.
    """
    with closing(_each(pieces) if pool is None else _ahead(pieces, pool, workers, state.left_out.folder)) as results:
        for at, scanned in enumerate(results):
            if last is not None and scanned.tally.is_cut and at < last:
                return at
            add_piece(state, scanned)
            told()
            if scanned.tally.problem:
                break
    return None


def run_rows(
    state: SourceState, pieces: Sequence[Piece], pool: ProcessPoolExecutor, workers: int, told: Callable[[], None], mark: int
) -> int:
    """Scan pieces of delimited text up to one behind which its last row goes on; where that begins.

    `mark` is the length of the byte order mark.
    """
    with closing(_ahead(iter(pieces), pool, workers, state.left_out.folder)) as results:
        for piece, scanned in zip(pieces, results, strict=True):
            add_piece(state, scanned)
            told()
            if state.tally.bytes + mark < piece.offset + piece.length:
                break
    return state.tally.bytes + mark


def _each(pieces: Iterator[Piece]) -> Generator[Scanned, None, None]:
    yield from map(scan_piece, pieces)


def _ahead(
    pieces: Iterator[Piece], pool: ProcessPoolExecutor, workers: int, folder: Path | None
) -> Generator[Scanned, None, None]:
    waiting: deque[Future[Scanned]] = deque()
    try:
        for piece in pieces:
            waiting.append(pool.submit(scan_apart, piece, folder))
            # Each that waits is held in memory, here and on its way.
            if len(waiting) > workers + 1:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    finally:
        # What runs already may still write to the folder, so that nobody may put it away before.
        wait([future for future in waiting if not future.cancel()])


def _first(waiting: deque[Future[Scanned]]) -> Scanned:
    result = waiting[0].result()
    waiting.popleft()
    return result
