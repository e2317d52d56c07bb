"""May a unit that is read as no call on the affected model hold one all the same?

A record that names another model may keep an answer that cannot be read and that names the affected one; a span may name
it in an attribute of its own, or count a prompt under a name that no convention has. Such a unit is left open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from kvforensics.inner_calls import InnerCalls, amount, inner_calls
from kvforensics.kept_calls import may_hold_call
from kvforensics.layer import encoded, is_fragment
from kvforensics.model_id import ModelReader
from kvforensics.paths import embedded
from kvforensics.raw import Extractor
from kvforensics.span_hiding import COUNT
from kvforensics.spec import Format
from kvforensics.terms import Term, compile_terms
from kvforensics.views import attribute, attributes

UNKNOWN = "unknown_record"
"""The reason of an object that no format fits but that may hold a call on the affected model, in a shape not known."""
NAMED_BESIDE = "model_named_beside"
"""The reason of a record of another model of which a part that is not read as its own names the affected one."""
# A text inside a text has its quotes escaped, so that what prompts and answers say is no name. Runs are bounded.
_NAME = re.compile(r'"model(?:[_-]?(?:id|name))?"\s{0,8}:\s{0,8}"([^"\\]{1,512})("|\Z)', re.IGNORECASE)
_SHORT = 256
"""No name of a model is longer."""


class HiddenCalls:
    """Looks for them, for one incident; `over` is the lowest threshold, exceeded strictly."""

    def __init__(self, reader: ModelReader, over: int) -> None:
        self._reader, self._over = reader, over
        self._marks = tuple(mark.decode() for mark in reader.marks)
        self._kinds: dict[str, tuple[Term, ...]] = {}

    def is_framing(self, extractor: Extractor, value: Any) -> bool:
        """Whether a unit is no request of its own, and nothing in it says that it may be one."""
        if not extractor.is_framing(value):
            return False
        if extractor.format.view != "otlp" or type(value) is not dict or self._is_of_a_kind(extractor.format, value):
            return True
        return not any(self._tells(k, v) for told in (value, *_events(value)) for k, v in told.items())

    def _is_of_a_kind(self, fmt: Format, value: Any) -> bool:
        """Whether a span says of itself that it is something else than a request, such as a tool or a chain."""
        if fmt.name not in self._kinds:
            self._kinds[fmt.name] = tuple(t for terms in compile_terms(fmt.requests) for t in terms if not t.wanted)
        kinds = self._kinds[fmt.name]
        return not kinds or not all(term.holds(value) for term in kinds)

    def _tells(self, key: str, value: Any) -> bool:
        if type(value) is str and len(value) <= _SHORT and self._reader.is_named(value):
            return True
        return COUNT.search(key) is not None and amount(value) > self._over

    def unread(
        self, extractor: Extractor | None, value: Any, data: bytes | None, reasons: Sequence[str] = ()
    ) -> bytes | None:
        """The bytes of a unit that is no record and may hold a call, None where it cannot.

        What is of a format says what it is, but for a log record around a line, and where `reasons` tell that a part of it
        is unknown. A row of a table is read as JSON.
        """
        if extractor is not None:
            if data and reasons:
                return data if self._reader.mentions(data) else None
            text = _line_in(value) if extractor.format.view == "otlp" else b""
            return (data or text) if is_fragment(text) and self._reader.mentions(text) else None
        text = data if data is not None and data.lstrip()[:1] in (b"{", b"[") else encoded(value)
        return (data or text) if may_hold_call(text) and self._reader.mentions(text) else None

    def beside(
        self, extractor: Extractor, value: Any, data: bytes | None, place: Sequence[str | None], around: Sequence[Any] = ()
    ) -> tuple[Any, InnerCalls] | None:
        """The value of a record of another model, and what it counts, where it names the affected one too, else None.

        What cannot be read as one value is unknown in it, so that no count is taken from there. `place`: its provider and
        its host; `around`: what it is in.
        """
        if type(value) is not dict:
            return None
        serves = extractor.format.provider_serves

        def may_be(name: Any, providers: Collection[str] = (), depth: int = 0) -> bool:
            if type(name) is not str or len(name) > _SHORT or not self._reader.is_named(name):
                return False
            if self._reader.read(name, *place, provider_serves=serves) is not False:
                return True
            return bool(depth) and any(self._reader.read(name, provider, None) is True for provider in providers)

        texts = [(k, text) for k in extractor.roots if type(value.get(k)) in (str, dict) for text in _texts(value[k])]
        hiding = {k for k, text in texts if self._names(text, may_be)}
        if hiding:
            return {k: None if k in hiding else v for k, v in value.items()}, InnerCalls()
        for outer in around:
            calls = inner_calls(outer, may_be, ()) if type(outer) is dict and self._reader.mentions(encoded(outer)) else None
            if calls is not None and calls.named:
                return value, calls
        if data is not None and not self._reader.mentions(data):
            return None
        if extractor.format.view == "otlp":
            return (value, InnerCalls()) if any(may_be(v) for t in (value, *_events(value)) for v in t.values()) else None
        if data is None and not self._reader.mentions(encoded(value)):
            return None
        found = inner_calls(value, may_be, extractor.roots)
        return (value, found) if found.named else None

    def _names(self, text: str, may_be: Callable[[str], bool]) -> bool:
        """Whether a text that cannot be read as one value may name the affected model as that of a call."""
        cut = text.rstrip()[-1:] not in ("}", "]")
        if not cut and not any(mark in text for mark in self._marks):
            return False
        whole = not cut and text.lstrip()[:1] in ("{", "[") and embedded(text) is not None
        found = () if whole else _NAME.findall(text)
        return any(may_be(n) if end else self._reader.mentions(n.encode()) for n, end in found)


def _events(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The attributes of the events of a span."""
    span = value.get("span")
    events = span.get("events") if type(span) is dict else None
    for event in events if type(events) is list else ():
        if type(event) is dict and event.get("attributes"):
            yield attributes(event["attributes"])[0]


def _line_in(value: Any) -> bytes:
    """The line that a log record of OpenTelemetry keeps."""
    span = value.get("span") if type(value) is dict else None
    body = attribute(span.get("body")) if type(span) is dict else None
    return body.encode("utf-8", "replace") if type(body) is str else b""


def _texts(held: Any) -> Iterator[str]:
    """The texts under a key in which paths of a format may go on."""
    for text in held.values() if type(held) is dict else (held,):
        if type(text) is str and (text.lstrip()[:1] in ("{", "[") or "data:" in text[:4096]):
            yield text

