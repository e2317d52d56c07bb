"""What does everything that was read come to: coverage, judgement, and the estimate of their sizes?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.aggregates import bounded
from kvforensics.alias import Aliases
from kvforensics.catalog import query
from kvforensics.coverage import Coverage, LogCoverage, cover
from kvforensics.exclusion import ExclusionRule
from kvforensics.gather import Ingested
from kvforensics.incident import Incident
from kvforensics.judge import Judgement, judge
from kvforensics.logged_hours import missing_files
from kvforensics.sampling import rate_of
from kvforensics.sensitivity import Run, varied
from kvforensics.sizing import Judged, SizingOptions, size
from kvforensics.spans import Span, union
from kvforensics.store import Store, threads_for
from kvforensics.sums import SumBounds
from kvforensics.verdict import Verdict, decide


class Question(Struct, frozen=True):
    """What is asked of the records. `whole` is whether all records on the model were kept."""

    incident: Incident
    rules: tuple[ExclusionRule, ...]
    aliases: Aliases | None
    sizing: SizingOptions
    assume_complete: bool
    whole: bool


class Reach(Struct, frozen=True):
    """The logs with the rates that somebody stated, what sums prove, the times that they clear, and what all of it covers."""

    logs: tuple[LogCoverage, ...]
    sums: tuple[SumBounds, ...]
    cleared: tuple[Span, ...]
    coverage: Coverage


class Appraisal(Struct, frozen=True):
    """The answer; `estimate` is the object of the summary."""

    coverage: Coverage
    judgement: Judgement
    estimate: dict[str, Any]


def appraise(
    ingested: Ingested, question: Question, *, spool: Path | None, memory_bytes: int | None, threads: int | None
) -> Appraisal:
    """Judge the records that were read, vary the judgement, and size it."""
    reach = reach_of(ingested, question)
    threads = threads_for(ingested.records.num_rows, threads)
    with Store(spool=spool, memory_bytes=memory_bytes, threads=threads) as store:
        store.register("records", ingested.records)
        judgement = judge(
            store, question.incident, question.rules, off_model_dropped=ingested.off_model_dropped,
            settled=ingested.settled, sampled=reach.coverage.unbounded, aliases=question.aliases,
        )  # fmt: skip
        return Appraisal(reach.coverage, judgement, sized(store, ingested, question, reach, judgement, memory_bytes))


def reach_of(ingested: Ingested, question: Question) -> Reach:
    """How far the evidence reaches."""
    incident = question.incident
    logs = _with_rates(ingested.coverage, question.sizing)
    sums = tuple(bounded(s, incident) for s in ingested.sums)
    cleared = union(span for s in sums for span in s.cleared)
    coverage = cover(
        logs, start_us=incident.start_us, until_us=incident.uncertain_until_us, max_gap_us=incident.max_gap_us,
        assume_complete=question.assume_complete, cleared=cleared,
    )  # fmt: skip
    return Reach(logs, sums, cleared, coverage)


def sized(
    store: Store, ingested: Ingested, question: Question, reach: Reach, judgement: Judgement,
    memory_bytes: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The object `estimate`; `store` holds the judgement."""
    incident, rules, aliases = question.incident, question.rules, question.aliases
    zoned = frozenset(store.run(query("319_zoned_sources"))["source"].to_pylist())
    run = Run(incident, rules, aliases, judgement.counts, reach.logs, zoned, question.assume_complete, reach.cleared)
    variations = varied(store, run, memory_bytes=memory_bytes)
    judged = Judged(
        incident, rules, aliases, ingested, reach.coverage, judgement, reach.sums, variations, question.whole
    )  # fmt: skip
    return size(store, judged, question.sizing)


def verdict_of(ingested: Ingested, judgement: Judgement, coverage: Coverage, *, assume_complete: bool) -> Verdict:
    """The verdict, by what was judged and by what went wrong with the inputs.

    A source that could not be opened is unread. One that is not understood was read, and counts only where it names the
    model: a folder of logs may well hold a picture.
    """
    inputs, responses = ingested.inputs, judgement.counts.responses
    return decide(
        affected=responses.affected, possible=responses.possible, replays=judgement.counts.replays,
        window_covered=coverage.window_covered,
        broken=any(i.broken for i in inputs),
        unread=any(problem.startswith("skipped") for i in inputs for problem in i.problems),
        mentions_model=any(i.mentions_model_in_rejects for i in inputs),
        files_missing=not assume_complete and bool(missing_files(ingested.presence)),
    )  # fmt: skip


def _with_rates(logs: Sequence[LogCoverage], sizing: SizingOptions) -> tuple[LogCoverage, ...]:
    """The logs, sampled where somebody states a rate for one of their sources."""
    return tuple(
        replace(log, sampled=log.sampled or any((rate_of(m, sizing.rates) or 1) < 1 for m in log.members)) for log in logs
    )
