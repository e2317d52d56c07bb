"""What does everything that was read come to: coverage, judgement, and the estimate of their sizes?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kvforensics.aggregates import bounded
from kvforensics.alias import Aliases
from kvforensics.catalog import query
from kvforensics.coverage import Coverage, LogCoverage, cover
from kvforensics.exclusion import ExclusionRule
from kvforensics.gather import Ingested
from kvforensics.incident import Incident
from kvforensics.judge import Judgement, judge
from kvforensics.sampling import rate_of
from kvforensics.sensitivity import Run, varied
from kvforensics.sizing import Judged, SizingOptions, size
from kvforensics.spans import union
from kvforensics.store import Store


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the records. `whole` is whether all records on the model were kept."""

    incident: Incident
    rules: tuple[ExclusionRule, ...]
    aliases: Aliases | None
    sizing: SizingOptions
    assume_complete: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The answer; `estimate` is the object of the summary."""

    coverage: Coverage
    judgement: Judgement
    estimate: dict[str, Any]


def appraise(
    ingested: Ingested, question: Question, *, spool: Path | None, memory_bytes: int | None, threads: int | None
) -> Appraisal:
    """Judge the records that were read, vary the judgement, and size it."""
    incident, rules, aliases = question.incident, question.rules, question.aliases
    logs = _with_rates(ingested.coverage, question.sizing)
    sums = tuple(bounded(s, incident) for s in ingested.sums)
    cleared = union(span for s in sums for span in s.cleared)
    coverage = cover(
        logs, start_us=incident.start_us, until_us=incident.uncertain_until_us, max_gap_us=incident.max_gap_us,
        assume_complete=question.assume_complete, cleared=cleared,
    )  # fmt: skip
    with Store(spool=spool, memory_bytes=memory_bytes, threads=threads) as store:
        store.register("records", ingested.records)
        judgement = judge(
            store, incident, rules, off_model_dropped=ingested.off_model_dropped, settled=ingested.settled,
            sampled=coverage.unbounded, aliases=aliases,
        )  # fmt: skip
        zoned = frozenset(store.run(query("319_zoned_sources"))["source"].to_pylist())
        run = Run(incident, rules, aliases, judgement.counts, logs, zoned, question.assume_complete, cleared)
        variations = varied(store, run, memory_bytes=memory_bytes)
        judged = Judged(incident, rules, aliases, ingested, coverage, judgement, sums, variations, question.whole)
        return Appraisal(coverage, judgement, size(store, judged, question.sizing))


def _with_rates(logs: Sequence[LogCoverage], sizing: SizingOptions) -> tuple[LogCoverage, ...]:
    """The logs, sampled where somebody states a rate for one of their sources."""
    return tuple(
        replace(log, sampled=log.sampled or any((rate_of(m, sizing.rates) or 1) < 1 for m in log.members)) for log in logs
    )
