"""What do the dispositions of all records add up to?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from kvforensics.catalog import Query, Value, query
from kvforensics.counts import Counts, ExcludedCounts, OutsideCounts, ResponseCounts, RuleCount, Settled, TenantCounts
from kvforensics.errors import EvidenceError
from kvforensics.exclusion import ExclusionRule
from kvforensics.plural import counted
from kvforensics.store import Store

Ask = Callable[[str], Query]


def recount(store: Store, *, sampled: bool) -> tuple[ResponseCounts, TenantCounts, int, int]:
    """Responses, tenants, replays and excluded responses of the dispositions as they stand."""
    return _recounted(*_summed(store, query), sampled=sampled)


def _summed(store: Store, ask: Ask) -> tuple[dict[str, int], dict[str, int]]:
    return one_row(store, ask, "301_responses"), one_row(store, ask, "302_tenants")


def _recounted(
    r: dict[str, int], t: dict[str, int], *, sampled: bool
) -> tuple[ResponseCounts, TenantCounts, int, int]:
    upper = r["affected"] + r["possible"] + r["replays"] + r["guessed"]
    return (
        ResponseCounts(r["affected"], r["possible"], r["affected"], None if sampled else upper),
        TenantCounts(t["affected"], t["possible"], t["lower"], None if sampled else t["upper"], t["unknown_records"]),
        r["replays"],
        r["excluded"],
    )


def one_row(store: Store, ask: Ask, stem: str, parameters: dict[str, Value] | None = None) -> dict[str, int]:
    """The only row of the answer of a query."""
    row: dict[str, int] = store.run(ask(stem), parameters).to_pylist()[0]
    return row


def count_all(
    store: Store, ask: Ask, rules: Sequence[ExclusionRule], off_model_dropped: int, settled: Settled, *, sampled: bool
) -> Counts:
    """All counts. Raises `EvidenceError` where they do not come to the number of records that were read."""
    r, t = _summed(store, ask)
    responses, tenants, _, _ = _recounted(r, t, sampled=sampled)
    outside = OutsideCounts(**one_row(store, ask, "303_outside", {"off_model_dropped": off_model_dropped}))
    outside = replace(outside, **{part: getattr(outside, part) + n for part, n in settled._asdict().items()})
    by_rule = tuple(_by_rule(store, ask)) if rules else ()
    records = r["records"] + off_model_dropped + sum(settled)
    flagged = r["affected"] + r["possible"] + r["replays"] + r["excluded"] + r["duplicates"]
    if flagged + outside.total != records:
        raise EvidenceError(f"{records} records were read, but {flagged + outside.total} are counted")
    return Counts(
        responses=responses,
        tenants=tenants,
        excluded=ExcludedCounts(r["excluded"], t["excluded"], by_rule),
        duplicates=r["duplicates"],
        guessed_duplicates=r["guessed"],
        replays=r["replays"],
        outside=outside,
        records=records,
    )


def warnings_of(store: Store, ask: Ask, counts: Counts) -> list[tuple[str, str]]:
    """What a reader has to know of rules and records, as (code, message)."""
    found: list[tuple[str, str]] = []
    for rule in counts.excluded.by_rule:
        if rule.straddling:
            found.append((
                "rule_validity_straddles",
                f"rule {rule.rule_id}: {rule.straddling} records may have started inside or outside its validity, "
                "and were not matched",
            ))  # fmt: skip
        if not rule.hits:
            found.append(("rule_matched_nothing", f"rule {rule.rule_id} matched no record that may be on the model"))
    d = one_row(store, ask, "306_disagreements")
    if d["calls"]:
        parts = ", ".join(f"{k} {d[k]}" for k in ("on_model", "in_window", "over_threshold", "served") if d[k])
        found.append(("records_disagree", f"records of {d['calls']} calls contradict each other ({parts})"))
    if counts.guessed_duplicates:
        found.append((
            "possible_duplicate_without_id",
            f"{counted(counts.guessed_duplicates, 'record')} may be another one again, but no id ties them; the upper bound "
            "counts them",
        ))  # fmt: skip
    return found


def _by_rule(store: Store, ask: Ask) -> Iterator[RuleCount]:
    overlaps: dict[str, list[tuple[str, int]]] = {}
    for row in store.run(ask("305_rule_overlaps")).to_pylist():
        overlaps.setdefault(row["rule_id"], []).append((row["other_id"], row["records"]))
    for row in store.run(ask("304_rules")).to_pylist():
        yield RuleCount(**row, overlaps=tuple(overlaps.get(row["rule_id"], ())))
