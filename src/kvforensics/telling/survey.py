"""What do the records and findings of a case look like when they are counted?

One pass over each table, batch by batch: memory grows with the number of tenants and sources, not with the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa
from msgspec import Struct

from kvforensics.case_reader import StoredCase
from kvforensics.incident import Incident

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
BARS = 72
"""The most bars a time chart has."""
COLUMNS = 800
ROWS = 40
"""The most rows a heat map has; more sources are joined by format and folder, and the busiest are drawn."""
ORDER = ("affected", "possible", "replay", "excluded", "duplicate")
"""Dispositions, the most serious first."""
_STEPS = (
    5 * MINUTE_US, 15 * MINUTE_US, HOUR_US, 3 * HOUR_US, 6 * HOUR_US, 12 * HOUR_US, DAY_US, 2 * DAY_US, 7 * DAY_US,
    28 * DAY_US,
)  # fmt: skip


class TimeCounts(Struct, frozen=True):
    """Counts in the intervals between `edges_us`, and of what lies before, after, or has no known start."""

    edges_us: tuple[int, ...]
    counts: tuple[int, ...]
    before: int
    after: int
    unknown: int


class TokenCounts(Struct, frozen=True):
    """Counts of records with a known prompt between `edges`, of those of which only bounds are known, and of the rest."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    close_edges: tuple[int, ...]
    close_counts: tuple[int, ...]
    longer: int
    bounded: int
    unknown: int


class TenantCounts(Struct, frozen=True):
    """One tenant's findings by disposition, and the first and last possible start of those that are flagged."""

    tenant: str | None
    counts: Mapping[str, int]
    first_us: int | None
    last_us: int | None


class SourceActivity(Struct, frozen=True):
    """The share of minutes with a record in each interval, for one source or several that were joined."""

    name: str
    files: int
    shares: tuple[float, ...]
    first_us: int
    last_us: int


class Activity(Struct, frozen=True):
    """When sources have records.

    `undrawn` counts the rows that did not fit; `of_all` is false where only records on the model are known.
    """

    edges_us: tuple[int, ...]
    rows: tuple[SourceActivity, ...]
    undrawn: int
    of_all: bool


class Survey(Struct, frozen=True):
    """Everything that is counted. The charts' parts are None where the incident is not known."""

    dispositions: Mapping[str, int]
    tenants: tuple[TenantCounts, ...]
    on_model: TimeCounts | None
    found: Mapping[str, TimeCounts]
    prompts: TokenCounts | None
    activity: Activity | None


def survey(case: StoredCase, incident: Incident | None) -> Survey:
    """Count a case."""
    view = None if incident is None else _view(incident, BARS)
    dispositions: Counter[str] = Counter()
    tenants: dict[str | None, dict[str, Any]] = {}
    times = {} if view is None else {name: _Times(view) for name in ORDER[:4]}
    for batch in case.findings(["disposition", "tenant", "started_earliest", "started_latest"]):
        frame = _frame(batch).with_columns(
            pl.col("started_earliest").dt.epoch("us"), pl.col("started_latest").dt.epoch("us")
        )
        for (name,), part in frame.group_by(["disposition"], maintain_order=True):
            dispositions[str(name)] += part.height
            if str(name) in times:
                times[str(name)].add(part["started_earliest"])
        _add_tenants(tenants, frame)
    on_model, prompts = None, None
    if incident is not None and view is not None:
        on_model, prompts = _on_model(case, incident, view)
    return Survey(
        dispositions={name: dispositions[name] for name in ORDER},
        tenants=tuple(sorted((_tenant(name, seen) for name, seen in tenants.items()), key=_rank)),
        on_model=on_model,
        found={name: one.counts() for name, one in times.items()},
        prompts=prompts,
        activity=None if incident is None else _activity(case, incident),
    )


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    if not isinstance(frame, pl.DataFrame):  # pragma: no cover - a batch of records is a frame
        raise TypeError
    return frame


