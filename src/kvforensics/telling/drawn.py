"""Which charts does a report have, and which table stands beside each?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.page import (
    Block,
    Cell,
    Column,
    Figure,
    HeatMap,
    Paragraph,
    Section,
    Series,
    Table,
    TimeBars,
    TokenBars,
    quoted,
)
from kvforensics.plural import counted
from kvforensics.telling.survey import HOUR_US, Activity, Survey, TimeCounts, TokenCounts
from kvforensics.telling.thresholds import limits, side
from kvforensics.telling.wording import DISPOSITIONS

Json = Mapping[str, Any]
_SHOWN = ("affected", "possible", "replay", "excluded")
_UNKNOWN_INCIDENT = "The incident file is not part of this case, so its window cannot be drawn."


def timeline(incident: Incident | None, survey: Survey) -> Section:
    """Requests on the model and findings over time, against the window and the incident's events."""
    if incident is None or survey.on_model is None:
        return Section("timeline", "Timeline", (Paragraph((_UNKNOWN_INCIDENT,), "note"),))
    return Section("timeline", "Timeline", tuple(_timeline(incident, survey, survey.on_model)))


def _timeline(incident: Incident, survey: Survey, requests: TimeCounts) -> Iterator[Block]:
    edges = requests.edges_us
    width = _length(edges[1] - edges[0])
    found = tuple(Series(DISPOSITIONS[name], survey.found[name].counts) for name in _SHOWN)
    busiest = max(range(len(requests.counts)), key=lambda i: requests.counts[i])
    flagged = sum(sum(s.counts) for s in found[:3])
    alt = (
        f"Two bar charts over the same time, {width} a bar, from {rfc3339(edges[0])} to {rfc3339(edges[-1])}. The window, "
        f"{rfc3339(incident.start_us)} to {rfc3339(incident.end_us)}, is shaded. Above: requests on the model, "
        f"{sum(requests.counts):,} in all, at most {requests.counts[busiest]:,} a bar, from {rfc3339(edges[busiest])}. "
        f"Below: findings, of which {flagged:,} are flagged. The table beside the chart has every number."
    )
    chart = TimeBars(
        "chart-timeline", "Requests on the model and findings over time", alt, edges,
        ((f"Requests on the model, {width} a bar", (Series("Requests", requests.counts),)),
         (f"Findings, {width} a bar", found)),
        (incident.start_us, incident.end_us), incident.uncertain_until_us, tuple(at for at, _ in incident.timeline),
    )  # fmt: skip
    columns = (Column("from_utc", "From (UTC)"), Column("requests", "Requests"),
               *(Column(name, DISPOSITIONS[name]) for name in _SHOWN))  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (rfc3339(edges[i]), count, *(s.counts[i] for s in found))
        for i, count in enumerate(requests.counts)
        if count or any(s.counts[i] for s in found)
    ]
    for name in ("before", "after", "unknown"):
        cells = (getattr(requests, name), *(getattr(survey.found[key], name) for key in _SHOWN))
        if any(cells):
            rows.append(({"before": "before", "after": "after", "unknown": "start not known"}[name], *cells))
    yield Paragraph((
        "A request whose start is known only roughly is drawn at its earliest possible start. Bars without a request are "
        "left out of the table.",
    ))  # fmt: skip
    yield Figure(chart, Table("timeline-data", f"Requests and findings, {width} a row", columns, tuple(rows)))
    if incident.timeline:
        columns = (Column("number", "Number"), Column("at_utc", "At (UTC)"), Column("what", "Event", wide=True))
        events = tuple((n, rfc3339(at), quoted(what)) for n, (at, what) in enumerate(incident.timeline, 1))
        yield Table("timeline-events", "The incident's events, numbered as in the chart", columns, events)


