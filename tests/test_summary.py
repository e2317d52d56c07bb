"""Does the summary say what the stages found, under the names that were promised?"""

from __future__ import annotations

import pyarrow as pa
from msgspec.structs import replace

from kvforensics.counts import Counts, ExcludedCounts, OutsideCounts, ResponseCounts, TenantCounts
from kvforensics.coverage import Coverage, LogJudgement
from kvforensics.gather import Ingested
from kvforensics.incident import load_incident
from kvforensics.judge import Judgement
from kvforensics.observed import InputReport
from kvforensics.summary import summarise
from kvforensics.verdict import Verdict

CONTRACT = {
    "schema", "incident", "verdict", "complete", "responses", "tenants", "excluded", "duplicates", "replays", "outside",
    "ledger", "coverage", "inputs", "warnings", "estimate",
}  # fmt: skip
FINDINGS = pa.schema(
    [("disposition", pa.string())]
    + [(p, pa.bool_()) for p in ("on_model", "in_window", "over_threshold", "served", "from_cache")]
)
COUNTS = Counts(
    ResponseCounts(1, 2, 1, 3),
    TenantCounts(1, 1, 1, 2, 0),
    ExcludedCounts(3, 1, ()),
    1,
    0,
    0,
    OutsideCounts(4, 3, 2, 1),
    17,
)


def report(source: str, lines: int, zone: str = "any-offset") -> InputReport:
    return InputReport(
        source, 0, "app-json", "0" * 64, 10 * lines, lines, lines - 3, 1, 1, 1, zone, (), broken=False, understood=True,
        mentions_model_in_rejects=False, sampled=False, blind=(),
    )  # fmt: skip


def ingested(*inputs: InputReport) -> Ingested:
    return Ingested(tuple(inputs), pa.table({}), pa.table({}), 0, (0, 0), (), pa.table({}), (("code", "message"),))


def made(data: Ingested, findings: list[dict[str, object]] | None = None) -> dict[str, object]:
    incident = load_incident()
    log = LogJudgement("app-json: a", None, None, covers_window=False, gaps=((0, 1),), shortcomings=("silence",))
    coverage = Coverage(
        0, 60_500_000, window_covered=False, assumed=False, unbounded=False, gaps=((0, 1_000_000),), logs=(log,)
    )
    rows = pa.Table.from_pylist(findings or [], schema=FINDINGS)
    judgement = Judgement(rows, COUNTS, (("code", "message"),), 1, rows.slice(0, 0))
    return summarise(
        incident, (), data, coverage, judgement, Verdict("exposed", 10, complete=True), assume_complete=False,
        estimate={"schema": "kvforensics.estimate/1"},
    )  # fmt: skip


def test_the_summary_has_every_key_of_the_contract_and_sums_the_ledger() -> None:
    summary = made(ingested(report("a", 10), report("b", 20)))
    assert set(summary) >= CONTRACT
    assert summary["ledger"] == {
        "files": 2, "bytes": 300, "lines": 30, "records": 24, "rejected": 2, "blank": 2, "framing": 2,
    }  # fmt: skip
    assert summary["responses"] == {"affected": 1, "possible": 2, "lower": 1, "upper": 3}
    assert summary["outside"] == {"on_model": 4, "in_window": 3, "over_threshold": 2, "served": 1}


def test_a_warning_that_two_stages_give_is_said_once() -> None:
    assert made(ingested())["warnings"] == [{"code": "code", "message": "message"}]


def test_coverage_is_written_in_rfc_3339() -> None:
    coverage = made(ingested())["coverage"]
    assert isinstance(coverage, dict)
    assert (coverage["first"], coverage["last"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:01:00.500000Z")
    assert coverage["gaps"] == [{"from": "1970-01-01T00:00:00Z", "until": "1970-01-01T00:00:01Z"}]


def test_counts_without_exclusions_take_back_only_what_is_sure() -> None:
    parts = dict.fromkeys(("on_model", "in_window", "over_threshold", "served"), True)
    excluded: list[dict[str, object]] = [
        {"disposition": "excluded", **parts}, {"disposition": "excluded", **parts, "served": None},
        {"disposition": "excluded", **parts, "from_cache": True}, {"disposition": "affected", **parts},
    ]  # fmt: skip
    assert made(ingested(), excluded)["without_exclusions"] == {"lower": 2, "upper": 6}


def test_a_source_whose_times_all_say_their_offset_needs_no_zone() -> None:
    said, silent = report("a", 10), report("b", 10)
    summary = made(ingested(replace(said, says_offset=True), silent))
    assert [i["timezone"] for i in summary["inputs"]] == ["offset", "any-offset"]  # type: ignore[attr-defined]
