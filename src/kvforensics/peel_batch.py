"""Which lines are inside a whole block, where all of it has the same one layer?

The fast way through a plain log in one wrapper. What does not fit is left to the careful way, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvforensics.framing import Block
from kvforensics.layer import Layer, Signature
from kvforensics.peel_lines import Inner, inside
from kvforensics.peel_messages import LoggerMessages, Messages
from kvforensics.wrapper_spec import Wrapper, unnamed


class BatchPeeler:
    """Reads blocks of one wrapper."""

    def __init__(self, wrapper: Wrapper, others: Sequence[Signature] | None = None) -> None:
        """`others`, where they are known, are what an object of a general layer must not meet to be surely in it."""
        self._layer = Layer(wrapper)
        self._cut = _cut(wrapper) if wrapper.pattern else None
        self._reader: Messages | None = None
        if others is not None and wrapper.last_resort:
            self._reader = LoggerMessages(wrapper, others)
        elif not wrapper.pattern:
            self._reader = Messages.of(wrapper, self._layer)

    @classmethod
    def among(cls, wrappers: Sequence[Wrapper], only: Sequence[str], products: Sequence[Signature]) -> BatchPeeler | None:
        """A reader of the wrapper around all lines, where it is one, and one that can be read so."""
        own = [w for w in wrappers if w.name in only]
        if len(own) != 1 or own[0].last_of_all or own[0].is_record:
            return None
        others = [Layer(w).signature for w in wrappers if w.signature and not (w.last_of_all or w.name in only)]
        return cls(own[0], [*others, *products])

    def read(self, block: Block, newline: bytes) -> Inner | None:
        """The lines inside, None where pieces have to be joined or nothing fits."""
        if newline != b"\n":
            return None
        if self._cut is not None:
            return self._uniform(block, self._cut) or self._text(block)
        return self._reader.read(block) if self._reader is not None else None

    def are_whole(self, block: Block, newline: bytes) -> bool:
        """Whether it is sure that each line of a block is in the wrapper and none is continued."""
        inner = self.read(block, newline)
        return inner is not None and not inner.left

    def _uniform(self, block: Block, cut: re.Pattern[bytes]) -> Inner | None:
        """Where each line begins with the layer and goes on as an object, and none is continued."""
        _, *inner = cut.split(b"\n" + block.data.removesuffix(b"\n"))
        # As many parts as lines: so each line end is before one.
        return inside(block, inner) if len(inner) == block.lines else None

    def _text(self, block: Block) -> Inner | None:
        if self._layer.wrapper.goes_on and self._layer.may_go_on(block.data):
            return None
        lines = block.split(b"\n")
        found = map(self._layer.match, lines)
        inner = [
            line[m.end() :] if m and line.startswith(b"{", m.end()) else None
            for line, m in zip(lines, found, strict=True)
        ]
        return inside(block, inner)


def _cut(wrapper: Wrapper) -> re.Pattern[bytes]:
    """What is before an object on a line that is not continued."""
    pattern = wrapper.pattern
    for path, wanted in wrapper.goes_on:
        pattern = pattern.replace(f"(?P<{path}>", f"(?!{re.escape(wanted)})(?P<{path}>")
    return re.compile(rb"\n(?:" + unnamed(pattern).encode() + rb")(?=\{)", re.MULTILINE)