def _view(incident: Incident, most: int) -> tuple[int, ...]:
    """The edges of the intervals in which a chart shows the window and a tenth of it, at least a day, around it."""
    start, end = incident.start_us, incident.uncertain_until_us
    margin = max(DAY_US, (end - start) // 10)
    span = end - start + 2 * margin
    step = next((s for s in _STEPS if span / s <= most), -(-span // most))
    low = (start - margin) // step
    high = -(-(end + margin) // step)
    return tuple(edge * step for edge in range(low, high + 1))


class _Times:
    """Counts instants between edges of equal distance."""

    def __init__(self, edges: tuple[int, ...]) -> None:
        self._edges = edges
        self._step = edges[1] - edges[0]
        self._counts: Counter[int] = Counter()
        self._unknown = 0

    def add(self, instants: pl.Series) -> None:
        self._unknown += instants.null_count()
        known = pl.DataFrame({"us": instants.drop_nulls()})
        places = known.select(((pl.col("us") - self._edges[0]) // self._step).clip(-1, len(self._edges) - 1).alias("place"))
        for place, count in places.group_by("place").len().iter_rows():
            self._counts[place] += count

    def counts(self) -> TimeCounts:
        last = len(self._edges) - 1
        return TimeCounts(
            self._edges, tuple(self._counts[i] for i in range(last)), self._counts[-1], self._counts[last], self._unknown
        )


def _add_tenants(tenants: dict[str | None, dict[str, Any]], frame: pl.DataFrame) -> None:
    grouped = frame.group_by("tenant", "disposition").agg(
        pl.len(), pl.col("started_earliest").min().alias("first"), pl.col("started_latest").max().alias("last")
    )
    for tenant, disposition, count, first, last in grouped.iter_rows():
        seen = tenants.setdefault(tenant, {"counts": Counter(), "first": None, "last": None})
        seen["counts"][disposition] += count
        if disposition in ORDER[:3]:
            seen["first"] = min((t for t in (seen["first"], first) if t is not None), default=None)
            seen["last"] = max((t for t in (seen["last"], last) if t is not None), default=None)


def _tenant(name: str | None, seen: Mapping[str, Any]) -> TenantCounts:
    return TenantCounts(name, {key: seen["counts"][key] for key in ORDER}, seen["first"], seen["last"])


def _rank(tenant: TenantCounts) -> tuple[Any, ...]:
    return (*(-tenant.counts[name] for name in ORDER), tenant.tenant is None, tenant.tenant or "")


def _on_model(case: StoredCase, incident: Incident, view: tuple[int, ...]) -> tuple[TimeCounts, TokenCounts]:
    times = _Times(view)
    top = incident.context_length or 2 * incident.prompt_tokens_over
    # One edge lies right above the threshold, so that no bar holds both sides of it.
    middle = incident.prompt_tokens_over + 1
    step, close = _nice(top / 60), _nice(incident.prompt_tokens_over / 400)
    base = middle - -(-middle // step) * step
    edges = (0, *range(base + step, top + step, step))
    close_edges = tuple(middle + close * i for i in range(-20, 21) if middle + close * i >= 0)
    counts, close_counts, longer, bounded, unknown = Counter[int](), Counter[int](), 0, 0, 0
    wanted = ["model_match", "started_earliest", "prompt_tokens_min", "prompt_tokens_max"]
    for batch in case.records(wanted):
        frame = _frame(batch).filter(pl.col("model_match").fill_null(value=True))
        times.add(frame["started_earliest"])
        low, high = pl.col("prompt_tokens_min"), pl.col("prompt_tokens_max")
        known = frame.filter(low == high)
        vague = frame.filter(low.ne_missing(high))
        bounded += vague.height
        unknown += frame.height - known.height - vague.height
        longer += known.filter(low >= edges[-1]).height
        for target, edge, width in ((counts, base, step), (close_counts, close_edges[0], close)):
            for place, count in known.group_by(((low - edge) // width).alias("place")).len().iter_rows():
                target[place] += count
    return times.counts(), TokenCounts(
        edges, tuple(counts[i] for i in range(len(edges) - 1)),
        close_edges, tuple(close_counts[i] for i in range(len(close_edges) - 1)), longer, bounded, unknown,
    )  # fmt: skip


def _nice(value: float) -> int:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10 ** (len(str(max(1, int(value)))) - 1)
    return next(int(power * f) for f in (1, 2, 2.5, 5, 10, 20) if power * f >= value and power * f == int(power * f))


def _activity(case: StoredCase, incident: Incident) -> Activity:
    edges = _view(incident, COLUMNS)
    if len(edges) > 1 and edges[1] - edges[0] < HOUR_US:
        edges = tuple(range(edges[0] // HOUR_US * HOUR_US, edges[-1] + HOUR_US, HOUR_US))
    formats = {entry["source"]: entry["format"] for entry in case.summary["inputs"] if entry["records"]}
    frame = pl.concat([_EMPTY, *_hours(case)]).filter(pl.col("source").is_in(list(formats)))
    names = frame["source"].unique().to_list()
    joined = len(names) > ROWS
    group = {name: f"{formats[name]}: {name.split('/')[0]}/" if joined else name for name in names}
    frame = frame.with_columns(pl.col("source").replace_strict(group, return_dtype=pl.String).alias("row"))
    files = Counter(group.values())
    rows = [
        _source(str(row), files[str(row)], part, edges)
        for (row,), part in frame.sort("row", "hour").group_by(["row"], maintain_order=True)
    ]
    place = {source: number for number, source in reversed(list(enumerate(group.get(s, "") for s in formats)))}
    rows.sort(key=lambda row: place[row.name])
    if len(rows) > ROWS:
        kept = {row.name for row in sorted(rows, key=lambda row: (-sum(row.shares), row.name))[:ROWS]}
        return Activity(edges, tuple(r for r in rows if r.name in kept), len(rows) - ROWS, case.has_activity())
    return Activity(edges, tuple(rows), 0, case.has_activity())


_EMPTY = pl.DataFrame(schema={"source": pl.String, "hour": pl.Int64, "minutes": pl.Int64})


def _hours(case: StoredCase) -> Iterator[pl.DataFrame]:
    if case.has_activity():
        for batch in case.activity():
            yield _frame(batch).select("source", pl.col("hour").dt.epoch("us"), pl.col("minutes").cast(pl.Int64))
        return
    # An older case: only the records on the model, and of each only the minute of its first possible start.
    for batch in case.records(["source", "started_earliest"]):
        yield (
            _frame(batch)
            .drop_nulls()
            .group_by("source", (pl.col("started_earliest") // HOUR_US * HOUR_US).alias("hour"))
            .agg((pl.col("started_earliest") // MINUTE_US).n_unique().cast(pl.Int64).alias("minutes"))
        )


def _source(name: str, files: int, part: pl.DataFrame, edges: tuple[int, ...]) -> SourceActivity:
    """Files that were joined are as busy as the busiest of them in each hour: a lower bound of all together."""
    step = edges[1] - edges[0]
    hours = part.group_by("hour").agg(pl.col("minutes").max())
    hours = hours.with_columns(((pl.col("hour") - edges[0]) // step).alias("place"))
    shares = dict(hours.group_by("place").agg(pl.col("minutes").sum()).iter_rows())
    possible = step // MINUTE_US
    seen = hours["hour"].to_list()
    return SourceActivity(
        name, files, tuple(min(1.0, shares.get(i, 0) / possible) for i in range(len(edges) - 1)), min(seen), max(seen) + HOUR_US
    )
