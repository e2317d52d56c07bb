"""A span is a line of the ledger, wherever it stands and whichever way it is read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics import span_lines
from kvforensics.child_status import better
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.scan import Scanner
from spans import MODEL, START, Json, chat, export, http, lines, sdk, span

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
OTHER = "@cf/meta/llama-3.3-70b"
NAMED = f'{{"stringValue":"{MODEL}"}}'


def read(path: Path, text: str | bytes, **options: Any) -> Any:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return ingest(IngestRequest((str(path),), INCIDENT, workers=1, **options))


def ledger(found: Any) -> tuple[int, int, int, int, int]:
    [i] = found.inputs
    return i.lines, i.records, i.rejected, i.blank, i.framing


def test_every_span_of_a_line_is_a_line_of_the_ledger(tmp_path: Path) -> None:
    text = lines(export(chat(1, 700_000), http(2, 1, 200)), export(chat(3, 5, model=OTHER), chat(4, 700_001)))
    found = read(tmp_path / "t.jsonl", text)
    assert ledger(found) == (4, 3, 0, 0, 1)
    assert found.off_model_dropped + sum(r["model_match"] is False for r in found.records.to_pylist()) == 1
    rows = found.records.sort_by("line").to_pylist()
    assert [r["line"] for r in rows if r["model_match"]] == [1, 4]
    for row in rows:
        data = text.encode()[row["byte_offset"] : row["byte_offset"] + row["byte_length"]]
        assert json.loads(data)["spanId"] == row["record_id"]


@pytest.mark.parametrize(
    "document",
    [
        lambda spans: export(*spans),
        lambda spans: [export(*spans)],
        lambda spans: {"trace": export(*spans)},
        lambda spans: {"batches": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]},
        lambda spans: {"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": spans}]}]},
    ],
    ids=["export", "array", "trace", "batches", "library"],
)
@pytest.mark.parametrize("indent", [None, 1], ids=["line", "pretty"])
def test_spans_are_found_in_every_envelope(tmp_path: Path, document: Any, indent: int | None) -> None:
    found = read(tmp_path / "t.json", json.dumps(document([chat(1, 700_000), http(2, 1, 200)]), indent=indent))
    assert ledger(found) == (2, 1, 0, 0, 1)
    assert found.inputs[0].format == "otlp-json"
    assert found.records["http_status"].to_pylist() == [200]


def test_one_span_a_line_without_an_envelope_is_read_too(tmp_path: Path) -> None:
    found = read(tmp_path / "t.jsonl", lines(chat(1, 700_000), http(2, 1, 200)))
    assert ledger(found) == (2, 1, 0, 0, 1)


def test_times_are_read_as_text_and_as_numbers(tmp_path: Path) -> None:
    numbered = chat(2, 700_000, own={"startTimeUnixNano": START + 2})
    rows = read(tmp_path / "t.jsonl", lines(export(chat(1, 700_000), numbered))).records.to_pylist()
    assert [r["started_earliest"] for r in rows] == [START // 1000] * 2


def test_spans_that_are_no_model_call_are_framing(tmp_path: Path) -> None:
    agent = span(
        1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": MODEL, "gen_ai.usage.input_tokens": 9}
    )
    chain = span(2, {"openinference.span.kind": "CHAIN", "llm.model_name": MODEL})
    flow = span(3, {"traceloop.span.kind": "workflow", "gen_ai.request.model": MODEL})
    found = read(tmp_path / "t.jsonl", lines(export(agent, chain, flow, chat(4, 700_000))))
    assert ledger(found) == (4, 1, 0, 0, 3)


def test_a_log_of_other_spans_is_recognised_and_holds_no_records(tmp_path: Path) -> None:
    found = read(tmp_path / "t.jsonl", lines(export(http(1, 9, 200), http(2, 9, 500))))
    assert ledger(found) == (2, 0, 0, 0, 2)
    assert found.inputs[0].understood


def test_spans_before_a_cut_are_kept_and_the_rest_is_rejected(tmp_path: Path) -> None:
    whole = lines(export(chat(1, 700_000)))
    cut = lines(export(chat(2, 700_000), chat(3, 700_000))).encode()[:-120]
    found = read(tmp_path / "t.jsonl", whole.encode() + cut)
    assert ledger(found) == (3, 2, 1, 0, 0)
    assert found.inputs[0].mentions_model_in_rejects


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace("glm-5.3", "glm\\u002d5.3"),
        lambda text: re.sub(r'"key":"(gen_ai.request.model)","value":(\{[^}]*\})', r'"value":\2,"key":"\1"', text),
        lambda text: text.replace('"spans":[', '"spans":[],"spans":['),
        lambda text: text.replace('"spans":[', '"spans" : [ ').replace('"key":', '"key" :  '),
        lambda text: text.replace(NAMED, f'{NAMED},"value":{{"stringValue":"{OTHER}"}}'),
        lambda text: text.replace(NAMED, f'{{"stringValue":"{MODEL}","stringValue":"{OTHER}"}}'),
        lambda text: text.replace(NAMED, f'{{"stringValue":"{OTHER}"}},"key":"of.another"'),
    ],
    ids=["escaped", "value-first", "repeated-key", "spaced", "value-twice", "text-twice", "name-twice"],
)  # fmt: skip
def test_no_spelling_hides_a_call_among_others(tmp_path: Path, disguise: Any) -> None:
    text = lines(export(chat(1, 5, model=OTHER)), export(chat(2, 700_000)), export(chat(3, 6, model=OTHER)))
    found = read(tmp_path / "t.jsonl", disguise(text))
    assert [r["line"] for r in found.records.to_pylist() if r["model_match"] is not False] == [2]
    assert ledger(found)[0] == 3


@pytest.mark.parametrize("indent", [None, 1], ids=["lines", "document"])
def test_a_first_span_with_a_whole_prompt_in_it_is_read(tmp_path: Path, indent: int | None) -> None:
    prompt = '{"role": "user"} ' * 200_000
    made = [export(chat(1, 700_000, **{"gen_ai.prompt_json": prompt})), export(chat(2, 5, model=OTHER))]
    found = read(tmp_path / "t.json", lines(*made) if indent is None else json.dumps(made, indent=indent))
    assert ledger(found) == (2, 2, 0, 0, 0)
    rows = found.records.to_pylist()  # the other one has the same trace id, so it came back
    assert [(r["prompt_tokens_min"], r["model_match"]) for r in rows] == [(700_000, True), (5, False)]


def test_a_key_given_twice_in_a_span_is_unknown(tmp_path: Path) -> None:
    twice = chat(1, 700_000)
    twice["attributes"] += [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}}]
    [row] = read(tmp_path / "t.jsonl", lines(export(twice))).records.to_pylist()
    assert row["prompt_tokens_max"] is None
    assert row["reasons"] == ["repeated_key:gen_ai.usage.input_tokens"]


ODD_VALUES = [
    {}, {"intValue": 650_000}, {"intValue": "007"}, {"doubleValue": 5.5}, {"stringValue": "5"}, {"boolValue": True}, None,
    {"arrayValue": {"values": [{"stringValue": "chat"}]}}, {"intValue": "9" * 30}, {"stringValue": "\u00e9"},
]  # fmt: skip
ODD_NAMES = [
    "gen_ai.request.model", "gen_ai.response.model", "gen_ai.usage.input_tokens", "gen_ai.operation.name", "gen_ai", "key",
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.response.id", "ai.operationId", "http.status_code",
]  # fmt: skip
ODD_FIELDS = [
    {}, {"traceId": "W47/95gDgQPSabYzgT/GDA=="}, {"spanId": "00000000000000AB"}, {"startTimeUnixNano": "0"},
    {"endTimeUnixNano": None}, {"traceState": "ot=th:c"}, {"spanId": ""}, {"start_time_unix_nano": "5"},
    {"events": [{"attributes": [{"key": "gen_ai.request.model", "value": {"stringValue": MODEL}}]}]},
]  # fmt: skip


def odd(made: Json, name: str, value: Any, own: Json, twice: Json) -> Json:
    """A span as hardly any exporter writes it; a key given twice is spelt `twice:` until it is written."""
    return {**made, **own, "attributes": [*made["attributes"], {"key": name, "value": value}], **twice}


CHATS = st.builds(chat, st.integers(1, 99), st.none() | st.integers(0, 900_000), model=st.sampled_from([MODEL, OTHER, "x"]))
SPANS = st.lists(
    st.one_of(
        CHATS,
        st.builds(http, st.integers(1, 99), st.integers(1, 99), st.sampled_from([200, 400])),
        st.builds(span, st.integers(1, 99), st.just({"gen_ai.usage.input_tokens": 700_000})),
        st.builds(sdk, st.integers(1, 99), st.sampled_from(["ai.streamText", "ai.toolCall"]), st.integers(0, 900_000)),
        st.builds(
            odd, CHATS, st.sampled_from(ODD_NAMES), st.sampled_from(ODD_VALUES), st.sampled_from(ODD_FIELDS),
            st.sampled_from([{}, {}, {"twice:attributes": []}, {"twice:startTimeUnixNano": "5"}, {"twice:traceId": "ab"}]),
        ),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=cases(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    requests=st.lists(SPANS, min_size=1, max_size=6), keep=st.sampled_from(["all", "on-model", "open"]),
    form=st.sampled_from(["requests", "spans", "document"]),
)  # fmt: skip
def test_the_fast_and_the_careful_reading_agree(tmp_path: Path, requests: list[list[Json]], keep: str, form: str) -> None:
    made = [export(*spans) for spans in requests] if form != "spans" else [s for spans in requests for s in spans]
    text = json.dumps(made) if form == "document" else lines(*made)
    text = text.replace('"twice:', '"')
    fast = read(tmp_path / "t", text, keep=keep)
    with pytest.MonkeyPatch.context() as patch:
        for reader in ("read_request", "read_span"):
            patch.setattr(span_lines, reader, lambda _: None)
        careful = read(tmp_path / "t", text, keep=keep)
    assert ledger(fast) == ledger(careful)
    assert (fast.off_model_dropped, fast.settled) == (careful.off_model_dropped, careful.settled)
    assert fast.inputs == careful.inputs
    assert fast.records.sort_by("line").to_pylist() == careful.records.sort_by("line").to_pylist()
    assert [c.minutes.to_pylist() for c in fast.coverage] == [c.minutes.to_pylist() for c in careful.coverage]


@pytest.mark.parametrize("form", ["requests", "spans", "document"])
def test_spans_that_are_plainly_outside_are_not_looked_at_closely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    spans = [chat(1, 5, model=OTHER), http(2, 1, 200), chat(3, 5), chat(4, 6, model=OTHER)]
    text = lines(*spans) if form == "spans" else json.dumps(export(*spans), indent=1 if form == "document" else None)
    monkeypatch.setattr(Scanner, "unit", None)
    found = read(tmp_path / "t", text, keep="open")
    assert ledger(found) == (4, 3, 0, 0, 1)
    assert (found.off_model_dropped, sum(found.settled), found.records.num_rows) == (2, 1, 0)


def test_records_of_other_models_are_kept_where_all_are_wanted(tmp_path: Path) -> None:
    text = lines(export(chat(1, 5, model=OTHER), http(2, 1, 200), chat(3, 700_000)))
    found = read(tmp_path / "t.jsonl", text, keep="all")
    assert ledger(found) == (3, 2, 0, 0, 1)
    assert found.records.sort_by("line")["model_match"].to_pylist() == [False, True]


@pytest.mark.parametrize(
    ("one", "other", "together"), [(429, 200, 200), (499, 500, 499), (500, 400, 400), (201, 200, 200)]
)
def test_an_answer_beats_an_abort_and_an_abort_a_refusal(one: int, other: int, together: int) -> None:
    assert better(one, other) == better(other, one) == together


def test_a_count_of_a_thousand_figures_beside_another_model_is_looked_at_closely(tmp_path: Path) -> None:
    odd = chat(1, 5, model=OTHER)
    odd["attributes"] += [{"key": "gen_ai.usage.total_tokens", "value": {"stringValue": "9" * 5_000}}]
    found = read(tmp_path / "t.jsonl", lines(export(odd, chat(2, 700_000))))
    assert ledger(found) == (2, 2, 0, 0, 0)
