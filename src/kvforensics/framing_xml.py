"""Where are the results in a search export that is XML, and what do their fields say?

    <results preview='0'><meta>...</meta>
      <result offset='3'><field k='_raw'><v>...</v></field><field k='host'><value><text>...</text></value></field></result>
    </results>

Several documents may follow each other. The document is never parsed as a whole: each `result` is cut out of the stream
and parsed by itself, so that memory is bounded by one of them and no document type can declare anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from msgspec import Struct

from kvforensics.envelope import Reject
from kvforensics.framing import EXCERPT, Readable

RESULT_CAP = 256 << 20
CHUNK = 1 << 20
_LONGEST_TAG = 4096
_OPENING = re.compile(rb"<(/?)(results?)(?=[\s/>])((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>")
_PREVIEW = re.compile(rb"\bpreview\s*=\s*[\"'](?:1|true)[\"']")
_CLOSING = b"</result>"


class _Tag(Struct, frozen=True):
    start: int
    end: int
    name: bytes
    attributes: bytes
    closing: bool
    empty: bool


class Result(Struct, frozen=True):
    """One result: its fields and its bytes. `ordinal` is 1-based over results and rejects."""

    value: dict[str, Any]
    data: bytes
    ordinal: int
    offset: int


def xml_results(stream: Readable, cap: int = RESULT_CAP) -> Iterator[Result | Reject]:
    """The results in the order of the stream; one that is no XML, too large or cut off is a reject."""
    window = _Window(stream)
    ordinal = 0
    preview = inside = False
    while tag := window.next_tag():
        if tag.name == b"results":
            inside = not tag.closing and not tag.empty
            preview = _PREVIEW.search(tag.attributes) is not None
            window.skip(tag.end)
        elif tag.closing or tag.empty:
            window.skip(tag.end)
        else:
            ordinal += 1
            yield _result(window, tag.start, ordinal, cap, preview=preview)
    if inside and window.held:
        # Something of a result may be left, which cannot be told from white space at the end of a broken document.
        yield Reject(ordinal + 1, window.offset, len(window.held), "truncated", bytes(window.held[:EXCERPT]))


def _result(window: _Window, start: int, ordinal: int, cap: int, *, preview: bool) -> Result | Reject:
    window.skip(start)
    offset = window.offset
    length = window.length_to(_CLOSING, cap)
    if length is None:
        head, cut = bytes(window.held[:EXCERPT]), len(window.held) > cap
        size = window.drop_to(_CLOSING)
        return Reject(ordinal, offset, size, "oversize" if cut else "truncated", head)
    data = bytes(window.held[:length])
    window.skip(length)
    try:
        root = ET.fromstring(data)  # noqa: S314 - one element without a document type: nothing can be declared or fetched
    except ET.ParseError:
        return Reject(ordinal, offset, length, "syntax", data[:EXCERPT])
    fields = {str(f.get("k")): _values(f) for f in root.iter("field") if f.get("k")}
    return Result({"preview": preview, "offset": root.get("offset"), "result": fields}, data, ordinal, offset)


def _values(field: ET.Element) -> str | list[str] | None:
    """The text of a field, a list where it has several values; words that a search marked are part of it."""
    found = ["".join(v.itertext()) if v.tag == "v" else "".join(t.text or "" for t in v.iter("text")) for v in field]
    return found[0] if len(found) == 1 else found or None


class _Window:
    """The part of a stream that is looked at."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.held = bytearray()
        self.offset = 0

    def _more(self) -> bool:
        chunk = self._stream.read(CHUNK)
        self.held += chunk
        return bool(chunk)

    def skip(self, size: int) -> None:
        """Leave bytes behind."""
        del self.held[:size]
        self.offset += size

    def next_tag(self) -> _Tag | None:
        """The next tag of a result or of results; what comes before it is of no interest."""
        while True:
            if found := _OPENING.search(self.held):
                closing, name, attributes = map(bytes, found.groups())
                return _Tag(found.start(), found.end(), name, attributes, bool(closing), attributes.endswith(b"/"))
            keep = max(self.held.rfind(b"<"), len(self.held) - _LONGEST_TAG)
            if keep > 0:
                self.skip(keep)
            if not self._more():
                return None

    def length_to(self, mark: bytes, cap: int) -> int | None:
        """How far it is to the end of the mark, None where it does not come within the cap."""
        seen = 0
        while (found := self.held.find(mark, seen)) < 0:
            seen = max(0, len(self.held) - len(mark))
            if len(self.held) > cap or not self._more():
                return None
        return found + len(mark)

    def drop_to(self, mark: bytes) -> int:
        """Leave everything behind up to the end of the mark, or of the stream; how much that was."""
        before = self.offset
        while (found := self.held.find(mark)) < 0:
            self.skip(max(0, len(self.held) - len(mark)))
            if not self._more():
                self.skip(len(self.held))
                return self.offset - before
        self.skip(found + len(mark))
        return self.offset - before
