"""Which run of whole values can be cut off at once?

A guess, and its proof: the guess is the last place at hand that looks like the border between the two values before; the
proof is that the strict parser takes everything up to there as a list of whole values. A wrong guess is refused, never
half used, and then the careful scan goes on value by value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from kvforensics.json_scan import CHUNK, MAX_DEPTH, Window, is_shallow

_HEAD = re.compile(rb'\{\s*+"[^"\\]{0,200}+"\s*+:')
_GAP = re.compile(rb"\s*+,?\s*+")
_LONGEST_GAP = 200
_LEAST = 4096
_decode = msgspec.json.Decoder(list[msgspec.Raw])


class Batcher:
    """Cuts runs of objects; keeps away for a while after a wrong guess."""

    def __init__(self, *, commas: bool) -> None:
        self._commas = commas
        self._pause = 0
        self._penalty = 1

    def run(self, window: Window, previous_end: int, at: int, absent: Sequence[bytes] = ()) -> list[tuple[int, bytes]]:
        """(offset, bytes) of the objects from `at` on, empty where there is no sure run.

        `previous_end` is where the value before ended. None of the texts `absent` may be in the run (a run with escaped
        characters could hide one, so that it is refused too).
        """
        if self._pause:
            self._pause -= 1
            return []
        if window.end - at < CHUNK // 4 and not window.ended:
            window.more()
        start = at - window.base
        gap = bytes(window.buf[max(0, previous_end - window.base) : start])
        head = _HEAD.match(window.buf, start)
        if previous_end < window.base or not head or len(gap) > _LONGEST_GAP or (b"," in gap) != self._commas:
            return []
        cut = window.buf.rfind(b"}" + gap + head.group(), start) + 1
        found = self._proven(bytes(memoryview(window.buf)[start:cut]), at, gap, absent) if cut - start > _LEAST else []
        if found:
            self._penalty = 1
        else:
            self._pause = self._penalty
            self._penalty = min(2 * self._penalty, 1024)
        return found

    def _proven(self, text: bytes, at: int, gap: bytes, absent: Sequence[bytes]) -> list[tuple[int, bytes]]:
        if absent and (b"\\u" in text or any(word in text for word in absent)):
            return []
        try:
            raws = _decode.decode(b"[" + text + b"]") if self._commas else _decode_lines(text)
        except (msgspec.DecodeError, RecursionError):
            return []
        found = []
        here, step = 0, len(gap)
        for raw in raws:
            value = bytes(raw)
            if value[0] != 0x7B or (len(value) > MAX_DEPTH and not is_shallow(value)):
                return []
            found.append((at + here, value))
            here += len(value)
            if text.startswith(gap, here) and text[here + step : here + step + 1] == b"{":
                here += step
            elif (match := _GAP.match(text, here)) is not None:
                here = match.end()
        return found if here == len(text) else []


_line_decoder = msgspec.json.Decoder(msgspec.Raw)


def _decode_lines(text: bytes) -> list[msgspec.Raw]:
    return _line_decoder.decode_lines(text)
