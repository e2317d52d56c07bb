"""Do coverage, verdict and estimate of a case follow from what it keeps?

They rest on more than records: on the minutes in which each input has any, on sums, and on what reading found out about each
input. A case keeps these; one of an older version may not, and then they cannot be computed again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kvforensics import __version__
from kvforensics.alias import Aliases
from kvforensics.appraisal import Question, Reach, sized, verdict_of
from kvforensics.bag import Problem
from kvforensics.case_reader import StoredCase
from kvforensics.counts import Settled
from kvforensics.exclusion import ExclusionRule
from kvforensics.gather import Ingested
from kvforensics.incident import Incident
from kvforensics.judge import Judgement
from kvforensics.observed import ACTIVITY_SCHEMA, coverage_of, presence_of, retold
from kvforensics.plural import counted
from kvforensics.sampling import Rated
from kvforensics.sizing import SCHEMA, SizingOptions
from kvforensics.spooled import spool_in
from kvforensics.store import Store
from kvforensics.summary import covered
from kvforensics.sums import bucket_logs

WORDS = frozenset({"method", "assumption", "text", "change", "detail", "cannot_estimate"})
"""Keys whose values are words for readers; another version may say the same otherwise."""
ROUNDED = 0.0011
"""How far two numbers may be apart that were rounded to three decimals on two machines."""


def stored_reading(case: StoredCase, records: pa.Table, dropped: int, settled: Settled) -> Ingested | None:
    """What was read when the case was made, as far as judgement and sizing ask for it; None where it is not kept."""
    kept = case.document.get("reading")
    if kept is None:
        return None
    activity = pa.Table.from_batches(case.activity(), ACTIVITY_SCHEMA)
    seen = retold(case.document["inputs"], kept["inputs"], activity)
    batches = list(case.sums())
    return Ingested(
        tuple(s.report for s in seen), records, spool_in(None), dropped, settled, coverage_of(seen), activity, (),
        presence_of(seen), bucket_logs(pa.Table.from_batches(batches)) if batches else (), seen,
    )  # fmt: skip


def stored_question(
    case: StoredCase, incident: Incident, rules: tuple[ExclusionRule, ...], aliases: Aliases | None
) -> Question:
    """What was asked. Only for a case that keeps its reading."""
    options = case.document["options"]
    sides = options["two_sources"]
    sizing = SizingOptions(
        rates=tuple(Rated(glob, rate) for glob, rate in options["sample_rate"]), sampled_by=options["sampled_by"],
        two_sources=None if sides is None else (sides[0], sides[1]), assume_independent=options["assume_independent"],
        scale_gaps=options["scale_gaps"],
    )  # fmt: skip
    return Question(incident, rules, aliases, sizing, options["assume_complete"], case.document["reading"]["whole"])


def unequal(
    case: StoredCase, store: Store, ingested: Ingested, question: Question, reach: Reach, judgement: Judgement
) -> Iterator[Problem]:
    """The first number of coverage, verdict and estimate that does not follow. `store` holds the judgement."""
    summary = case.summary
    verdict = verdict_of(ingested, judgement, reach.coverage, assume_complete=question.assume_complete)
    ours = {
        "coverage": covered(reach.coverage), "verdict": verdict.word, "complete": verdict.complete,
        "undetermined_because": list(verdict.reasons),
    }  # fmt: skip
    words = case.document["tool"]["version"] == __version__
    for key, mine in ours.items():
        if found := differing(key, mine, summary.get(key), words=words):
            yield _problem(*found)
            return
    estimate = summary.get("estimate")
    if isinstance(estimate, Mapping) and estimate.get("schema") == SCHEMA:
        again = sized(store, ingested, question, reach, judgement)
        if found := differing("estimate", again, estimate, words=words):
            yield _problem(*found)


def not_sized(case: StoredCase) -> str | None:
    """Why the estimate cannot be computed again, for a reader; None where it can."""
    estimate = case.summary.get("estimate")
    if not isinstance(estimate, Mapping):
        return "the case has no estimate"
    if "reading" not in case.document:
        return "the case does not keep what coverage and estimate rest on, so these were not computed again"
    if estimate.get("schema") != SCHEMA:
        return f"the estimate was made another way ({estimate.get('schema')}), so it was not computed again"
    return None


def differing(path: str, ours: Any, theirs: Any, *, words: bool) -> tuple[str, Any, Any] | None:
    """Path and both values of the first place in which two documents differ; `words` is whether sentences count."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        keys = sorted({*ours, *theirs} - (frozenset() if words else WORDS))
        inner = ((f"{path}.{key}", ours.get(key), theirs.get(key)) for key in keys)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        inner = ((f"{path}[{at}]", *pair) for at, pair in enumerate(zip(ours, theirs, strict=True)))
    else:
        return None if _same(ours, theirs) else (path, ours, theirs)
    return next((found for one in inner if (found := differing(*one, words=words))), None)


def _same(ours: Any, theirs: Any) -> bool:
    fractions = isinstance(ours, float) or isinstance(theirs, float)
    if fractions and all(isinstance(v, int | float) and not isinstance(v, bool) for v in (ours, theirs)):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=ROUNDED)
    return type(ours) is type(theirs) and bool(ours == theirs)


def _problem(path: str, ours: Any, theirs: Any) -> Problem:
    return Problem("case.json", f"says {path} is {_told(theirs)}, it is {_told(ours)} by what the case keeps")


def _told(value: Any) -> str:
    if isinstance(value, list | Mapping):
        return counted(len(value), "entry", "entries")
    return json.dumps(value)
