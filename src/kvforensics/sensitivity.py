"""What would the numbers be, had one thing been decided otherwise?

Each row is the answer of the judge over the same records with one thing really changed: a rule left out, an edge of the
window moved, the threshold lowered, the zones that somebody stated taken back. It equals a run with that change, as every
record on the model is kept whatever its time and size, and as none of these changes touches what ties records to calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from kvforensics.alias import Aliases
from kvforensics.catalog import query
from kvforensics.counting import recount
from kvforensics.counts import Counts, ResponseCounts, TenantCounts
from kvforensics.coverage import Gap, LogCoverage, cover
from kvforensics.exclusion import ExclusionRule
from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.judge import judge_again, part, without_rule
from kvforensics.store import Store, threads_for

HOUR_US = 3_600_000_000
_LIMITS = pa.schema([
    ("code", pa.string()), ("since_us", pa.int64()), ("until_us", pa.int64()), ("tokens_from", pa.int64()),
    ("tokens_to", pa.int64()),
])  # fmt: skip
Again = Callable[[], Store]


class Variation(Struct, frozen=True):
    """What a run gives with one thing changed. `code` names the change for programs, `change` for readers."""

    code: str
    change: str
    responses: ResponseCounts
    tenants: TenantCounts
    replays: int
    excluded: int


class Run(Struct, frozen=True):
    """The run that is varied. `zoned` are the sources whose times were read in a zone that somebody stated."""

    incident: Incident
    rules: tuple[ExclusionRule, ...]
    aliases: Aliases | None
    counts: Counts
    logs: tuple[LogCoverage, ...]
    zoned: frozenset[str]
    assume_complete: bool
    cleared: tuple[Gap, ...]


def varied(
    store: Store, run: Run, *, memory_bytes: int | None = None, spool: Path | None = None
) -> tuple[Variation, ...]:
    """Every variation of a run that `store` holds the judgement of, the run itself first."""
    records = store.run(query("320_varied_records"))
    excluded = run.counts.excluded
    stated = Variation(
        "as_stated", "nothing changed", run.counts.responses, run.counts.tenants, run.counts.replays, excluded.records
    )
    store.register("varied_records", records)
    with ExitStack() as opened:

        @cache
        def again() -> Store:
            """Where the records are judged again, opened only where anything changes."""
            threads = threads_for(records.num_rows)
            own = opened.enter_context(Store(memory_bytes=memory_bytes, spool=spool, threads=threads))
            for name in ("sources", "labels", "replay_targets"):
                own.register(name, store.relation(name))
            own.register("records", records)
            own.register("varied_records", records)
            part(own, run.incident, "stated_parts")
            return own

        windows = _windows(store, again, run, stated)
        return (stated, *_rules(again, run, stated), *windows, *_zones(again, run, stated, records))


def _rules(again: Again, run: Run, stated: Variation) -> Iterator[Variation]:
    """Each rule left out, and all of them. A rule that takes out nothing changes nothing."""
    matters = {r.rule_id: r.would_be_affected > 0 for r in run.counts.excluded.by_rule}
    if not run.rules:
        return
    sampled = _unbounded(run, run.incident)
    if any(matters.values()):
        store = again()
        judge_again(store, run.incident, run.rules, run.aliases)
        store.create_table_as("all_rule_matches", query("240_rule_matches"))
    for rule in run.rules:
        code, change = f"without_rule:{rule.id}", f"without the exclusion rule {rule.id}"
        if matters[rule.id]:
            without_rule(again(), rule.id)
            yield _counted(again(), code, change, sampled=sampled)
        else:
            yield replace(stated, code=code, change=change)
    code, change = "without_exclusions", "without any exclusion rule"
    if any(matters.values()):
        without_rule(again(), None)
        yield _counted(again(), code, change, sampled=sampled)
    else:
        yield replace(stated, code=code, change=change)


def _windows(store: Store, again: Again, run: Run, stated: Variation) -> Iterator[Variation]:
    """The edges of the window moved, and the threshold at the lower end of the uncertain band."""
    moved = list(_moved_limits(run.incident))
    rows = [
        dict(zip(_LIMITS.names, (code, *_between(_edges(run.incident), _edges(incident)),
                                 *_between(_limits(run.incident), _limits(incident))), strict=True))
        for code, _, incident in moved
    ]  # fmt: skip
    store.register("moved_limits", pa.Table.from_pylist(rows, schema=_LIMITS))
    matter = set(store.run(query("324_limits_that_matter"))["code"].to_pylist())
    for code, change, incident in moved:
        yield _varied(again, run, stated, incident, code, change, matters=code in matter)


def _moved_limits(i: Incident) -> Iterator[tuple[str, str, Incident]]:
    """Code, words and incident of each variation."""
    for code, edge, incident in (
        ("start_1h_earlier", "starts", replace(i, start_us=i.start_us - HOUR_US)),
        ("start_1h_later", "starts", replace(i, start_us=i.start_us + HOUR_US)),
        ("end_1h_earlier", "ends", _ending(i, -HOUR_US)),
        ("end_1h_later", "ends", _ending(i, HOUR_US)),
    ):
        if incident.start_us >= incident.end_us:
            continue
        at = incident.start_us if edge == "starts" else incident.end_us
        tail = " (its tail moves with it)" if edge == "ends" and i.uncertain_until_us > i.end_us else ""
        yield code, f"the window {edge} at {rfc3339(at)}{tail}", incident
    if i.uncertain_from <= i.prompt_tokens_over:
        nodes = tuple(replace(n, prompt_tokens_over=n.uncertain_from - 1) for n in i.nodes)
        lower = replace(i, prompt_tokens_over=i.uncertain_from - 1, nodes=nodes)
        change = f"the threshold is over {i.uncertain_from - 1:,} tokens: the uncertain band counts as over"
        yield "threshold_at_band", change, lower


def _varied(
    again: Again, run: Run, stated: Variation, incident: Incident, code: str, change: str, *, matters: bool
) -> Variation:
    """One variation of the incident; where it changes no part of any record, it changes no number."""
    sampled = _unbounded(run, incident)
    parted = matters and _changes(again, incident)
    if not parted and sampled == _unbounded(run, run.incident):
        return replace(stated, code=code, change=change)
    judge_again(again(), incident, run.rules, run.aliases, parted=parted)
    return _counted(again(), code, change, sampled=sampled)


def _changes(again: Again, varied: Incident) -> bool:
    """Whether any part of any record changes; the relation `parts` is that of the variation then."""
    part(again(), varied)
    return bool(again().run(query("323_parts_changed")).to_pylist()[0]["records"])


def _edges(incident: Incident) -> tuple[int, ...]:
    return incident.start_us, incident.end_us, incident.uncertain_until_us


def _limits(incident: Incident) -> tuple[int, ...]:
    by_node = (limit for n in incident.nodes for limit in (n.uncertain_from, n.prompt_tokens_over))
    return (incident.uncertain_from, incident.prompt_tokens_over, *by_node)


def _between(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int | None, int | None]:
    """The lowest and the highest of the limits that moved, None where none did."""
    moved = [n for pair in zip(before, after, strict=True) if pair[0] != pair[1] for n in pair]
    return (min(moved), max(moved)) if moved else (None, None)


def _ending(incident: Incident, by_us: int) -> Incident:
    return replace(
        incident, end_us=incident.end_us + by_us, uncertain_until_us=incident.uncertain_until_us + by_us
    )  # fmt: skip


def _zones(again: Again, run: Run, stated: Variation, records: pa.Table) -> Iterator[Variation]:
    if not run.zoned:
        return
    code = "without_assumed_zones"
    change = "no zone is stated for times without an offset: every offset in use is tried"
    sampled = _unbounded(replace(run, logs=tuple(_unzoned(log, run.zoned) for log in run.logs)), run.incident)
    if records["unzoned_earliest"].null_count == records.num_rows and sampled == _unbounded(run, run.incident):
        yield replace(stated, code=code, change=change)
        return
    store = again()
    store.register("records", store.run(query("321_unzoned_records")))
    judge_again(store, run.incident, run.rules, run.aliases)
    yield _counted(store, code, change, sampled=sampled)


def _unzoned(log: LogCoverage, zoned: frozenset[str]) -> LogCoverage:
    """The log without instants where its times need the zone: they would be known to within a day only."""
    if not zoned.intersection(log.members):
        return log
    return replace(log, first_us=None, last_us=None, minutes=log.minutes.slice(0, 0))


def _unbounded(run: Run, incident: Incident) -> bool:
    """Whether a sampled log leaves the counts without an upper bound, with this window."""
    return cover(
        run.logs, start_us=incident.start_us, until_us=incident.uncertain_until_us, max_gap_us=incident.max_gap_us,
        assume_complete=run.assume_complete, cleared=run.cleared,
    ).unbounded  # fmt: skip


def _counted(store: Store, code: str, change: str, *, sampled: bool) -> Variation:
    responses, tenants, replays, excluded = recount(store, sampled=sampled)
    return Variation(code, change, responses, tenants, replays, excluded)
