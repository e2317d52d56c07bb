"""Do the findings of a case follow from its records?

Runs the questions again over the records that a case keeps, with the incident and the rules that it keeps, and holds the
answers against what the case says, line by line and number by number: findings, counts, coverage, verdict, estimate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from kvforensics import finding
from kvforensics.alias import Aliases
from kvforensics.appraisal import reach_of
from kvforensics.bag import Problem
from kvforensics.case_reader import StoredCase
from kvforensics.catalog import Query, digests, parse_query, query
from kvforensics.counting import Ask
from kvforensics.counts import Settled
from kvforensics.errors import EvidenceError, KvForensicsError
from kvforensics.exclusion import ExclusionRule, parse_exclusions
from kvforensics.incident import Incident
from kvforensics.judge import Judgement, judge
from kvforensics.resize import not_sized, stored_question, stored_reading, unequal
from kvforensics.store import Store
from kvforensics.summary import counted
from kvforensics.verdict import decide

_LARGEST_QUERY = 1 << 20


class Rejudged(Struct, frozen=True):
    """What differs, and which queries of this version are not those of the case (it was then judged with its own).

    `not_sized` is why the estimate was not computed again, None where it was.
    """

    problems: tuple[Problem, ...]
    other_queries: tuple[str, ...]
    not_sized: str | None = None


def rejudge(case: StoredCase, spool: Path | None = None) -> Rejudged:
    """Judge again. Where this version asks otherwise and gets another answer, the case's own questions are asked."""
    incident = case.incident()
    if incident is None:
        raise EvidenceError("does not hold the incident file that it was judged by", where="case.json")
    rules, records = stored_rules(case), _records(case)
    problems = tuple(_differences(case, incident, rules, records, query, spool))
    others = tuple(sorted(stem for stem, digest in digests() if case.queries.get(stem) != digest))
    if problems and others:
        own = _own_queries(case)
        problems = tuple(_differences(case, incident, rules, records, lambda stem: own.get(stem) or query(stem), spool))
    return Rejudged(problems, others, not_sized(case))


def stored_rules(case: StoredCase) -> tuple[ExclusionRule, ...]:
    """The exclusion rules that the case keeps. Raises where a file of them is missing or not what its digest says."""
    rules: list[ExclusionRule] = []
    seen: dict[str, str] = {}
    for told in case.document["exclusions"]:
        lists: Mapping[str, str] = told["lists"]

        def listed(name: str, _where: str, lists: Mapping[str, str] = lists) -> bytes:
            if name not in lists:
                raise EvidenceError(f"does not hold the list {name}", where="case.json")
            return case.kept(f"exclusions/{lists[name]}", lists[name])

        data = case.kept(f"exclusions/{told['sha256']}", told["sha256"])
        rules += parse_exclusions(data, told["name"], told["name"], listed, seen).rules
    return tuple(rules)


def _aliases(case: StoredCase) -> Aliases | None:
    told = case.document["options"].get("tenant_aliases")
    if told is None:
        return None
    return Aliases(told["name"], told["sha256"], tuple((kind, value, tenant) for kind, value, tenant in told["entries"]))


def _own_queries(case: StoredCase) -> dict[str, Query]:
    return {
        stem: parse_query(stem, case.kept(f"queries/{stem}.sql", digest, _LARGEST_QUERY))
        for stem, digest in case.queries.items()
    }


def _records(case: StoredCase) -> pa.Table:
    tables = []
    for name in ("records.parquet", "context.parquet"):
        path = case.folder / name
        if path.is_file() and not path.is_symlink():
            tables.append(pq.read_table(path, memory_map=False))
    if not tables:
        raise EvidenceError("is missing from the case", where="records.parquet")
    return pa.concat_tables(tables)


