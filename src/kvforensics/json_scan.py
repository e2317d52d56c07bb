"""Where does a JSON value end in a stream?

A window over the stream that grows while a value is being looked at and forgets what nobody needs any more. Nothing is
parsed: strings are swallowed whole and brackets counted, by regular expressions over everything at hand.
"""

from __future__ import annotations

import re

from kvforensics.framing import EXCERPT, Readable

CHUNK = 1 << 20
MAX_DEPTH = 512
_NEST = 6

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT = rb'[^"{}\[\]]*+'


def _balanced(levels: int) -> bytes:
    """A container with at most `levels` levels of containers inside; brackets are not told apart."""
    inner = b"|" + _balanced(levels - 1) if levels else b""
    return rb"[{\[]" + _FLAT + rb"(?:(?:" + _STRING + inner + rb")" + _FLAT + rb")*+[}\]]"


_VALUE = re.compile(_STRING + b"|" + _balanced(_NEST), re.DOTALL)
_INSIDE = re.compile(_FLAT + rb"(?:(?:" + _STRING + b"|" + _balanced(_NEST) + rb")" + _FLAT + rb")*+", re.DOTALL)
_STRING_BODY = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n\x1e]*+")
_RUNS = {
    opens: re.compile(rb"(?:" + kind + _FLAT + rb"(?:" + _STRING + _FLAT + rb")*+)++", re.DOTALL)
    for opens, kind in ((True, rb"[{\[]"), (False, rb"[}\]]"))
}
"""Brackets of one direction with no container between them: a deep value is passed by runs, not by brackets."""
_TEXT = re.compile(_STRING, re.DOTALL)
_SCALAR = re.compile(rb'[^ \t\r\n,:"{}\[\]]*+')
_QUOTE, _BACKSLASH = 0x22, 0x5C
OPENING = frozenset(b"{[")


class Window:
    """Bytes of the stream from `base` on. Positions are offsets in the stream; `keep` is the first that is still needed."""

    def __init__(self, stream: Readable, base: int = 0) -> None:
        self._stream = stream
        self.buf = bytearray()
        self.base = base
        self.keep = base
        self.ended = False

    @property
    def end(self) -> int:
        """The offset behind the last byte at hand."""
        return self.base + len(self.buf)

    def more(self) -> bool:
        """Read on; False at the end of the stream."""
        if self.keep > self.base:
            del self.buf[: self.keep - self.base]
            self.base = self.keep
        chunk = b"" if self.ended else self._stream.read(CHUNK)
        self.ended = not chunk
        self.buf += chunk
        return not self.ended

    def bytes_at(self, start: int, end: int) -> bytes:
        """A slice of what is at hand."""
        return bytes(memoryview(self.buf)[start - self.base : end - self.base])

    def after_space(self, at: int) -> int:
        """The first offset from `at` on that is not white space, or the end of the stream."""
        while True:
            match = _SPACE.match(self.buf, at - self.base)
            found = self.base + match.end() if match else at
            if found < self.end:
                return found
            at = found
            if not self.more():
                return at

    def byte(self, at: int) -> int:
        """The byte at an offset that is at hand."""
        return self.buf[at - self.base]


class ValueScan:
    """Finds the end of one value; `deepest` is the depth that it reached, `end` its end or None where the stream is cut.

    While a value is longer than `cap` the window does not keep it (`oversize`), only its first bytes are (`head`).
    """

    __slots__ = ("cap", "deepest", "end", "head", "oversize")

    def __init__(self, window: Window, at: int, cap: int, depth: int = 0) -> None:
        self.cap = cap
        self.deepest = depth
        self.oversize = False
        self.head = b""
        match = _VALUE.match(window.buf, at - window.base)
        self.end: int | None
        if match:
            self.end = window.base + match.end()
        elif window.byte(at) in OPENING:
            self.end = self._container(window, at, depth)
        elif window.byte(at) == _QUOTE:
            self.end = self._string(window, at, at)
        else:
            self.end = self._scalar(window, at)
        self.oversize = self.oversize or (self.end is not None and self.end - at > cap)

    def _grow(self, window: Window, start: int, at: int) -> bool:
        if not self.oversize and window.end - start > self.cap:
            self.oversize = True
            self.head = window.bytes_at(start, min(start + EXCERPT, window.end))
        if self.oversize:
            window.keep = max(window.keep, at)
        return window.more()

    def _container(self, window: Window, start: int, depth: int) -> int | None:
        at, open_now = start + 1, 1
        while True:
            self.deepest = max(self.deepest, depth + open_now)
            match = _INSIDE.match(window.buf, at - window.base)
            at = window.base + match.end() if match else at
            if at >= window.end:
                if not self._grow(window, start, at):
                    return None
                continue
            byte = window.byte(at)
            if byte == _QUOTE:
                end = self._string(window, start, at)
                if end is None:
                    return None
                at = end
                continue
            opens = byte in OPENING
            run = _RUNS[opens].match(window.buf, at - window.base)
            brackets = _brackets(run[0]) if run else 0
            if run and not opens and brackets >= open_now:
                return at + _end_of(run[0], open_now)
            at = window.base + run.end() if run else at + 1
            open_now += brackets if opens else -brackets

    def _string(self, window: Window, start: int, at: int) -> int | None:
        at += 1
        while True:
            match = _STRING_BODY.match(window.buf, at - window.base)
            at = window.base + match.end() if match else at
            if at < window.end and window.byte(at) == _QUOTE:
                return at + 1
            # Here is the end of what is at hand, or a backslash whose partner has not been read.
            if not self._grow(window, start, at):
                return None

    def _scalar(self, window: Window, start: int) -> int | None:
        at = start
        while True:
            match = _SCALAR.match(window.buf, at - window.base)
            at = window.base + match.end() if match else at
            if at < window.end:
                return at
            if not self._grow(window, start, at):
                return None


def _brackets(run: bytes) -> int:
    """How many brackets a run has outside its strings."""
    bare = _TEXT.sub(b"", run) if b'"' in run else run
    return sum(map(bare.count, (b"{", b"[", b"}", b"]")))


def _end_of(run: bytes, brackets: int) -> int:
    """The length of the run up to and with so many of its closing brackets."""
    bare = _TEXT.sub(lambda text: b" " * len(text[0]), run) if b'"' in run else run
    low, high = 0, len(bare)
    while low < high:
        middle = (low + high) // 2
        here = bare.count(b"}", low, middle + 1) + bare.count(b"]", low, middle + 1)
        if here >= brackets:
            high = middle
        else:
            low, brackets = middle + 1, brackets - here
    return low + 1


def is_shallow(value: bytes) -> bool:
    """Whether a whole value is sure to be far from the depth limit."""
    return value.count(b"{") + value.count(b"[") < MAX_DEPTH // 2 or _VALUE.fullmatch(value) is not None


def next_opening_line(window: Window, at: int) -> int | None:
    """The first line start behind `at` (blanks allowed) where a container opens, None where there is none any more."""
    while True:
        match = _OPENING_LINE.search(window.buf, at - window.base)
        if match:
            return window.base + match.end() - 1
        # Keep the last line start: the bracket may be in the next chunk.
        tail = max(window.buf.rfind(b"\n"), window.buf.rfind(b"\r"))
        line = window.base + tail if tail >= 0 else window.end
        at = max(at, line)
        if window.end - at > CHUNK:  # a line of blanks only
            at = window.end
        window.keep = max(window.keep, at)
        if not window.more():
            return None


_OPENING_LINE = re.compile(rb"[\r\n][ \t\r\n\x1e]*+[{\[]")
