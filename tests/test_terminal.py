"""Is the text of the verdict plain, narrow, complete, and deaf to what strangers wrote into their logs?"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kvforensics.incident import load_incident
from kvforensics.reports.terminal import WIDTH, verdict_text

SUMMARY: dict[str, Any] = {
    "schema": "kvforensics.summary/1", "incident": "an-incident", "title": "An incident", "verdict": "exposed",
    "complete": True, "undetermined_because": [], "assertions": {"complete": False},
    "responses": {"affected": 3, "possible": 1, "lower": 3, "upper": 4},
    "tenants": {"affected": 2, "possible": 1, "lower": 2, "upper": 3, "unknown_records": 0},
    "excluded": {
        "records": 2, "tenants": 1,
        "by_rule": {"qa": {"hits": 5, "would_be_affected": 2, "reason": "Quality team", "category": "test"}},
    },
    "without_exclusions": {"lower": 5, "upper": 6}, "duplicates": 1, "replays": 0,
    "outside": {"on_model": 9, "in_window": 3, "over_threshold": 4, "served": 1},
    "ledger": {"files": 2, "bytes": 123456, "lines": 30, "records": 26, "rejected": 2, "blank": 1, "framing": 1},
    "coverage": {
        "first": "2026-08-20T00:00:00Z", "last": "2026-09-20T00:00:00Z", "window_covered": False,
        "gaps": [{"from": "2026-08-30T00:00:00Z", "until": "2026-09-01T00:00:00Z"}],
        "logs": [{"log": "app-json: a.jsonl", "reasons": ["silence"]}],
    },
    "inputs": [
        {"source": "a.jsonl", "format": "app-json", "records": 26, "rejected": 2, "timezone": "any-offset", "problems": []},
        {"source": "b.gz", "format": None, "records": 0, "rejected": 0, "timezone": "any-offset", "problems": ["truncated"]},
    ],
    "warnings": [],
}  # fmt: skip
FINDING: dict[str, Any] = {
    "disposition": "possible", "source": "a.jsonl", "line": 7, "tenant": "team-a", "time_basis": "any-offset",
    "token_basis": "unknown", "started_earliest": "2026-09-01T00:00:00.000000Z",
    "started_latest": "2026-09-02T02:00:00.000000Z", "prompt_tokens_min": None, "prompt_tokens_max": None,
    "parts": {"on_model": True, "in_window": None, "over_threshold": None, "served": True},
}  # fmt: skip


def summary(**changed: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SUMMARY), **changed}


@pytest.mark.parametrize(
    ("verdict", "start"),
    [
        ("exposed", "EXPOSED. 3 responses to 2 tenants"),
        ("possibly_exposed", "POSSIBLY EXPOSED. No response is known to be affected, but 1 response may be"),
        ("not_exposed", "NOT EXPOSED. The logs cover the whole exposure window"),
        ("undetermined", "UNDETERMINED. Nothing is flagged, but the logs cannot rule an exposure out"),
    ],
)
def test_the_verdict_comes_first_in_plain_words(verdict: str, start: str) -> None:
    text = " ".join(verdict_text(summary(verdict=verdict), []).split())
    assert text.startswith(start)


def test_the_text_says_numbers_exclusions_faults_gaps_and_assumptions() -> None:
    text = " ".join(verdict_text(SUMMARY, [FINDING]).split())
    for expected in (
        "3 affected, 1 possible: between 3 and 4", "2 affected, 1 possible: between 2 and 3",
        "30 lines = 26 records + 2 rejected + 1 blank + 1 framing",
        "a.jsonl:7 possible", "prompt tokens not known; tenant team-a",
        "qa: Quality team - matched 5 records, 2 would have been flagged",
        "with exclusions: between 3 and 4; without: between 5 and 6", "b.gz: truncated", "a.jsonl: 2 lines rejected",
        "the window is NOT covered", "no log covers 2026-08-30T00:00:00Z to 2026-09-01T00:00:00Z",
        "app-json: a.jsonl: silent for longer", "read over every offset in use: a.jsonl",
    ):  # fmt: skip
        assert expected in text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"time_basis": "assumed:America/New_York", "started_earliest": "2026-09-09T14:10:00.000000Z",
          "started_latest": "2026-09-09T14:10:00.999999Z"}, "started in the tail in which not all nodes were corrected;"),
        ({"time_basis": "assumed:America/New_York", "started_latest": "2026-09-09T14:00:00.000000Z"},
         "time: assumed:America/New_York;"),
        ({"time_basis": "start-or-end"}, "the record's time may be its start or its end, and its zone is not told;"),
        ({"time_basis": "start-or-end", "started_latest": "2026-09-01T00:10:00.000000Z"},
         "the record's time may be its start or its end;"),
        ({"token_basis": "reported", "prompt_tokens_min": 681_277, "prompt_tokens_max": 681_277},
         "its count is in the band where the engine's own arithmetic may already reject)"),
        ({"token_basis": "reported", "reasons": ["over_threshold: records_disagree"]}, "its records disagree)"),
    ],
)  # fmt: skip
def test_what_the_incident_itself_leaves_open_is_not_laid_to_the_record(changed: dict[str, Any], reason: str) -> None:
    text = " ".join(verdict_text(SUMMARY, [{**FINDING, **changed}], incident=load_incident()).split())
    assert reason in text
    assert "What the incident leaves open, only who runs the model can tell." in text


def test_what_a_log_in_a_wrapper_cannot_show_and_what_was_not_understood_are_sentences() -> None:
    logs = [{"log": "cloudwatch > docker-json > sglang-log: a.json", "reasons": [
        "blind:event_limit", "blind:prefill_stub", "blind:requests_off"]}]  # fmt: skip
    inputs = [{**SUMMARY["inputs"][1], "problems": [code]} for code in ("not_understood", "skipped: already_read")]
    told = summary(coverage={**SUMMARY["coverage"], "logs": logs}, inputs=inputs)
    text = " ".join(verdict_text(told, []).split())
    for code in ("event_limit", "prefill_stub", "requests_off", "not_understood", "already_read"):
        assert code not in text
    for words in (
        "An event holds 256 KB", "A prefill node logs an affected request as one token.", "Without --log-requests no line",
        "b.gz: not understood: no log format", "b.gz: skipped: already read",
    ):  # fmt: skip
        assert words in text


def test_hours_without_evidence_are_said_to_bound_nothing() -> None:
    none = {"affected": 0, "possible": 0, "lower": 0, "upper": 0}
    dark = summary(verdict="undetermined", responses=none, tenants={**none, "unknown_records": 0})
    text = " ".join(verdict_text(dark, []).split())
    assert "Responses 0 affected, 0 possible: 0 in what was read" in text
    assert "Hours without evidence bound nothing" in text
    assert " in all" not in text
    whole = {"log": "app-json: a.jsonl", "window_covered": True, "reasons": []}
    covered = verdict_text({**dark, "coverage": {**SUMMARY["coverage"], "window_covered": True, "logs": [whole]}}, [])
    assert "0 in all" in covered
    assert "bound nothing" not in covered


def test_no_bound_is_said_as_no_bound() -> None:
    responses = {"affected": 0, "possible": 0, "lower": 0, "upper": None}
    assert "at least 0, no upper bound" in verdict_text(summary(responses=responses), [])


def test_no_line_is_wider_than_a_terminal_and_none_is_coloured() -> None:
    long = {**FINDING, "source": "x" * 300, "tenant": "y" * 300}
    text = verdict_text(SUMMARY, [long] * 12)
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert "\x1b" not in text


def test_at_most_ten_findings_are_shown_and_their_number_is_said() -> None:
    responses = {"affected": 12, "possible": 0, "lower": 12, "upper": 12}
    text = verdict_text(summary(responses=responses), [FINDING] * 10)
    assert "Findings (10 of 12)" in text


@pytest.mark.parametrize("hostile", ["\x1b[2J\x1b]0;owned\x07", "a\nEXPOSED. nothing", "\u202etxt", "\x9b31m"])
def test_hostile_text_is_shown_and_never_obeyed(hostile: str) -> None:
    changed = summary(title=hostile)
    changed["inputs"][0]["source"] = hostile
    changed["inputs"][1]["problems"] = [hostile]
    changed["excluded"]["by_rule"] = {hostile: {"hits": 1, "would_be_affected": 0, "reason": hostile}}
    changed["coverage"]["logs"][0]["log"] = hostile
    text = verdict_text(changed, [{**FINDING, "source": hostile, "tenant": hostile, "time_basis": hostile}])
    assert all(character == "\n" or character.isprintable() for character in text)
    assert not any(line.startswith("EXPOSED. nothing") for line in text.splitlines())


def test_the_advice_fits_the_verdict() -> None:
    assert "Nothing more to do" in verdict_text(summary(verdict="not_exposed"), [])
    assert "Nothing more to do" not in verdict_text(SUMMARY, [])
    assert "--case DIR" in verdict_text(SUMMARY, [])
    kept, left = (" ".join(verdict_text(SUMMARY, [], case="case-1", evidence=e).split()) for e in (True, False))
    assert "findings.jsonl) and its raw bytes (evidence)" in kept
    assert "findings.jsonl), but no raw bytes" in left
