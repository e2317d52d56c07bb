"""Which spans does each line of an OpenTelemetry log hold, and which of them need a closer look?

A line is one export request with many spans, and every span is a unit of the ledger. The common case is read once: the
frame of the request, of each span its ids and start, and of its attributes, found by their names, only what tells a call
of another model from all else. Whatever is not that plain goes, with its whole line, to the careful reading.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
import polars as pl

from kvforensics.child_status import add_statuses
from kvforensics.envelope import Unit
from kvforensics.framing_json import Reject, json_units
from kvforensics.raw import Extractor
from kvforensics.span_attributes import attributes_asked, counts_of, models_asked
from kvforensics.spec import Format
from kvforensics.ties import id_digests
from kvforensics.views import hex_id

UNITS = (*(
    f"{before}{outer}.{inner}"
    for before in ("", "[].", "trace.", "data.", "result.")
    for outer, inner in (
        ("resourceSpans[]", "scopeSpans[].spans[]"), ("resourceSpans[]", "instrumentationLibrarySpans[].spans[]"),
        ("resource_spans[]", "scope_spans[].spans[]"), ("batches[]", "scopeSpans[].spans[]"),
        ("batches[]", "instrumentationLibrarySpans[].spans[]"), ("resourceLogs[]", "scopeLogs[].logRecords[]"),
    )
), "data[].spans[]", "spans[]", "[].spans[]", "[][]", "[]")  # fmt: skip
"""Where spans and log records are in a document: OTLP, then Jaeger and Zipkin."""
SUMS = "sums_steps"
"""The reason in a record whose counts may add up several calls; `families` settles it."""
STATUS_KEYS = ("http.response.status_code", "http.status_code")
MAX_DECISIONS = 1 << 14
EXPORTS = frozenset(("resourceSpans", "resource_spans", "batches", "resourceLogs"))
"""The names of which an export request has one."""
_MARKS = tuple(f'"{name}"'.encode() for name in sorted(EXPORTS))
_STATUS = re.compile(
    rb'"key"\s*+:\s*+"http\.(?:response\.)?status_code"\s*+,\s*+"value"\s*+:\s*+\{\s*+"intValue"\s*+:\s*+"?([1-5]\d\d)\b'
)
Ids = tuple[str | None, str | None, str | None]
"""The ids of a trace, of a span of it, and of the span above."""
_Pairs = tuple[tuple[bytes, bytes, bytes], ...]


class _Span(msgspec.Struct, gc=False):
    traceId: str | None = None  # noqa: N815 - the names of the log
    spanId: str | None = None  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    startTimeUnixNano: str | int | None = None  # noqa: N815
    attributes: msgspec.Raw = msgspec.Raw(b"[]")


class _Scope(msgspec.Struct, gc=False):
    spans: list[_Span] = []


class _Resource(msgspec.Struct, gc=False):
    scopeSpans: list[_Scope] = []  # noqa: N815


class _Request(msgspec.Struct, gc=False):
    resourceSpans: list[_Resource]  # noqa: N815


class _RawScope(msgspec.Struct, gc=False):
    spans: list[msgspec.Raw] = []


class _RawResource(msgspec.Struct, gc=False):
    resource: msgspec.Raw = msgspec.Raw(b"{}")
    scopeSpans: list[_RawScope] = []  # noqa: N815


class _RawRequest(msgspec.Struct, gc=False):
    resourceSpans: list[_RawResource]  # noqa: N815


_raw_decode = msgspec.json.Decoder(_RawRequest).decode


class Ledger(Protocol):
    """What takes the units."""

    def unit(self, data: bytes, line: int, offset: int | None, context: Sequence[bytes] = ()) -> None:
        """One unit of bytes."""

    def reject(self, line: int, offset: int | None, length: int | None, reason: str, data: bytes) -> None:
        """A unit that is no record."""

    def blanks(self, count: int = 1) -> None:
        """Blank lines."""

    def skip(self, count: int = 1) -> None:
        """Framing."""

    def passed(self, format_name: str, times: Sequence[Any], ids: Sequence[Ids]) -> None:
        """Records that are plainly about another model."""


def views_of(formats: Sequence[Format]) -> tuple[str, ...]:
    """The views that formats need, in their order."""
    return tuple(dict.fromkeys(f.view for f in formats if f.view))


def line_units(line: bytes) -> list[Unit | Reject] | None:
    """The spans and log records of one line, None where it is no export request."""
    if not any(mark in line for mark in _MARKS):
        return None
    items = [i for i in json_units(io.BytesIO(line), UNITS) if isinstance(i, (Unit, Reject))]
    whole = len(items) == 1 and isinstance(items[0], Unit) and not items[0].context
    return None if whole else items


class SpanLines:
    """Reads the lines of one piece; `other` says whether a model text is plainly another model, None keeps all."""

    def __init__(
        self, formats: Sequence[Format], other: Callable[[str], bool] | None, over: int, wanted: pl.Series, ledger: Ledger
    ) -> None:
        self._ledger = ledger
        self._wanted = wanted
        self._other = other
        self._extractors = [Extractor(f) for f in formats]
        self._asked, self._counts, self._over = attributes_asked(formats), counts_of(formats), over
        self._models = frozenset(p for f in formats if f.view == "otlp" for p in models_asked(f))
        self._decode: Callable[[bytes], _Request] = msgspec.json.Decoder(_Request).decode
        self._decisions: dict[_Pairs, str | None] = {}
        self._line = 0
        self._known: set[tuple[str, str]] = set()
        self._told: dict[tuple[str, str], int] = {}

    def next_line(self) -> int:
        """The number of the next unit."""
        self._line += 1
        return self._line

    def lines(self, lines: Sequence[bytes], offset: int, gap: int) -> None:
        """Physical lines one after another, the first at `offset`, with `gap` bytes between them."""
        for line in lines:
            if not line.strip():
                self._line += 1
                self._ledger.blanks()
            elif not self._plain(line, offset):
                self._careful(line, offset)
            offset += len(line) + gap

    def _careful(self, line: bytes, offset: int) -> None:
        items = line_units(line)
        if items is None:
            self._ledger.unit(line, self.next_line(), offset)
            return
        for item in items:
            at = offset + item.offset
            if isinstance(item, Unit):
                self._ledger.unit(item.data, self.next_line(), at, item.context)
            else:
                rest = line[item.offset : item.offset + item.length]
                self._ledger.reject(self.next_line(), at, item.length, item.reason, rest)

    def _plain(self, line: bytes, offset: int) -> bool:
        """Take a line that is read as expected, its odd spans one by one; False leaves it untouched."""
        try:
            request = self._decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        resources = request.resourceSpans
        scopes = [s for r in resources for s in r.scopeSpans]
        spans = [s for scope in scopes for s in scope.spans]
        # A key given twice would hide spans from the decoder.
        if (
            b"\\u" in line or not spans or line.count(b'"resourceSpans"') != 1
            or line.count(b'"scopeSpans"') != len(resources) or line.count(b'"spans"') != len(scopes)
        ):  # fmt: skip
            return False
        names: list[str | None] = []
        seen, known = 0, self._decisions
        for span in spans:
            pairs: _Pairs = tuple(self._asked.findall(span.attributes))
            seen += len(pairs)
            name = known[pairs] if pairs in known else self._decide(pairs)
            plain = span.traceId and span.spanId and span.startTimeUnixNano
            names.append(None if not plain or (name and self._may_be_over(span)) else name)
        if len(self._asked.findall(line)) != seen:
            return False
        if not self._wanted.is_empty():
            names = self._without_wanted(spans, names)
        near = None in names
        parts = _raw_spans(line) if near else []
        if near and len(parts) != len(spans):
            return False
        times: dict[str, list[Any]] = {}
        passed: dict[str, list[Ids]] = {}
        for at, (span, name) in enumerate(zip(spans, names, strict=True)):
            if name:
                times.setdefault(name, []).append(span.startTimeUnixNano)
                passed.setdefault(name, []).append(_ids(span))
            if name is not None:
                self._note(span)
            else:
                data, start, context = parts[at]
                self._ledger.unit(data, self._line + at + 1, offset + start, context)
        self._line += len(spans)
        for name, started in times.items():
            self._ledger.passed(name, started, passed[name])
        self._ledger.skip(names.count(""))
        return True

    def _may_be_over(self, span: _Span) -> bool:
        """Whether the counts of a span may come to a prompt over a threshold, so that a closer look has to weigh it."""
        told = self._counts.findall(span.attributes)
        return b"" in told or sum(map(int, told)) > self._over

    def _without_wanted(self, spans: Sequence[_Span], names: Sequence[str | None]) -> list[str | None]:
        """The names, None where a span has an id whose record is wanted whole."""
        ids = [_ids(span) if name else () for span, name in zip(spans, names, strict=True)]
        owners = [(i, text) for i, texts in enumerate(ids) for text in texts if text]
        digests = id_digests(pl.Series([text for _, text in owners], dtype=pl.String))
        found = digests.is_in(self._wanted.implode()).fill_null(value=False).arg_true()
        wanted = {owners[k][0] for k in found}
        return [None if i in wanted else name for i, name in enumerate(names)]

    def _note(self, span: _Span) -> None:
        trace, own = hex_id(span.traceId), hex_id(span.spanId)
        self._known.add((trace, own))
        if span.parentSpanId:
            found = _STATUS.search(span.attributes)
            if found:
                add_statuses(self._told, {(trace, hex_id(span.parentSpanId)): int(found.group(1))})

    def _decide(self, pairs: _Pairs) -> str | None:
        """The format whose record it is, empty for framing, None where a closer look is needed."""
        decision: str | None = None
        keys = [(k or bare).decode() for k, _, bare in pairs]
        valued = {k.decode(): v.decode() for k, v, _ in pairs if k} if len(set(keys)) == len(keys) else None
        if valued is not None and not any(bare.decode() in self._models for _, _, bare in pairs):
            record = {
                **{b.decode(): "1" for _, _, b in pairs if b}, **valued,
                "span": {"traceId": "1", "spanId": "1", "startTimeUnixNano": "1"}, "resource": {},
            }  # fmt: skip
            models = [v for k, v in valued.items() if k in self._models]
            winner = next((e for e in self._extractors if e.matches(record)), None)
            if winner and winner.format.view == "otlp":
                if winner.is_framing(record):
                    decision = ""
                elif models and self._other is not None and all(map(self._other, models)):
                    decision = winner.format.name
        if len(self._decisions) >= MAX_DECISIONS:
            self._decisions.clear()
        self._decisions[pairs] = decision
        return decision

    def framing(self, value: Any) -> None:
        """Note what a span that is no record tells of its parent."""
        if type(value) is not dict or type(value.get("span")) is not dict:
            return
        span = value["span"]
        trace, own, parent = span.get("traceId"), span.get("spanId"), span.get("parentSpanId")
        self._known.add((trace, own))
        status = next((value[k] for k in STATUS_KEYS if value.get(k) is not None), None)
        if parent and re.fullmatch(r"[1-5]\d\d", str(status)):
            add_statuses(self._told, {(trace, parent): int(str(status))})

    def statuses(self) -> dict[tuple[str, str], int]:
        """The statuses told of spans that are not known to be of no interest."""
        return {k: v for k, v in self._told.items() if k not in self._known}


def _ids(span: _Span) -> Ids:
    """The ids by which a span is tied to others, as its record would have them."""
    trace, own, parent = (hex_id(text) if text else None for text in (span.traceId, span.spanId, span.parentSpanId))
    return trace, own, parent


def _raw_spans(line: bytes) -> list[tuple[bytes, int, tuple[bytes, ...]]]:
    """The bytes of each span of a line, their offset in it, and the resource around them."""
    found: list[tuple[bytes, int, tuple[bytes, ...]]] = []
    at = 0
    for resource in _raw_decode(line).resourceSpans:
        context = (b'{"resource":' + bytes(resource.resource) + b"}",)
        for scope in resource.scopeSpans:
            for span in scope.spans:
                data = bytes(span)
                at = line.find(data, at)
                found.append((data, at, context))
                at += len(data)
    return found
