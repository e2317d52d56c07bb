"""What do the attributes of many spans of OTLP JSON say, as columns?

Only attributes that are asked for are looked at, and of these only plain values are understood: text, whole numbers. What
is anything else is told apart, so that its span can have a closer look.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from kvforensics.views import hex_id

MAX_TEXTS = 1 << 15
ODD: Any = object()
"""What stands for a value that is not plain."""
_TEXT = re.compile(
    rb'\{\s*+"(?:stringValue"\s*+:\s*+"([^"\\]*+)"|intValue"\s*+:\s*+(?:"(-?[0-9]++)"|(0|-?[1-9][0-9]*+)))\s*+\}'
)
_COUNTS = re.compile(rb'(?:\{\s*+"intValue"\s*+:\s*+(?:"[0-9]{1,18}+"|[0-9]{1,18}+)\s*+\},)*+')
_DIGITS = re.compile(rb"[0-9]++")
_COUNT = re.compile(_COUNTS.pattern[3:-4])
_NO_DIGITS = b' \t\r\n{}":intValue'
_ZERO = frozenset((0, "0", ""))
_BASE64 = {12, 24}
"""How long ids in base64 are."""


class Never(msgspec.Struct):
    """What no value is of."""

    never: None = msgspec.field(name=secrets.token_hex(12))


class Attribute(msgspec.Struct, gc=False):
    """An attribute, its value as it is written."""

    key: str
    value: msgspec.Raw


class Attributed(msgspec.Struct, frozen=True, gc=False):
    """What else may have attributes: a resource, a scope, an event, a link."""

    attributes: list[Attribute] | None = None


class Span(msgspec.Struct, gc=False):
    """A span; one with fields by which other writers say the same is none."""

    traceId: str  # noqa: N815 - the names of the log
    spanId: str  # noqa: N815
    startTimeUnixNano: str | int  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    endTimeUnixNano: str | int | None = None  # noqa: N815
    traceState: str | None = None  # noqa: N815
    attributes: list[Attribute] | None = None
    events: list[Attributed] | None = None
    links: list[Attributed] | None = None
    timeUnixNano: Never | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    observedTimeUnixNano: Never | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    trace_id: Never | msgspec.UnsetType = msgspec.UNSET
    span_id: Never | msgspec.UnsetType = msgspec.UNSET
    parent_span_id: Never | msgspec.UnsetType = msgspec.UNSET
    trace_state: Never | msgspec.UnsetType = msgspec.UNSET
    start_time_unix_nano: Never | msgspec.UnsetType = msgspec.UNSET
    end_time_unix_nano: Never | msgspec.UnsetType = msgspec.UNSET
    time_unix_nano: Never | msgspec.UnsetType = msgspec.UNSET
    observed_time_unix_nano: Never | msgspec.UnsetType = msgspec.UNSET


class Column(NamedTuple):
    """What spans say in one place."""

    values: list[Any]
    plain: bool = True
    """Whether none of the values is `ODD`."""


class Texts:
    """Reads the values of attributes as texts; each that is written alike only once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def column(self, values: Iterable[msgspec.Raw]) -> Column:
        """The text of each value, `ODD` where it is none."""
        written = list(map(bytes, values))
        known = self._known
        distinct = set(written)
        new = distinct.difference(known)
        if len(known) + len(new) > MAX_TEXTS:
            known.clear()
            new = distinct
        for value in new:
            found = _TEXT.fullmatch(value)
            known[value] = ODD if found is None else next(g for g in found.groups() if g is not None).decode()
        return Column([known[value] for value in written], all(known[value] is not ODD for value in distinct))


def counts(values: Sequence[msgspec.Raw]) -> Column:
    """The number of each value, `ODD` where it is no plain count."""
    text = b",".join(values) + b","
    if _COUNTS.fullmatch(text):
        return Column(list(map(int, _DIGITS.findall(text))))
    told = [int(v.strip(_NO_DIGITS)) if _COUNT.fullmatch(v) else ODD for v in map(bytes, values)]
    return Column(told, plain=False)


def ids(texts: list[str | None]) -> Column:
    """Ids of traces and spans as they are compared."""
    told = [text for text in texts if text]
    if len(told) == len(texts) and _BASE64.isdisjoint(map(len, told)):
        every = "".join(told)
        return Column(texts if every == every.lower() else [text.lower() for text in told])
    return Column([hex_id(text) for text in texts] if told else [None] * len(texts))


def own_ids(texts: list[str | None]) -> Column:
    """Ids that every span has; `ODD` where there is none."""
    found = ids(texts)
    return Column([text or ODD for text in found.values], plain=False) if None in found.values else found


def starts(times: list[str | int]) -> Column:
    """Times that every span has; zero is how OTLP says that it does not know, and `ODD`."""
    return Column(times) if _ZERO.isdisjoint(times) else Column([ODD if t in _ZERO else t for t in times], plain=False)


def ends(times: list[str | int | None]) -> Column:
    """Times that a span may have."""
    return Column([None if time in _ZERO else time for time in times])


def states(texts: list[str | None]) -> Column:
    """What spans say of their sampling takes a closer look."""
    return Column([ODD if text else None for text in texts], plain=False) if any(texts) else Column(texts)
