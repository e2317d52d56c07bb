"""How many responses and tenants, in five layers that are never mixed, and how sure is each number?

Joins what the modules of sizing find out into the object `estimate` of the summary (`schemas/summary.schema.json` is its
shape). In this order: observed, worst case, sampling, coverage, and, where asked for, scaling over gaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from msgspec import Struct, to_builtins

from kvforensics.aggregates import shown
from kvforensics.alias import Aliases
from kvforensics.beyond import scaled, two_sources
from kvforensics.catalog import query
from kvforensics.corroboration import corroborate
from kvforensics.coverage import Coverage
from kvforensics.estimate import LEVEL, Number, Stratum, told
from kvforensics.exclusion import ExclusionRule
from kvforensics.gather import Ingested
from kvforensics.globs import fits
from kvforensics.incident import Incident
from kvforensics.judge import Judgement
from kvforensics.logged_hours import dark_spans, logged_hours
from kvforensics.observed import InputReport
from kvforensics.published import agreement
from kvforensics.sampling import Rated, Sampled, estimated, rate_of, stratum_number
from kvforensics.sensitivity import Variation
from kvforensics.store import Store
from kvforensics.sums import SumBounds
from kvforensics.who import breakdowns, tenant_table
from kvforensics.worst_case import bounds

SCHEMA = "kvforensics.estimate/1"
Json = dict[str, Any]
MOST_IN_PAIRS = 20_000
MOST_PAIRS = 200_000
"""Comparing each of so many calls with each other one still takes seconds."""


class SizingOptions(Struct, frozen=True):
    """What the analyst states. `sampled_by` is what the samplers drew, `request` or `tenant`.

    `two_sources` are the globs of two logs of the same traffic; `assume_independent` is their independence, which nothing in
    a log can show; `scale_gaps` asks for scaling over gaps.
    """

    rates: tuple[Rated, ...] = ()
    sampled_by: str = "request"
    two_sources: tuple[str, str] | None = None
    assume_independent: bool = False
    scale_gaps: bool = False


class Judged(Struct, frozen=True):
    """Everything that was found out before sizing.

    `whole` is whether all records on the model were kept: what a node's habit is, or how fast prompts are read, the few that
    may be flagged do not tell.
    """

    incident: Incident
    rules: tuple[ExclusionRule, ...]
    aliases: Aliases | None
    ingested: Ingested
    coverage: Coverage
    judgement: Judgement
    sums: tuple[SumBounds, ...]
    variations: tuple[Variation, ...]
    whole: bool


def _pairs(store: Store, affected: int) -> list[tuple[int, int]] | None:
    """Affected calls that may be one, None where there are too many to look at in pairs."""
    if affected > MOST_IN_PAIRS:
        return None
    pairs = [(r["one"], r["other"]) for r in store.run(query("317_may_be_one"), {"most": MOST_PAIRS + 1}).to_pylist()]
    return None if len(pairs) > MOST_PAIRS else pairs


def size(store: Store, judged: Judged, options: SizingOptions) -> Json:
    """The object `estimate`. `store` holds the judgement."""
    ingested, counts = judged.ingested, judged.judgement.counts
    _register(store, ingested, options)
    store.create_table_as("flagged_calls", query("310_flagged_calls"))
    seen = store.run(query("315_tenant_sightings")).to_pylist()
    pairs = _pairs(store, counts.responses.affected)
    worst = bounds(
        counts, judged.judgement.findings, ingested.inputs, pairs, [(r["tenant"], r["by_key"]) for r in seen],
        aliased=judged.aliases is not None,
    )  # fmt: skip
    sampled = _sampled(store, judged, options, [r["seen"] for r in seen])
    dark = dark_spans(judged.incident, judged.coverage, ingested.presence)
    dark_us = sum(b - a for a, b in dark)
    window, sides = judged.incident.uncertain_until_us - judged.incident.start_us, options.two_sources
    return {
        "schema": SCHEMA,
        "level": LEVEL,
        "observed": _observed(judged),
        "worst_case": {
            "responses": told(worst.responses),
            "tenants": told(worst.tenants),
            "terms": [to_builtins(t) for t in worst.terms],
        },
        "sampling": _sampling(judged, options, sampled),
        "coverage": logged_hours(
            store, judged.incident, judged.coverage, ingested.presence, whole=judged.whole
        ),
        "scaled": scaled(counts, sampled, worst, 1 - dark_us / window) if options.scale_gaps else None,
        "two_sources": sides and two_sources(store, sides, independent=options.assume_independent),
        "per_tenant": tenant_table(store),
        "by": breakdowns(store),
        "exclusions": _exclusions(judged),
        "sensitivity": [to_builtins(v) for v in judged.variations],
        "corroboration": corroborate(store, judged.incident, whole=judged.whole),
        "aggregates": [shown(s, judged.incident) for s in judged.sums],
        "published": agreement(
            judged.incident, counts, worst, sampled.responses, dark_us, judged.variations
        ),
    }  # fmt: skip


def _register(store: Store, ingested: Ingested, options: SizingOptions) -> None:
    sources = [i.source for i in ingested.inputs]
    rates = [(s, r) for s in sources if (r := rate_of(s, options.rates)) is not None]
    store.register("rates", _table(("source", pa.string()), ("rate", pa.float64()), rows=rates))
    sides = [
        (s, side) for side, glob in enumerate(options.two_sources or (), 1) for s in sources if fits(glob, s)
    ]  # fmt: skip
    store.register("sides", _table(("source", pa.string()), ("side", pa.int64()), rows=sides))


def _table(*fields: tuple[str, pa.DataType], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema(list(fields))
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def _observed(judged: Judged) -> Json:
    c = judged.judgement.counts
    counted = (
        ("responses", c.responses.affected), ("tenants", c.tenants.affected), ("possible", c.responses.possible),
        ("replays", c.replays), ("excluded_responses", c.excluded.records), ("excluded_tenants", c.excluded.tenants),
    )  # fmt: skip
    return {key: told(Number(value, value, value, "counted in what was read")) for key, value in counted}


def _sampled(store: Store, judged: Judged, options: SizingOptions, sightings: Sequence[int]) -> Sampled:
    rows = store.run(query("311_strata")).to_pylist()
    rates: list[float] = []
    # Where a complete log covers what a sampled one does, nothing can have been left out.
    if judged.coverage.unbounded:
        rates = [rate for i in judged.ingested.inputs if i.understood and not i.aggregates for rate in _rates(i, options)]
    return estimated(rows, rates, sightings, by=options.sampled_by)


def _rates(report: InputReport, options: SizingOptions) -> Iterator[float]:
    """Every rate at which a source kept requests; nested samplers keep the smaller part."""
    stated = rate_of(report.source, options.rates) or 1.0
    yield stated
    yield from (min(stated, 1.0 / interval) for interval in report.intervals)


def _sampling(judged: Judged, options: SizingOptions, sampled: Sampled) -> Json:
    inputs = judged.ingested.inputs
    stated = {i.source: rate_of(i.source, options.rates) for i in inputs}
    shown = {key: None if value is None else told(value) for key, value in (
        ("responses", sampled.responses), ("tenants", sampled.tenants), ("chao1", sampled.chao1),
    )}  # fmt: skip
    return {
        "sampled": any(i.sampled or (stated[i.source] or 1) < 1 for i in inputs),
        "by": options.sampled_by,
        **shown,
        "strata": [_stratum(s, list(stated.values())) for s in sampled.strata],
        "none_seen_upper": sampled.none_seen_upper,
        "cannot_estimate": [
            f"{i.source}: its log can be sampled, and no rate is stated (--sample-rate)"
            for i in inputs
            if i.may_be_sampled and not i.sampled and stated[i.source] is None
        ],
    }


def _stratum(stratum: Stratum, stated: Sequence[float | None]) -> Json:
    return {
        "rate": round(stratum.rate, 9),
        "sources": sum(rate == stratum.rate for rate in stated),
        "observed": stratum.sure,
        "flagged": stratum.flagged,
        "responses": told(stratum_number(stratum)),
    }


def _exclusions(judged: Judged) -> Json:
    counts = judged.judgement.counts
    stated = judged.variations[0]
    bare = next((v for v in judged.variations if v.code == "without_exclusions"), stated)
    categories = {rule.id: rule.category for rule in judged.rules}
    return {
        "with": _both(stated),
        "without": _both(bare),
        "rules": [
            {
                "id": rule.rule_id,
                "category": categories[rule.rule_id],
                "hits": rule.hits,
                "would_be_affected": rule.would_be_affected,
            }
            for rule in counts.excluded.by_rule
        ],
    }


def _both(v: Variation) -> Json:
    return {
        "responses": told(Number(v.responses.affected, v.responses.lower, v.responses.upper, "counted")),
        "tenants": told(Number(v.tenants.affected, v.tenants.lower, v.tenants.upper, "counted")),
    }