def prompts(incident: Incident | None, counts: TokenCounts | None) -> Section:
    """How long prompts were, around the threshold."""
    if incident is None or counts is None:
        return Section("prompts", "Prompt lengths", (Paragraph((_UNKNOWN_INCIDENT,), "note"),))
    over = incident.prompt_tokens_over
    known = sum(counts.counts) + counts.longer
    above = sum(n for edge, n in zip(counts.edges, counts.counts, strict=False) if edge > over) + counts.longer
    of = " of nodes without their own" if incident.nodes else ""
    alt = (
        f"Two bar charts of prompt lengths of requests on the model, the whole range above and close to the threshold below. "
        f"The threshold{of}, {over:,} tokens, is a dashed line. {above:,} of {known:,} known lengths are over it. The table "
        "beside the chart has every number."
    )
    chart = TokenBars(
        "chart-prompts", "Prompt lengths around the threshold", alt,
        (("All lengths", counts.edges, counts.counts), ("Close to the threshold", counts.close_edges, counts.close_counts)),
        over, incident.uncertain_from,
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (f"{edge:,} to {counts.edges[i + 1] - 1:,}", n, side(incident, edge, counts.edges[i + 1] - 1))
        for i, (edge, n) in enumerate(zip(counts.edges, counts.counts, strict=False)) if n
    ]  # fmt: skip
    rows += [
        (f"close: {edge:,} to {counts.close_edges[i + 1] - 1:,}", n, side(incident, edge, counts.close_edges[i + 1] - 1))
        for i, (edge, n) in enumerate(zip(counts.close_edges, counts.close_counts, strict=False)) if n
    ]  # fmt: skip
    for name, n in (("longer", counts.longer), ("only bounds known", counts.bounded), ("not known", counts.unknown)):
        if n:
            rows.append((name, n, side(incident, counts.edges[-1], None) if name == "longer" else None))
    columns = (Column("tokens", "Prompt tokens"), Column("requests", "Requests"), Column("side", "Threshold", "not told"))
    band = (
        f" From {incident.uncertain_from:,} up to {over:,} nobody can say." if incident.uncertain_from <= over else ""
    )
    text = f"Requests on the model at any time, by the length of their prompt. Over means more than {over:,} tokens.{band}"
    if incident.nodes:
        low, high = limits(incident)
        text = (
            "Requests on the model at any time, by the length of their prompt. The threshold was each node's own: more than "
            f"{low:,} to {high:,} tokens. The line is that of nodes without one."
        )
    return Section(
        "prompts", "Prompt lengths",
        (Paragraph((text,)), Figure(chart, Table("prompts-data", "Requests by prompt length", columns, tuple(rows)))),
    )  # fmt: skip


def heat_map(incident: Incident, activity: Activity, gaps_us: tuple[tuple[int, int], ...]) -> Iterator[Block]:
    """When each source has records, as a picture and in numbers."""
    if not activity.rows:
        yield Paragraph(("No source has a record with a known time near the window.",), "note")
        return
    width = _length(activity.edges_us[1] - activity.edges_us[0])
    labels = tuple(f"S{n}" for n in range(1, len(activity.rows) + 1))
    window = (incident.start_us, incident.end_us)
    inside = [i for i, e in enumerate(activity.edges_us[:-1])
              if e + activity.edges_us[1] - activity.edges_us[0] > window[0] and e < incident.uncertain_until_us]  # fmt: skip
    stretches = "1 stretch that no log covers is" if len(gaps_us) == 1 else f"{len(gaps_us):,} stretches that no log covers are"
    alt = (
        f"A grid with a row for each of {counted(len(labels), 'source')} and a column for each {width.removeprefix('1 ')}. "
        f"The darker a cell, the more of its minutes have a record; empty cells have none. "
        f"{stretches} hatched. The table beside it has every row in numbers."
    )
    chart = HeatMap(
        "chart-coverage", "When each source has records", alt, activity.edges_us, labels,
        tuple(row.shares for row in activity.rows), window, incident.uncertain_until_us, gaps_us,
    )  # fmt: skip
    columns = (
        Column("row", "Row"), Column("source", "Source", wide=True), Column("files", "Files"),
        Column("busy", f"{width.removeprefix('1 ').capitalize()}s of the window with records"),
        Column("silence", "Longest silence in it"),
        Column("first_utc", "First record, hour of (UTC)"), Column("last_utc", "Last record, hour of (UTC)"),
    )  # fmt: skip
    rows = tuple(
        (
            label, quoted(row.name), row.files, f"{sum(row.shares[i] > 0 for i in inside):,} of {len(inside):,}",
            _length(_silence(row.shares, inside) * (activity.edges_us[1] - activity.edges_us[0])),
            rfc3339(row.first_us), rfc3339(row.last_us - HOUR_US),
        )
        for label, row in zip(labels, activity.rows, strict=True)
    )  # fmt: skip
    if not activity.of_all:
        yield Paragraph(("This older case tells only when records on the model came, so an empty cell is no gap.",), "note")
    yield Figure(chart, Table("coverage-sources", "When each source has records", columns, rows))
    if activity.undrawn:
        yield Paragraph((f"{counted(activity.undrawn, 'further row')} with fewer records are not drawn.",), "note")


def _silence(shares: tuple[float, ...], inside: list[int]) -> int:
    longest = run = 0
    for i in inside:
        run = 0 if shares[i] > 0 else run + 1
        longest = max(longest, run)
    return longest


def _length(us: int) -> str:
    minutes = us // 60_000_000
    for size, name in ((1440, "day"), (60, "hour")):
        if minutes >= size and minutes % size == 0:
            return counted(minutes // size, name)
    return counted(minutes, "minute")