def _differences(
    case: StoredCase, incident: Incident, rules: tuple[ExclusionRule, ...], records: pa.Table, ask: Ask, spool: Path | None
) -> Iterator[Problem]:
    summary = case.summary
    told = case.document.get("settled", {})
    settled = Settled(*(told.get(part, 0) for part in Settled._fields))
    dropped = summary["ledger"]["records"] - records.num_rows - sum(settled)
    if dropped < 0:
        yield Problem("records.parquet", f"holds {-dropped} records more than the ledger counts")
        return
    aliases = _aliases(case)
    reading = stored_reading(case, records, dropped, settled)
    question = None if reading is None else stored_question(case, incident, rules, aliases)
    reach = None if reading is None or question is None else reach_of(reading, question)
    unbounded = summary["responses"]["upper"] is None if reach is None else reach.coverage.unbounded
    with Store(spool=spool) as store:
        store.register("records", records)
        try:
            judgement = judge(
                store, incident, rules, off_model_dropped=dropped, settled=settled, sampled=unbounded, aliases=aliases,
                ask=ask,
            )  # fmt: skip
        except KvForensicsError as error:
            yield Problem(error.where or "records.parquet", error.what)
            return
        problems = list(_unlike(case, judgement, rules))
        if not problems and reading is not None and question is not None and reach is not None:
            problems = list(unequal(case, store, reading, question, reach, judgement))
    yield from problems or (() if reading is not None else _verdict(summary))


def _unlike(case: StoredCase, judgement: Judgement, rules: tuple[ExclusionRule, ...]) -> Iterator[Problem]:
    """What the judgement says otherwise than the case, of findings, counts and warnings."""
    summary = case.summary
    locators = finding.Locators([(i["source"], i["sha256"]) for i in case.document["inputs"]])
    again = (json_line(finding.written(d)) for d in finding.documents(judgement.findings, locators))
    yield from _findings(case.folder / "findings.jsonl", again)
    numbers = counted(judgement, rules)
    for key in (k for k in numbers if numbers[k] != summary.get(k)):
        yield Problem("case.json", f"{_first(key, numbers[key], summary.get(key))} by the records")
    known = {warning["code"] for warning in summary["warnings"]}
    for code, _ in judgement.warnings:
        if code not in known:
            yield Problem("case.json", f"lacks the warning {code}")


def _findings(path: Path, again: Iterator[bytes]) -> Iterator[Problem]:
    with path.open("rb") as told:
        for number, (ours, theirs) in enumerate(zip_longest(again, told), 1):
            if ours != theirs:
                where = f"{path.name}:{number}"
                if ours is None or theirs is None:
                    yield Problem(where, "does not follow from the records" if ours is None else "is missing")
                else:
                    yield Problem(where, f"{_field(ours, theirs)} does not follow from the records")
                return


def _field(ours: bytes, theirs: bytes) -> str:
    try:
        told = json.loads(theirs)
    except (ValueError, RecursionError):
        return "the line"
    mine = json.loads(ours)
    if not isinstance(told, dict):
        return "the line"
    return next((key for key in finding.KEYS if told.get(key) != mine[key]), "the line")


def _first(key: str, ours: Any, theirs: Any) -> str:
    """The first number that differs, by its path in the summary."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for inner in sorted({*ours, *theirs}):
            if ours.get(inner) != theirs.get(inner):
                return _first(f"{key}.{inner}", ours.get(inner), theirs.get(inner))
    return f"says {key} is {json.dumps(theirs)}, it is {json.dumps(ours)}"


def _verdict(summary: Mapping[str, Any]) -> Iterator[Problem]:
    """Whether the verdict follows from the numbers and from what the case says about its inputs."""
    reasons = summary["undetermined_because"]
    verdict = decide(
        affected=summary["responses"]["affected"], possible=summary["responses"]["possible"], replays=summary["replays"],
        window_covered=summary["coverage"]["window_covered"], broken="evidence_broken" in reasons,
        unread="not_everything_read" in reasons, mentions_model="unreadable_line_mentions_model" in reasons,
        files_missing="files_missing" in reasons,
    )  # fmt: skip
    if verdict.word != summary["verdict"]:
        yield Problem("case.json", f"says the verdict is {json.dumps(summary['verdict'])}, it is {json.dumps(verdict.word)}")


def json_line(document: Mapping[str, Any]) -> bytes:
    """A document as a case writes it on a line."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
