"""Where are the spans and log records of OpenTelemetry, in a document or in a line?

A line may be one export request with many spans, and every span is a unit of the ledger.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from kvforensics.envelope import Unit
from kvforensics.framing_json import Reject, json_units
from kvforensics.spec import Format

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
EXPORTS = frozenset(("resourceSpans", "resource_spans", "batches", "resourceLogs"))
"""The names of which an export request has one."""
_MARKS = tuple(f'"{name}"'.encode() for name in sorted(EXPORTS))


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
