"""Where may a stream of lines be cut so that no line loses a piece?

Blocks are cut again at borders at which no piece waits for the next one, so that each may be read by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kvforensics.framing import Block
from kvforensics.layer import Layer, without_colours
from kvforensics.peel_batch import BatchPeeler
from kvforensics.wrapper_spec import Wrapper

MAX_CARRIED = 256 << 20
_decode = msgspec.json.Decoder().decode


def whole_blocks(blocks: Iterator[Block], wrappers: Sequence[Wrapper], newline: bytes) -> Iterator[Block]:
    """The same lines in blocks that end where nothing is open. Only outermost layers are looked at."""
    layers = [(Layer(w), BatchPeeler(w)) for w in wrappers if w.joins]
    held: list[Block] = []
    carried = 0
    for block in blocks:
        if block.reject is not None:
            yield from _merged(held)
            yield block
            held, carried = [], 0
            continue
        whole = _merge([*held, block]) if held else block
        cut, lines = _border(whole, layers, newline)
        if cut:
            yield Block(whole.data[:cut], whole.first_line, whole.offset, lines)
        rest = whole.data[cut:]
        held = [Block(rest, whole.first_line + lines, whole.offset + cut, whole.lines - lines)] if rest else []
        carried = len(rest)
        if carried > MAX_CARRIED:
            yield from held
            held, carried = [], 0
    yield from held


def _merged(held: Sequence[Block]) -> Iterator[Block]:
    if held:
        yield _merge(held)


def _merge(blocks: Sequence[Block]) -> Block:
    first = blocks[0]
    return Block(b"".join(b.data for b in blocks), first.first_line, first.offset, sum(b.lines for b in blocks))


def _border(block: Block, layers: Sequence[tuple[Layer, BatchPeeler]], newline: bytes) -> tuple[int, int]:
    """How many bytes and lines of a block come before the last border at which nothing is open."""
    about = [(layer, peeler) for layer, peeler in layers if layer.may_go_on(block.data)]
    if not about or any(peeler.are_whole(block, newline) for _, peeler in about):
        return len(block.data), block.lines
    asked = [layer for layer, _ in about]
    lines = block.data.split(newline)
    if not lines[-1]:
        lines.pop()
    waiting: set[tuple[str, tuple[str | None, ...]]] = set()
    at = cut = number = 0
    for count, line in enumerate(lines, 1):
        at = min(at + len(line) + len(newline), len(block.data))
        state = _state(line, asked)
        if state is not None:
            key, more = state
            (waiting.add if more else waiting.discard)(key)
        if not waiting:
            cut, number = at, count
    return cut, number


def _state(line: bytes, layers: Sequence[Layer]) -> tuple[tuple[str, tuple[str | None, ...]], bool] | None:
    text = without_colours(line)
    value = None
    for layer in layers:
        if layer.prefix is not None:
            found = layer.prefix.match(text)
            if found:
                outer = {k: v.decode("utf-8", "replace") for k, v in found.groupdict().items() if v is not None}
                return (layer.wrapper.name, layer.stream(outer)), layer.goes_on(outer, text[found.end() :])
        elif text[:1] == b"{":
            value = _value(text) if value is None else value
            if type(value) is dict and layer.matches(value):
                message = next(layer.messages(value), None)
                if type(message) is bytes:
                    return (layer.wrapper.name, layer.stream(value)), layer.goes_on(value, message)
    return None


def _value(text: bytes) -> object:
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
