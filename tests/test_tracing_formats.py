"""Parents that sum or repeat their children are no model calls, in every tracing product."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from spans import chat, export, http

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL = "@cf/zai-org/glm-5.3"
USAGE = '{"input_tokens": 700000, "output_tokens": 5, "total_tokens": 700005}'


def read(path: Path) -> Any:
    return ingest(IngestRequest((str(path),), INCIDENT, workers=1))


def written(path: Path, value: Any) -> Any:
    many = path.suffix == ".jsonl"
    path.write_text("".join(json.dumps(v) + "\n" for v in value) if many else json.dumps(value), encoding="utf-8")
    return read(path)


def seen(found: Any) -> tuple[str, int, int]:
    [i] = found.inputs
    return i.format, i.records, i.framing


def call(number: int, usage: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": f"c{number}", "project_id": "e/p", "op_name": "weave:///e/p/op/x:1", "trace_id": "t", "parent_id": None,
        "started_at": "2026-09-02T08:41:12Z", "inputs": {"model": MODEL}, "exception": None,
        "summary": {"usage": usage, "weave": {"status": "success"}}, **more,
    }  # fmt: skip


def test_a_weave_call_that_adds_up_its_children_is_framing(tmp_path: Path) -> None:
    one = {"prompt_tokens": 700_000, "completion_tokens": 5, "requests": 1}
    calls = [
        call(1, {MODEL: {**one, "requests": 3}}), call(2, {MODEL: one}, parent_id="c1"),
        call(3, {MODEL: one, "gpt": one}), call(4, {}), call(5, {}, inputs={"query": "x"}),
    ]  # fmt: skip
    found = written(tmp_path / "calls.jsonl", calls)
    assert seen(found) == ("weave", 2, 3)
    rows = {r["record_id"]: r for r in found.records.to_pylist()}
    assert [rows[k]["prompt_tokens_max"] for k in ("c2", "c4")] == [700_000, None]


def test_weave_usage_spread_over_columns_is_read(tmp_path: Path) -> None:
    row = call(1, None) | {f"summary.usage.{MODEL}.prompt_tokens": 700_000, f"summary.usage.{MODEL}.requests": 1}
    del row["summary"]
    pl.DataFrame([{**row, "inputs": json.dumps(row["inputs"])}]).write_csv(tmp_path / "calls.csv")
    found = read(tmp_path / "calls.csv")
    assert found.inputs[0].format == "weave"
    assert found.records["prompt_tokens_min"].to_pylist() == [700_000]


def run(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}", "trace_id": "r1", "parent_run_id": None, "run_type": kind, "start_time": "2026-09-02T08:41:12",
        "status": "success", "prompt_tokens": 700_000, "completion_tokens": 5,
        "extra": {"metadata": {"ls_model_name": MODEL, "tenant": "team-a"}}, **more,
    }  # fmt: skip


@pytest.mark.parametrize("wrapped", [False, True], ids=["lines", "api"])
def test_a_langsmith_chain_that_repeats_its_calls_is_framing(tmp_path: Path, *, wrapped: bool) -> None:
    runs = [run(1, "chain"), run(2, "llm", parent_run_id="r1"), run(3, "tool")]
    found = written(tmp_path / ("runs.json" if wrapped else "runs.jsonl"), {"runs": runs} if wrapped else runs)
    assert seen(found) == ("langsmith", 1, 2)
    [row] = found.records.to_pylist()
    assert (row["tenant"], row["prompt_tokens_min"]) == ("team-a", 700_000)
    assert row["started_earliest"] == 1_788_338_472_000_000


def mlflow(spans: list[Any] | None, **info: Any) -> dict[str, Any]:
    about = {
        "trace_id": "tr-1", "trace_location": {}, "request_time": "2026-09-02T08:41:12Z", "state": "OK",
        "trace_metadata": {"mlflow.trace.tokenUsage": USAGE, "mlflow.trace.user": "u-1"}, **info,
    }  # fmt: skip
    return {"info": about} if spans is None else {"info": about, "data": {"spans": spans}}


def mlflow_span(number: int, kind: str) -> dict[str, Any]:
    return {
        "trace_id": "k8tD1cRXhQFvQZOwrrqXhg==", "span_id": f"s{number}", "start_time_unix_nano": 1788338472907000000,
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": {"mlflow.spanType": f'"{kind}"', "mlflow.llm.model": f'"{MODEL}"', "mlflow.chat.tokenUsage": USAGE},
    }  # fmt: skip


def test_the_spans_of_an_mlflow_trace_are_the_records(tmp_path: Path) -> None:
    spans = [mlflow_span(1, "AGENT"), mlflow_span(2, "CHAT_MODEL"), mlflow_span(3, "TOOL")]
    found = written(tmp_path / "traces.json", {"traces": [mlflow(spans)]})
    assert seen(found) == ("mlflow", 1, 2)
    [row] = found.records.to_pylist()
    assert (row["user"], row["model_text"], row["prompt_tokens_min"]) == ("u-1", MODEL, 700_000)
    ids = {i["kind"]: i["value"] for i in row["ids"]}
    assert ids["trace_id"] == "93cb43d5c45785016f4193b0aeba9786"


def test_an_mlflow_trace_without_its_spans_only_bounds_them(tmp_path: Path) -> None:
    found = written(tmp_path / "traces.json", {"traces": [mlflow(None), mlflow([mlflow_span(2, "CHAT_MODEL")])]})
    assert seen(found) == ("mlflow", 2, 0)
    bounds = [(r["prompt_tokens_min"], r["prompt_tokens_max"]) for r in found.records.sort_by("line").to_pylist()]
    assert bounds == [(None, 700_000), (700_000, 700_000)]


def test_mlflow_traces_one_a_line_are_read_by_their_spans(tmp_path: Path) -> None:
    traces = [mlflow([{**mlflow_span(n, "CHAT_MODEL"), "trace_id": f"{n:032x}"}]) for n in (1, 2)]
    found = written(tmp_path / "traces.jsonl", traces)
    assert seen(found) == ("mlflow", 2, 0)
    assert [r["model_text"] for r in found.records.to_pylist()] == [MODEL, MODEL]


def test_an_mlflow_trace_without_any_spans_beside_it_only_bounds_them(tmp_path: Path) -> None:
    found = written(tmp_path / "traces.json", {"traces": [mlflow(None)]})
    [row] = found.records.to_pylist()
    assert (row["prompt_tokens_min"], row["prompt_tokens_max"]) == (None, 700_000)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 690_000, "completion_tokens": 4}, (690_000, 690_000)),
        ({"prompt_tokens": 690_000, "prompt_tokens_details": {"cached_tokens": 655_360}}, (690_000, 690_000)),
        ({"input_tokens": 46_754, "cache_read_input_tokens": 655_360}, (702_114, 702_114)),
        ({"input_tokens": 400_000, "cache_read_input_tokens": 390_000}, (400_000, 790_000)),
    ],
)
def test_an_mlflow_span_without_counts_is_read_by_its_answer(
    tmp_path: Path, usage: dict[str, int], expected: tuple[int, int]
) -> None:
    span = mlflow_span(1, "CHAT_MODEL")
    del span["attributes"]["mlflow.chat.tokenUsage"]
    span["attributes"]["mlflow.spanOutputs"] = json.dumps({"choices": [{}], "usage": usage})
    [row] = written(tmp_path / "traces.json", {"traces": [mlflow([span])]}).records.to_pylist()
    assert (row["prompt_tokens_min"], row["prompt_tokens_max"]) == expected


@pytest.mark.parametrize("form", ["csv", "parquet", "nested.jsonl"])
def test_phoenix_spans_are_read_as_tables_and_as_objects(tmp_path: Path, form: str) -> None:
    flat = [
        {"context.span_id": f"s{n}", "context.trace_id": "t", "parent_id": None, "span_kind": kind,
         "start_time": "2026-09-02T08:41:12+00:00", "status_code": "OK", "attributes.llm.model_name": MODEL,
         "attributes.llm.token_count.prompt": 700_000, "attributes.llm.token_count.completion": 7}
        for n, kind in ((1, "CHAIN"), (2, "LLM"))
    ]  # fmt: skip
    nested = [
        {"context": {"span_id": r["context.span_id"], "trace_id": "t"}, "span_kind": r["span_kind"],
         "start_time": r["start_time"], "status_code": "OK",
         "attributes": {"llm": {"model_name": MODEL, "token_count": {"prompt": 700_000, "completion": 7}}}}
        for r in flat
    ]  # fmt: skip
    path = tmp_path / f"spans.{form}"
    if form == "csv":
        pl.DataFrame(flat).write_csv(path)
    elif form == "parquet":
        pl.DataFrame(flat).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in nested), encoding="utf-8")
    found = read(path)
    assert found.inputs[0].format == "phoenix"
    [row] = found.records.to_pylist()
    assert (row["record_id"], row["prompt_tokens_min"], row["has_output"]) == ("s2", 700_000, True)


def otlp(provider: str, usage: dict[str, int]) -> dict[str, Any]:
    values = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": MODEL,
        "ai.model.provider": provider,
        **usage,
    }
    pairs = [{"key": k, "value": {"stringValue" if type(v) is str else "intValue": v}} for k, v in values.items()]
    return {"traceId": "a", "spanId": "b", "name": "n", "startTimeUnixNano": "1788338472907000000", "attributes": pairs}


@pytest.mark.parametrize(
    ("provider", "more", "expected"),
    [
        ("workersai.chat", {}, 650_000),
        ("anthropic.messages", {}, 690_000),
        ("anthropic.messages", {"ai.usage.inputTokenDetails.noCacheTokens": 610_000}, 650_000),
    ],
    ids=["inclusive", "exclusive-before-6", "inclusive-from-6"],
)
def test_the_ai_sdk_counts_the_cache_by_provider_and_version(
    tmp_path: Path, provider: str, more: dict[str, int], expected: int
) -> None:
    usage = {"ai.usage.inputTokens": 650_000, "ai.usage.cachedInputTokens": 40_000, "ai.usage.totalTokens": 650_009,
             "ai.usage.outputTokens": 9, **more}  # fmt: skip
    [row] = written(tmp_path / "t.jsonl", [otlp(provider, usage)]).records.to_pylist()
    assert (row["prompt_tokens_min"], row["prompt_tokens_max"]) == (expected, expected)


def test_the_gateways_own_span_says_who_served_the_call(tmp_path: Path) -> None:
    values = {"gen_ai.request.model": "glm-5.3", "gen_ai.model.provider": "custom-zai", "team": "team-a"}
    pairs = [{"key": k, "value": {"stringValue": v}} for k, v in values.items()]
    span = {"traceId": "a", "spanId": "b", "name": "n", "startTimeUnixNano": "1788338472907000000", "attributes": pairs}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}), encoding="utf-8")
    found = read(path)
    assert seen(found) == ("cloudflare-aig-otel", 1, 0)
    assert found.off_model_dropped == 1


TAGS = {"gen_ai.request.model": MODEL, "gen_ai.usage.input_tokens": "700000", "gen_ai.usage.output_tokens": "5"}
MICROSECONDS = 1_788_338_472_907_000


def jaeger(number: int, tags: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    refs = [] if parent is None else [{"refType": "CHILD_OF", "traceID": "a" * 32, "spanID": parent}]
    listed = [{"key": k, "type": "int64" if v.isdigit() else "string", "value": int(v) if v.isdigit() else v}
              for k, v in tags.items()]  # fmt: skip
    return {"traceID": "a" * 32, "spanID": f"{number:016x}", "operationName": "chat", "references": refs,
            "startTime": MICROSECONDS, "duration": 40_000_000, "tags": listed, "logs": [], "processID": "p1"}  # fmt: skip


def zipkin(number: int, tags: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"traceId": "a" * 32, "id": f"{number:016x}", "parentId": parent, "name": "chat", "kind": "CLIENT",
            "timestamp": MICROSECONDS, "duration": 40_000_000, "tags": tags}  # fmt: skip


def jaeger_answer(*spans: Any) -> Any:
    return {"data": [{"traceID": "a" * 32, "spans": spans, "processes": {"p1": {"serviceName": "s"}}}], "errors": None}


@pytest.mark.parametrize(
    ("write", "around"),
    [(jaeger, jaeger_answer), (zipkin, lambda *spans: [spans]), (zipkin, lambda *spans: spans)],
)
def test_spans_of_jaeger_and_zipkin_are_read_in_microseconds(tmp_path: Path, write: Any, around: Any) -> None:
    http = {"http.request.method": "POST", "http.response.status_code": "200"}
    found = written(tmp_path / "spans.json", around(write(1, TAGS), write(2, http, f"{1:016x}")))
    assert seen(found) == ("otlp-json", 1, 1)
    [row] = found.records.to_pylist()
    assert (row["started_earliest"], row["started_latest"]) == (MICROSECONDS, MICROSECONDS)
    assert (row["model_match"], row["prompt_tokens_min"], row["http_status"]) == (True, 700_000, 200)


def test_an_application_record_that_resembles_a_span_stays_one(tmp_path: Path) -> None:
    record = {"traceId": "t", "id": "1", "timestamp": 1_788_338_472_907, "tags": {"a": "b"}, "model": MODEL, "status": 200,
              "usage": {"prompt_tokens": 700_000}}  # fmt: skip
    found = written(tmp_path / "app.jsonl", [record, {**record, "id": "2"}])
    assert seen(found) == ("app-json", 2, 0)


def test_the_call_among_the_spans_of_an_export_request_inside_a_wrapper_is_found(tmp_path: Path) -> None:
    path = tmp_path / "container.log"
    stamp = "2026-09-02T08:41:52.1Z stdout F "
    requests = [
        export(http(1, 2, 200), chat(2, 700_000), chat(3, 12)), export(chat(4, 900_000, model="gpt-4o")),
    ]  # fmt: skip
    path.write_text("".join(stamp + json.dumps(r) + "\n" for r in requests), encoding="utf-8")
    found = read(path)
    assert seen(found) == ("cri > otlp-json", 2, 0)
    [row] = [r for r in found.records.to_pylist() if r["model_match"]]
    assert (row["prompt_tokens_min"], row["reasons"]) == (700_000, ["calls_in_event:2"])


@pytest.mark.parametrize(
    ("state", "interval"),
    [
        ("ot=th:c", 4.0), ("rojo=1,ot=rv:6e6d1a75832a2f;th:fd70a", 100.0), ("ot=th:0", 1.0), ("ot=rv:abcdef", None),
        ("rot=th:c", None), ("ot=th:", None), ("ot=th:123456789abcdef", None), ("", None),
    ],
)  # fmt: skip
def test_a_span_tells_for_how_many_it_stands(tmp_path: Path, state: str, interval: float | None) -> None:
    span = {**otlp("workers-ai", {"ai.usage.inputTokens": 700_000}), "traceState": state}
    request = {"resourceSpans": [{"scopeSpans": [{"spans": [span, {**span, "spanId": "c"}]}]}]}
    found = written(tmp_path / "t.jsonl", [request])
    told = found.records["sample_interval"].to_pylist()
    assert told == [interval if interval is None else pytest.approx(interval, rel=1e-4)] * 2
    assert list(found.inputs[0].intervals) == ([told[0]] if interval and interval > 1 else [])
