"""Where are the lines of a block, and what is inside each of them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from kvforensics.framing import Block
from kvforensics.learned import Near, Waiting, placed

_LINE_END, _OPENING, _CLOSING = b"\n{}"


class Inner(Struct, frozen=True):
    """Lines of JSON inside lines of the source."""

    data: bytes
    """The lines, each with its end."""
    count: int
    outer: Callable[[Sequence[int]], list[Waiting]]
    """Some of them, by their places, with what they are in."""
    source: bytes
    """The lines of the source where the layer around them has fields, which may say more than they do."""
    left: Sequence[Near] = ()
    """Lines that need the careful way."""


class Lines:
    """Where the lines of a block begin and end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._bytes = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(self._bytes == _LINE_END)
        self._ends = ends if data.endswith(b"\n") else np.append(ends, len(data))
        self._starts = np.append(0, self._ends[:-1] + 1)

    def __len__(self) -> int:
        return len(self._ends)

    def split(self) -> list[bytes]:
        """The lines without their ends."""
        return self.data.removesuffix(b"\n").split(b"\n")

    def spans(self, places: Sequence[int]) -> list[tuple[int, int]]:
        """Where some lines begin and end."""
        return list(zip(self._starts[places].tolist(), self._ends[places].tolist(), strict=True))

    def begin_objects(self) -> bool:
        """Whether each line begins like an object."""
        return bool((self._bytes.take(self._starts, mode="clip") == _OPENING).all())

    def are_objects(self) -> bool:
        """Whether each line begins and ends like an object.

        Between an end and a beginning of objects no value of JSON can go on, so that a line that is broken is not mended
        by its neighbours when they are read together.
        """
        return self.begin_objects() and bool((self._bytes[self._ends - 1] == _CLOSING).all())


def inside(block: Block, inner: Sequence[bytes | None], source: bytes = b"") -> Inner | None:
    """Lines of a block in which some may be odd; None where all are. `source`: see `Inner`."""
    held = [line for line in inner if line is not None]
    data = b"\n".join(held) + b"\n"
    if len(held) == len(inner):
        return Inner(data, len(held), lambda places: around(block, None, places, held.__getitem__), source)
    at = [i for i, line in enumerate(inner) if line is not None]
    odd = [i for i, line in enumerate(inner) if line is None]

    def outer(places: Sequence[int]) -> list[Waiting]:
        found = around(block, None, [at[k] for k in places], lambda _: b"")
        return [(held[k], line) for k, (_, line) in zip(places, found, strict=True)]

    left = [line for _, line in around(block, None, odd, lambda _: b"")]
    return Inner(data, len(held), outer, source, left) if held else None


def around(block: Block, lines: Lines | None, places: Sequence[int], inner: Callable[[int], bytes]) -> list[Waiting]:
    """Lines of a block, each with what is inside."""
    if not places:
        return []
    if lines is None:
        return [(inner(i), line) for i, line in zip(places, placed(block, b"\n", places), strict=True)]
    first, at = block.first_line, block.offset
    spans = zip(places, lines.spans(places), strict=True)
    return [(inner(i), (block.data[start:end], first + i, at + start)) for i, (start, end) in spans]
