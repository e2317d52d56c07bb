"""What is inside compressed bytes, which may be compressed once more, and when is it too much?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO

from kvforensics.decoders import Damage, compression_of, decoded

EXPANSION_FLOOR = 64 << 20
LAYERS = 3
HEAD = 6
"""Bytes that tell every compression."""

Most = Callable[[], int]
"""How many bytes may have come out so far, once more than `EXPANSION_FLOOR` have."""


def unpacked(
    kind: str, chunks: Iterator[bytes], again: Callable[[], IO[bytes]] | None, most: Most, depth: int = 1
) -> Iterator[bytes]:
    """What is inside the compression `kind`, and inside any other below it; `again` is that of `decoded`.

    Raises `Damage` as `decoded` does, and for an `expansion_limit`.
    """
    yield from within(kind, decoded(kind, chunks, again), most, depth)


def within(outer: str, pieces: Iterator[bytes], most: Most, depth: int = 1) -> Iterator[bytes]:
    """What `outer` gave, decompressed where it is compressed itself: a log that was packed twice is still evidence."""
    pieces = _bounded(pieces, most)
    head = b""
    try:
        for piece in pieces:
            head += piece
            if len(head) >= HEAD:
                break
    except Damage:
        yield head
        raise
    inner = compression_of(head)
    if inner is None:
        yield head
        yield from pieces
    elif inner == "zip" or depth >= LAYERS:
        raise Damage(f"unsupported: {inner} within {outer}")
    else:
        yield from unpacked(inner, chain([head], pieces), None, most, depth + 1)


def _bounded(pieces: Iterator[bytes], most: Most) -> Iterator[bytes]:
    given = 0
    for piece in pieces:
        yield piece
        given += len(piece)
        if given > EXPANSION_FLOOR and given > most():
            raise Damage("expansion_limit")
