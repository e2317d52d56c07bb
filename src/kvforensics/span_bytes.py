"""Which spans are in the bytes of an export request, and is that all that they say?

A key that is given twice hides what stood there first, and an escape can spell a key in another way. So all keys that
matter are counted in the bytes: where there are more than were read, nothing was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from kvforensics.span_attributes import Attributed, Span

_ESCAPE = re.compile(rb"\\u00[2-7]")
"""An escape that may stand for a part of a name."""


class _Scope(msgspec.Struct, gc=False):
    spans: list[Span]
    scope: Attributed = Attributed()


class _Resource(msgspec.Struct, gc=False):
    scopeSpans: list[_Scope]  # noqa: N815 - the names of the log
    resource: Attributed = Attributed()


class _Request(msgspec.Struct, gc=False):
    resourceSpans: list[_Resource]  # noqa: N815


class _RawScope(msgspec.Struct, gc=False):
    spans: list[msgspec.Raw]


class _RawResource(msgspec.Struct, gc=False):
    scopeSpans: list[_RawScope]  # noqa: N815
    resource: msgspec.Raw = msgspec.Raw(b"{}")


class _RawRequest(msgspec.Struct, gc=False):
    resourceSpans: list[_RawResource]  # noqa: N815


_request = msgspec.json.Decoder(_Request).decode
_raw_request = msgspec.json.Decoder(_RawRequest).decode
_span = msgspec.json.Decoder(Span).decode


def read_request(line: bytes) -> list[Span] | None:
    """The spans of an export request, None where it takes a closer look."""
    try:
        request = _request(line.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    resources = request.resourceSpans
    scopes = [s for r in resources for s in r.scopeSpans]
    spans = [s for scope in scopes for s in scope.spans]
    if line.count(b'pans":') != 1 + len(resources) + len(scopes):
        return None
    return spans if _is_all(line, spans, [*(r.resource for r in resources), *(s.scope for s in scopes)]) else None


def read_span(data: bytes) -> Span | None:
    """A span by itself, None where it takes a closer look."""
    try:
        span = _span(data.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return span if _is_all(data, [span]) else None


def raw_spans(line: bytes) -> Iterator[tuple[msgspec.Raw, tuple[bytes, ...]]]:
    """The bytes of each span of an export request that was read, and the resource around it."""
    for resource in _raw_request(line).resourceSpans:
        context = (b'{"resource":' + bytes(resource.resource) + b"}",)
        for scope in resource.scopeSpans:
            for span in scope.spans:
                yield span, context


def tell_times_once(data: bytes, spans: Sequence[Span]) -> bool:
    """Whether there are no more starts and ends than those that were read."""
    return data.count(b'TimeUnixNano":') == 2 * len(spans) - [span.endTimeUnixNano for span in spans].count(None)


def _is_all(data: bytes, spans: Sequence[Span], around: Sequence[Attributed] = ()) -> bool:
    """Whether there are no more attributes than those that were read, each with its key and its value once."""
    if b"\\" in data and b"\\u00" in data and _ESCAPE.search(data):
        return False
    inside = [more for s in spans if s.events or s.links for held in (s.events, s.links) for more in held or ()]
    owners: list[Span | Attributed] = [*spans, *inside, *around]
    lists = [owner.attributes for owner in owners if owner.attributes is not None]
    if data.count(b'"attributes":') != len(lists):
        return False
    count = sum(map(len, lists))
    told = data.count(b'"key":'), data.count(b'"value":')
    if told == (count, count):
        return True
    values = [bytes(a.value) for held in lists for a in held]
    return told == tuple(count + sum(v.count(mark) for v in values) for mark in (b'"key":', b'"value":'))
