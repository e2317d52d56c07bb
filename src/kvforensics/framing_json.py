"""Where are the units in JSON documents, however large?

A document is a top-level object or array; several may follow each other, apart by white space, commas or nothing. A unit
is the element that an envelope path leads to:

    result[]                                    each element of the array `result`
    result                                      the object `result`
    data.viewer.accounts[].*[]                  `*` is any key
    resourceSpans[].scopeSpans[].spans[]        nested arrays: each innermost element
    []                                          each element of a top-level array
    (empty)                                     the whole top-level value

All paths are tried at once while the document streams by; everything that any of them leads to is a unit, so that no
element is lost to a sibling that came first. Nothing inside a unit is looked at. Where nothing matched, an object that
ends a path which also goes on deeper is a unit, else the whole document is (so the empty path needs no mention, and an
object whose array is empty is not lost).
Whether a unit is valid JSON is for its parser to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvforensics.envelope import ELEMENT, Framing, Item, Reject, State, Unit, compile_envelope, key_text
from kvforensics.framing import EXCERPT, UTF8_BOM, Readable
from kvforensics.json_batch import Batcher
from kvforensics.json_scan import MAX_DEPTH, OPENING, ValueScan, Window, next_opening_line

__all__ = ["Framing", "Item", "Reject", "Unit", "json_units"]

UNIT_CAP = 256 << 20
CONTEXT_CAP = 64 << 10


def json_units(stream: Readable, paths: Sequence[str] = ("",), *, unit_cap: int = UNIT_CAP) -> Iterator[Item]:
    """Units, rejects and framing in the order in which they end; offsets count a byte order mark, which is left out."""
    return _Splitter(stream, paths, unit_cap).items()


class _Frame:
    """An open container on the way to units."""

    __slots__ = ("closing", "context", "fallback", "head", "matched", "size", "start", "states")

    def __init__(self, start: int, *, is_object: bool, states: tuple[State, ...], fallback: bool) -> None:
        self.start = start
        self.closing = 0x7D if is_object else 0x5D
        self.states = states
        self.fallback = fallback
        self.head = b""
        self.matched = False
        self.context: list[bytes] | None = [] if is_object else None
        self.size = 0


class _Malformed(Exception):
    """The envelope is no JSON at this offset."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class _Splitter:
    def __init__(self, stream: Readable, paths: Sequence[str], unit_cap: int) -> None:
        self._w = Window(stream)
        self._paths = [steps for steps in (compile_envelope(p) for p in paths) if steps]
        self._cap = unit_cap
        self._ordinal = 0
        self._document = -1
        self._frames: list[_Frame] = []
        self._at = 0
        self._joined: tuple[bytes, ...] | None = None
        self._last_end = 0
        self._elements = Batcher(commas=True)
        self._documents = Batcher(commas=False)
        first_keys = [steps[0] for steps in self._paths if steps[0] != ELEMENT]
        self._plain = [b'"' + k.encode() + b'"' for k in first_keys] if "*" not in first_keys else None

    def _next(self) -> int:
        self._ordinal += 1
        return self._ordinal

    def items(self) -> Iterator[Item]:
        w = self._w
        while len(w.buf) < 3 and w.more():
            pass
        if w.buf.startswith(UTF8_BOM):
            self._at = w.keep = 3
        while True:
            self._at = w.keep = w.after_space(self._at)
            if self._at >= w.end:
                return
            if w.byte(self._at) == 0x2C:
                self._at += 1
            elif w.byte(self._at) in OPENING:
                begun = self._at
                if w.byte(begun) == 0x7B and self._plain is not None and self._document >= 0:
                    for offset, data in self._documents.run(w, self._last_end, self._at, self._plain):
                        self._document += 1
                        self._at = self._last_end = offset + len(data)
                        yield Unit(data, self._next(), offset, self._document)
                if self._at == begun:
                    yield from self._one_document()
                    self._last_end = self._at
            else:
                yield self._stray(first=self._document < 0 and not self._ordinal)

    def _stray(self, *, first: bool) -> Item:
        """Text between documents, up to the next line that opens one."""
        w, start = self._w, self._at
        excerpt = self._excerpt(start)
        found = next_opening_line(w, start)
        self._at = found if found is not None else w.end
        if first and found is not None:
            return Framing(self._next(), start, self._at - start)
        return Reject(self._next(), start, self._at - start, "syntax", excerpt[: self._at - start])

    def _excerpt(self, start: int) -> bytes:
        w = self._w
        while w.end - start < EXCERPT and w.more():
            pass
        return w.bytes_at(start, min(start + EXCERPT, w.end))

    def _one_document(self) -> Iterator[Item]:
        self._document += 1
        start = self._at
        if not any((p[0] == ELEMENT) != (self._w.byte(start) == 0x7B) for p in self._paths):
            item, end = self._element(start)
            self._at = end
            yield item
            return
        self._frames.clear()
        self._open(start, tuple((i, 0) for i in range(len(self._paths))), fallback=True)
        try:
            while self._frames:
                yield from self._step()
        except _Malformed as error:
            rest = max(error.at, self._w.keep)
            excerpt = self._excerpt(rest)
            found = next_opening_line(self._w, rest)
            self._at = found if found is not None else self._w.end
            yield Reject(self._next(), rest, self._at - rest, "syntax", excerpt[: self._at - rest])

    def _open(self, at: int, states: tuple[State, ...], *, fallback: bool) -> None:
        is_object = self._w.byte(at) == 0x7B
        alive = tuple(s for s in states if (self._paths[s[0]][s[1]] == ELEMENT) != is_object)
        self._frames.append(_Frame(at, is_object=is_object, states=alive, fallback=fallback))
        if fallback:
            self._frames[-1].head = self._excerpt(at)
        self._joined = None
        self._at = at + 1
        if not is_object and not self._frames[1:] and any(n + 1 == len(self._paths[i]) for i, n in alive):
            self._match()  # an array on top is never a unit where its elements are: an empty one is an answer with no rows

    def _match(self) -> None:
        """Something was found: no frame around it will be a unit itself, so that nothing of it need be kept."""
        for frame in self._frames:
            frame.matched = True

    def _step(self) -> Iterator[Item]:
        """One member, element, comma or closing bracket of the innermost frame."""
        w, frame = self._w, self._frames[-1]
        self._hold(self._at)
        self._at = w.after_space(self._at)
        if self._at >= w.end:
            yield self._cut(self._at)
            return
        byte = w.byte(self._at)
        if byte == 0x2C:
            self._at += 1
        elif byte == frame.closing:
            yield from self._close()
        elif byte in b"}]:" or (frame.context is not None and byte != 0x22):
            raise _Malformed(self._at)
        elif frame.context is None:
            yield from self._value(self._at, tuple((i, n + 1) for i, n in frame.states), None)
        else:
            yield from self._member(frame)

    def _hold(self, at: int) -> None:
        """What may still become a unit has to be kept, up to the cap."""
        first = next((f for f in self._frames if f.fallback and not f.matched), None)
        if first is None or at - first.start > self._cap:
            self._w.keep = max(self._w.keep, at)
        else:
            self._w.keep = max(self._w.keep, min(first.start, at))

    def _member(self, frame: _Frame) -> Iterator[Item]:
        w, start = self._w, self._at
        key = ValueScan(w, start, self._cap)
        if key.end is None:
            yield self._cut(start, key.head)
            return
        raw = w.bytes_at(start, key.end) if not key.oversize else b'""'
        self._at = w.after_space(key.end)
        if self._at < w.end and w.byte(self._at) != 0x3A:
            raise _Malformed(self._at)
        self._at = w.after_space(self._at + 1) if self._at < w.end else self._at
        if self._at >= w.end:
            yield self._cut(start, key.head)
            return
        if w.byte(self._at) in b"}],:":
            raise _Malformed(self._at)
        name = key_text(raw)
        states = tuple((i, n + 1) for i, n in frame.states if self._paths[i][n] in (name, "*"))
        yield from self._value(self._at, states, raw)

    def _value(self, at: int, states: tuple[State, ...], key: bytes | None) -> Iterator[Item]:
        w = self._w
        byte = w.byte(at)
        ends = [i for i, n in states if n == len(self._paths[i]) and (key is None or byte == 0x7B)]
        deeper = tuple(s for s in states if s[1] < len(self._paths[s[0]]))
        deeper = tuple(s for s in deeper if byte == (0x5B if self._paths[s[0]][s[1]] == ELEMENT else 0x7B))
        if deeper:
            self._open(at, deeper, fallback=bool(ends))
        elif ends:
            self._match()
            self._hold(at)
            if key is None and byte == 0x7B:
                for offset, data in self._elements.run(w, self._last_end, at):
                    self._at = offset + len(data)
                    yield Unit(data, self._next(), offset, self._document, self._context())
            if self._at == at:
                item, self._at = self._element(at)
                yield item
            self._last_end = self._at
        else:
            yield from self._pass(at, key)

    def _pass(self, at: int, key: bytes | None) -> Iterator[Item]:
        """A value that no path leads to; it may be context."""
        w, frame = self._w, self._frames[-1]
        holding = any(f.fallback and not f.matched for f in self._frames)
        scan = ValueScan(w, at, self._cap if holding else CONTEXT_CAP, len(self._frames))
        if scan.end is None:
            yield self._cut(at, scan.head)
            return
        self._at = scan.end
        room = CONTEXT_CAP - frame.size
        if frame.context is not None and key is not None and scan.end - at + len(key) <= room and at >= w.base:
            frame.context.append(key + b":" + w.bytes_at(at, scan.end))
            frame.size += scan.end - at + len(key)
            self._joined = None

    def _context(self) -> tuple[bytes, ...]:
        if self._joined is None:
            self._joined = tuple(b"{" + b",".join(f.context) + b"}" for f in self._frames if f.context is not None)
        return self._joined

    def _element(self, at: int) -> tuple[Item, int]:
        """The value at `at` as a unit, or the reject that it is, and its end."""
        w = self._w
        scan = ValueScan(w, at, self._cap, len(self._frames))
        end = scan.end
        if end is None:
            self._frames.clear()
            return self._rejected(at, w.end, "oversize" if scan.oversize else "truncated", scan.head), w.end
        if end == at:  # a byte that starts no value
            raise _Malformed(at)
        if scan.oversize or scan.deepest > MAX_DEPTH:
            return self._rejected(at, end, "oversize" if scan.oversize else "too_deep", scan.head), end
        return Unit(w.bytes_at(at, end), self._next(), at, self._document, self._context() if self._frames else ()), end

    def _rejected(self, start: int, end: int, reason: str, head: bytes = b"") -> Reject:
        """`head` is the start of what the window no longer has."""
        data = head or self._w.bytes_at(start, min(end, start + EXCERPT))
        return Reject(self._next(), start, end - start, reason, data[: end - start])

    def _close(self) -> Iterator[Item]:
        frame = self._frames.pop()
        self._joined = None
        self._at += 1
        if frame.fallback and not frame.matched:
            self._match()
            w = self._w
            whole = frame.start >= w.base and self._at - frame.start <= self._cap
            if whole:
                yield Unit(
                    w.bytes_at(frame.start, self._at), self._next(), frame.start, self._document, self._context()
                )
            else:
                yield self._rejected(frame.start, self._at, "oversize", frame.head)

    def _cut(self, start: int, head: bytes = b"") -> Reject:
        """The stream ends inside a document: what could have been a unit, or what is left of the envelope."""
        first = next((f for f in self._frames if f.fallback and not f.matched), None)
        if first is not None and first.start < start:
            start, head = first.start, first.head
        self._frames.clear()
        self._at = self._w.end
        return self._rejected(start, self._w.end, "truncated", head)
