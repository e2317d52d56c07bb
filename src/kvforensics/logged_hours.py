"""In which hours of the window is there evidence of logging, for each source and each node?

Silences against a source's own habit, files that are missing by their names, times between Logpush files, nodes that fall
silent while others go on. Gaps here are evidence to weigh; whether the window counts as covered is `coverage`'s to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kvforensics.catalog import query
from kvforensics.coverage import Coverage
from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.name_gaps import Hole, holes, logpush_spans, stream_of
from kvforensics.silence import HOUR_MINUTES, MINUTE_US, Gap, Presence, gaps, hours_with_evidence, together
from kvforensics.spans import Span, subtract, union
from kvforensics.store import Store

MOST_SOURCES, MOST_NODES, MOST_GAPS, MOST_NAMES = 500, 500, 100, 100
Json = dict[str, Any]


def streams(presences: Sequence[Presence]) -> tuple[Presence, ...]:
    """The sources that belong together by their names, such as the monthly files of one node, as one each."""
    grouped: dict[str, list[Presence]] = {}
    for presence in presences:
        grouped.setdefault(stream_of(presence.name), []).append(presence)
    return tuple(together(name, members) for name, members in sorted(grouped.items()))


def missing_files(presences: Sequence[Presence]) -> tuple[Hole, ...]:
    """Holes in the numbers and dates of the sources that were understood."""
    return holes([p.name for p in presences])


def logged_hours(
    store: Store, incident: Incident, coverage: Coverage, presences: Sequence[Presence], *, whole: bool
) -> Json:
    """The object `coverage` of the estimate; nodes only where the `whole` of the records was kept."""
    start, until = incident.start_us, incident.uncertain_until_us
    found = streams(presences)
    nodes = _nodes(store) if whole else ()
    minutes = {m for p in presences for m in p.minutes.to_pylist()}
    absent = [*missing_files(presences), *holes([f"node {n.name}" for n in nodes])]
    named = _between_names(presences, start, until)
    return {
        "window_hours": -(-(until - start) // (HOUR_MINUTES * MINUTE_US)),
        "hours_with_evidence": hours_with_evidence(minutes, start, until),
        "window_covered": coverage.window_covered,
        "sources": [_presence(p, start, until, named.get(p.name, ())) for p in found[:MOST_SOURCES]],
        "more_sources": max(0, len(found) - MOST_SOURCES),
        "nodes": [_presence(p, start, until, ()) for p in nodes],
        "more_nodes": 0,
        "sequence_holes": [
            {"pattern": h.pattern, "missing": list(h.missing[:MOST_NAMES]), "more": max(0, len(h.missing) - MOST_NAMES)}
            for h in absent
        ],
        "blind_spots": [{"log": j.log, "reasons": list(j.shortcomings)} for j in coverage.logs if j.shortcomings],
    }


def dark_spans(incident: Incident, coverage: Coverage, presences: Sequence[Presence]) -> tuple[Span, ...]:
    """The times of the window without evidence in any source: what no log covers, and what all of them together miss."""
    whole = together("all", presences) if presences else None
    silent = gaps(whole, incident.start_us, incident.uncertain_until_us) if whole else ()
    return union([*coverage.gaps, *((g.start_us, g.until_us) for g in silent)])


def _nodes(store: Store) -> tuple[Presence, ...]:
    table = store.run(query("332_node_minutes"), {"most": MOST_NODES})
    by_node: dict[str, list[int]] = {}
    for batch in table.to_batches():
        for node, minute in zip(batch["node"].to_pylist(), batch["minute"].to_pylist(), strict=True):
            by_node.setdefault(node, []).append(minute)
    return tuple(
        Presence(node, pa.array(m, type=pa.int64()), len(m), m[0] * MINUTE_US, (m[-1] + 1) * MINUTE_US - 1)
        for node, m in by_node.items()
    )


def _between_names(presences: Sequence[Presence], start: int, until: int) -> Mapping[str, tuple[Gap, ...]]:
    """The times between Logpush files: each is named by the start and the end of what it holds."""
    grouped: dict[str, list[str]] = {}
    for presence in presences:
        grouped.setdefault(stream_of(presence.name), []).append(presence.name)
    found = {}
    for name, sources in grouped.items():
        spans = union(logpush_spans(sources))
        if spans:
            inside = subtract(((max(start, spans[0][0]), min(until, spans[-1][1])),), spans)
            found[name] = tuple(Gap(a, b, "log_names", "no file is named for this time") for a, b in inside)
    return found


def _presence(presence: Presence, start: int, until: int, named: Sequence[Gap]) -> Json:
    every = sorted((*gaps(presence, start, until), *named), key=lambda g: (g.start_us, g.until_us, g.detector))
    return {
        "name": presence.name,
        "files": presence.files,
        "records": presence.records,
        "first": None if presence.first_us is None else rfc3339(presence.first_us),
        "last": None if presence.last_us is None else rfc3339(presence.last_us),
        "hours": hours_with_evidence(presence.minutes.to_pylist(), start, until),
        "gaps": [
            {
                "from": rfc3339(g.start_us),
                "until": rfc3339(g.until_us),
                "minutes": -(-(g.until_us - g.start_us) // MINUTE_US),
                "detector": g.detector,
                "detail": g.detail,
            }
            for g in every[:MOST_GAPS]
        ],
        "more_gaps": max(0, len(every) - MOST_GAPS),
    }
