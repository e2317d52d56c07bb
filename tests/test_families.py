"""What the spans of one request tell of each other, up to the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvforensics.case import Case, CheckOptions
from kvforensics.families import BY_CHILD
from kvforensics.span_units import SUMS
from spans import chat, export, http, lines, sdk, span

INCIDENT = "cloudflare-workers-ai-glm-5.3"


def check(tmp_path: Path, *requests: Any) -> Any:
    path = tmp_path / "spans.jsonl"
    path.write_text(lines(*requests), encoding="utf-8")
    with Case() as case:
        return case.check(CheckOptions(paths=(str(path),), incident=INCIDENT, workers=1))


def counted(result: Any) -> tuple[int, int, int, int]:
    summary = result.summary
    responses = summary["responses"]
    outside = sum(summary["outside"].values())
    return responses["affected"], responses["possible"], summary["duplicates"], outside


def rows(result: Any) -> dict[str, Any]:
    return {r["record_id"][-1]: r for r in result.findings.to_pylist()}


def test_an_agent_of_many_small_steps_is_no_huge_prompt(tmp_path: Path) -> None:
    inner = [sdk(n, "ai.generateText.doGenerate", 300_000, parent=1) for n in (2, 3, 4)]
    result = check(tmp_path, export(*inner, sdk(1, "ai.generateText", 900_000)))
    assert counted(result) == (0, 0, 0, 4)


def test_a_call_of_one_step_is_one_call(tmp_path: Path) -> None:
    result = check(
        tmp_path, export(sdk(1, "ai.streamText", 700_000), sdk(2, "ai.streamText.doStream", 700_000, parent=1))
    )
    assert counted(result) == (1, 0, 1, 0)
    assert rows(result)["1"]["disposition"] == "affected"


def test_each_long_step_of_a_call_is_an_answer_of_its_own(tmp_path: Path) -> None:
    inner = [sdk(n, "ai.streamText.doStream", 700_000 + n, parent=1) for n in (2, 3)]
    result = check(tmp_path, export(sdk(1, "ai.streamText", 1_400_005), *inner))
    assert counted(result) == (2, 0, 1, 0)


def test_steps_are_found_in_another_export_request(tmp_path: Path) -> None:
    result = check(
        tmp_path, export(sdk(2, "ai.streamText.doStream", 700_000, parent=1)), export(sdk(1, "ai.streamText", 700_000))
    )
    assert counted(result) == (1, 0, 1, 0)


def test_an_outer_span_whose_steps_are_missing_may_be_a_sum(tmp_path: Path) -> None:
    result = check(tmp_path, export(sdk(1, "ai.generateText", 900_000)))
    assert counted(result) == (0, 1, 0, 0)
    row = rows(result)["1"]
    assert row["over_threshold"] is None
    assert (row["prompt_tokens_min"], row["prompt_tokens_max"]) == (None, 900_000)
    assert SUMS in row["reasons"]


def test_an_outer_span_below_the_threshold_is_outside_whatever_its_steps(tmp_path: Path) -> None:
    assert counted(check(tmp_path, export(sdk(1, "ai.generateText", 500_000)))) == (0, 0, 0, 1)


def test_any_span_around_several_counted_calls_may_be_a_sum(tmp_path: Path) -> None:
    result = check(tmp_path, export(chat(1, 800_000), chat(2, 400_000, parent=1), chat(3, 400_000, parent=1)))
    assert counted(result) == (0, 0, 0, 3)


def test_spans_of_one_trace_are_different_calls(tmp_path: Path) -> None:
    assert counted(check(tmp_path, export(chat(1, 700_000), chat(2, 700_001)))) == (2, 0, 0, 0)


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, (1, 0, 0, 0)), (499, (0, 1, 0, 0)), (503, (0, 0, 0, 1))],
    ids=["answer", "abort", "refusal"],
)
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_the_status_of_an_http_span_is_evidence_for_its_parent(
    tmp_path: Path, status: int, expected: tuple[int, ...], *, apart: bool
) -> None:
    call = chat(1, None, **{"gen_ai.usage.input_tokens": 700_000})
    spans = [[http(2, 1, status)], [call]] if apart else [[call, http(2, 1, status)]]
    result = check(tmp_path, *(export(*s) for s in spans))
    assert counted(result) == expected
    assert all(BY_CHILD in r["reasons"] for r in rows(result).values())


def test_a_retry_that_was_answered_counts(tmp_path: Path) -> None:
    call = chat(1, None, **{"gen_ai.usage.input_tokens": 700_000})
    assert counted(check(tmp_path, export(http(2, 1, 429), http(3, 1, 200), call))) == (1, 0, 0, 0)


def test_an_error_after_a_status_200_broke_off(tmp_path: Path) -> None:
    call = chat(1, None, own={"status": {"code": 2}}, **{"gen_ai.usage.input_tokens": 700_000})
    assert counted(check(tmp_path, export(call, http(2, 1, 200)))) == (0, 1, 0, 0)


def test_the_status_of_a_span_in_another_trace_says_nothing(tmp_path: Path) -> None:
    call = chat(1, None, **{"gen_ai.usage.input_tokens": 700_000})
    stranger = span(2, {"http.response.status_code": 503}, parent=1, trace=2)
    assert counted(check(tmp_path, export(call, stranger))) == (0, 1, 0, 0)
