"""What does the whole run say, in one JSON document?

Builds the summary `kvforensics.summary/1`. It only arranges what the stages before it found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import asdict

from kvforensics.finding import PARTS
from kvforensics.instant import rfc3339

if TYPE_CHECKING:
    from kvforensics.coverage import Coverage
    from kvforensics.exclusion import ExclusionRule
    from kvforensics.gather import Ingested
    from kvforensics.incident import Incident
    from kvforensics.judge import Judgement
    from kvforensics.observed import InputReport
    from kvforensics.verdict import Verdict

SCHEMA = "kvforensics.summary/1"
_LEDGER = ("bytes", "lines", "records", "rejected", "blank", "framing")


def summarise(
    incident: Incident, rules: Sequence[ExclusionRule], ingested: Ingested, coverage: Coverage, judgement: Judgement,
    verdict: Verdict, *, assume_complete: bool, estimate: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The summary. Keys that the contract does not name (`title`, `undetermined_because`, `coverage.logs` ...) are extra."""
    warnings = dict.fromkeys((*ingested.warnings, *judgement.warnings))
    return {
        "schema": SCHEMA,
        "incident": incident.id,
        "title": incident.title,
        "verdict": verdict.word,
        "complete": verdict.complete,
        "undetermined_because": list(verdict.reasons),
        "assertions": {"complete": assume_complete},
        **counted(judgement, rules),
        "ledger": {
            "files": len(ingested.inputs),
            **{key: sum(getattr(report, key) for report in ingested.inputs) for key in _LEDGER},
        },
        "coverage": covered(coverage),
        "inputs": [_input(report) for report in ingested.inputs],
        "warnings": [{"code": code, "message": message} for code, message in warnings],
        "estimate": dict(estimate),
    }


def counted(judgement: Judgement, rules: Sequence[ExclusionRule]) -> dict[str, Any]:
    """The part of the summary that follows from the judgement alone, so that a second judgement can be held against it."""
    counts = judgement.counts
    upper = counts.responses.upper
    return {
        "responses": asdict(counts.responses),
        "tenants": asdict(counts.tenants),
        "excluded": _excluded(judgement, rules),
        "without_exclusions": {
            "lower": counts.responses.lower + _sure(judgement.findings),
            "upper": None if upper is None else upper + counts.excluded.records,
        },
        "duplicates": counts.duplicates,
        "replays": counts.replays,
        "outside": asdict(counts.outside),
    }


def _excluded(judgement: Judgement, rules: Sequence[ExclusionRule]) -> dict[str, Any]:
    counts, known = judgement.counts, {rule.id: rule for rule in rules}
    by_rule = {
        count.rule_id: {
            "hits": count.hits,
            "would_be_affected": count.would_be_affected,
            "category": known[count.rule_id].category,
            "reason": known[count.rule_id].reason,
            "approved_by": known[count.rule_id].approved_by,
            "overlaps": dict(count.overlaps),
        }
        for count in counts.excluded.by_rule
    }
    return {
        "records": counts.excluded.records,
        "tenants": counts.excluded.tenants,
        "by_rule": by_rule,
    }


def _sure(findings: pa.Table) -> int:
    """How many excluded findings would be affected: all their parts hold, and no cache handed them out again."""
    rows = findings.filter(pc.equal(findings["disposition"], "excluded")).select([*PARTS, "from_cache"]).to_pylist()
    return sum(all(row[part] is True for part in PARTS) and not row["from_cache"] for row in rows)


def covered(coverage: Coverage) -> dict[str, Any]:
    """The part of the summary about coverage."""
    return {
        "first": _instant(coverage.first_us),
        "last": _instant(coverage.last_us),
        "window_covered": coverage.window_covered,
        "assumed": coverage.assumed,
        "gaps": [_gap(gap) for gap in coverage.gaps],
        "logs": [
            {
                "log": log.log,
                "first": _instant(log.first_us),
                "last": _instant(log.last_us),
                "window_covered": log.covers_window,
                "reasons": list(log.shortcomings),
                "gaps": [_gap(gap) for gap in log.gaps],
            }
            for log in coverage.logs
        ],
    }


def _gap(gap: tuple[int, int]) -> dict[str, str]:
    return {"from": rfc3339(gap[0]), "until": rfc3339(gap[1])}


def _instant(us: int | None) -> str | None:
    return None if us is None else rfc3339(us)


def _input(report: InputReport) -> dict[str, Any]:
    return {
        "source": report.source,
        "format": report.format,
        "sha256": report.sha256,
        **{key: getattr(report, key) for key in _LEDGER},
        **({"framing_by": dict(report.framing_by)} if report.framing_by else {}),
        "timezone": "offset" if report.says_offset else report.timezone,
        "problems": list(report.problems),
    }
