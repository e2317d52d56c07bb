"""Is nothing cleared that may hold a call on the affected model in a place that is not read as a record's own?"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvforensics.case import Case, CheckOptions, CheckResult
from spans import START, Json, chat, export, http, listed, span
from spans import lines as requests

MODEL = "@cf/zai-org/glm-5.3"
OTHER = "@cf/meta/llama-3.3-70b"


def body(model: str, count: int) -> str:
    return json.dumps({"model": model, "usage": {"prompt_tokens": count}})


def asked(response: Any, **more: Any) -> Json:
    """A dump of a call on another model."""
    return {"request": {"model": OTHER}, "response": response, **more}


def lines(*rows: Json) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def check(*paths: Path) -> CheckResult:
    with Case() as case:
        return case.check(CheckOptions(tuple(map(str, paths)), workers=1))


def flagged(result: CheckResult) -> list[tuple[int, str, bool | None]]:
    return [(r["line"], r["disposition"], r["on_model"]) for r in result.findings.to_pylist()]


BESIDE: dict[str, tuple[Json, bool]] = {
    "two answers": (asked(f"{body(OTHER, 5)}\n{body(MODEL, 700_000)}"), True),
    "a cut answer": (asked(body(MODEL, 700_000)[:-1]), True),
    "an answer cut in its name": (asked('{"model":"@cf/zai-org/gl'), True),
    "a cut answer after another": (asked(f"{body(OTHER, 5)}\n{body(MODEL, 7)[:-1]}"), True),
    "a cut stream after another": (asked(f"data: {body(OTHER, 5)}\n\ndata: {body(MODEL, 7)[:-1]}"), True),
    "a cut body": ({"request": {"body": {"model": OTHER}}, "response": {"body": body(MODEL, 7)[:-1]}}, True),
    "a call with an answer": ({"model": OTHER, "response": json.loads(body(MODEL, 700_000))}, True),
    "a call with an answer as text": ({"model": OTHER, "response": body(MODEL, 700_001)}, True),
    "a call with a cut answer": ({"model": OTHER, "response": body(MODEL, 700_000)[:-1]}, True),
    "a call that ended elsewhere": ({"model": OTHER, "final_model": MODEL, "prompt_tokens": 700_002}, True),
    "a call that was routed": ({"model": OTHER, "upstream_model": MODEL, "prompt_tokens": 700_003}, True),
    "a text in an answer": (asked({"model": OTHER, "choices": [{"message": {"content": body(MODEL, 7)[:-1]}}]}), False),
    "a text in a cut answer": (asked(json.dumps({"text": body(MODEL, 7)})[:-1]), False),
    "prose": (asked(f"the long window of {MODEL}"), False),
    "a prompt": ({"model": OTHER, "usage": {"prompt_tokens": 700_000}, "prompt": body(MODEL, 7)[:-1]}, False),
    "another host": (asked(body("glm-5.3", 700_000)[:-1], url="https://api.z.ai/v1"), False),
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, str, bool | None]]]:
    """What is found in logs of other models, in each of which the last record is odd."""
    folder = tmp_path_factory.mktemp("beside")
    plain = {True: asked(json.loads(body(OTHER, 9))), False: json.loads(body(OTHER, 9))}
    found = {}
    for minute, (name, (odd, _)) in enumerate(BESIDE.items()):
        about = {"ts": f"2026-09-03T10:{minute:02}:00Z", "status": 200}
        path = folder / f"{minute}.jsonl"
        path.write_text(lines(*([about | plain["request" in odd]] * 20), about | odd), encoding="utf-8")
        found[path.name] = name
    rows = check(folder).findings.to_pylist()
    told = [(found[r["source"].rsplit("/", 1)[-1]], (r["line"], r["disposition"], r["on_model"])) for r in rows]
    return {name: [row for n, row in told if n == name] for name in BESIDE}


@pytest.mark.parametrize("name", BESIDE)
def test_a_record_of_another_model_that_keeps_an_answer_of_the_affected_one_is_left_open(
    name: str, beside: dict[str, list[tuple[int, str, bool | None]]]
) -> None:
    assert beside[name] == ([(21, "possible", None)] if BESIDE[name][1] else [])


def write_lines(rows: list[Json], path: Path) -> None:
    path.write_text(lines(*rows), encoding="utf-8")


def write_csv(rows: list[Json], path: Path) -> None:
    pl.DataFrame(rows, infer_schema_length=None).write_csv(path, include_header=True)


def write_parquet(rows: list[Json], path: Path) -> None:
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path, row_group_size=8)


@pytest.mark.parametrize("write", [write_lines, write_csv, write_parquet])
def test_a_call_whose_model_is_null_is_a_record_where_it_counts_a_prompt(tmp_path: Path, write: Any) -> None:
    about = {"ts": "2026-09-03T10:00:00Z", "status": 200}
    told = [*([(OTHER, 9)] * 20), (None, 700_000), (None, 9), (None, None)]
    write([{**about, "model": model, "tokens_in": count} for model, count in told], tmp_path / "log")
    result = check(tmp_path / "log")
    assert flagged(result) == [(21 + (write is write_csv), "possible", None)]
    assert result.summary["ledger"]["records"] == 22


@pytest.mark.parametrize("write", [write_lines, write_csv, write_parquet])
def test_a_row_of_no_format_is_no_framing_where_a_text_in_it_may_be_a_call_on_the_model(tmp_path: Path, write: Any) -> None:
    about = {"ts": "2026-09-03T10:00:00Z", "team": "a"}
    told = [*([(OTHER, "")] * 20), (None, body(MODEL, 7)[:-1]), (None, f"about {MODEL}"), (None, "x"), (None, None)]
    write([{**about, "kept": text, "model": model} for model, text in told], tmp_path / "log")
    summary = check(tmp_path / "log").summary
    assert (summary["ledger"]["records"], summary["ledger"]["rejected"]) == (20, 1)


def test_a_parquet_file_that_is_not_understood_is_searched_for_the_model(tmp_path: Path) -> None:
    for name, text in (("named", f"about {MODEL}"), ("other", "x")):
        pl.DataFrame({"note": ["y" * 9, text] * 50, "n": range(100)}).write_parquet(tmp_path / f"{name}.parquet")
    warnings = check(tmp_path).summary["warnings"]
    assert ["named.parquet" in w["message"] for w in warnings if w["code"] == "not_understood_mentions_model"] == [True]


def test_a_parquet_file_of_records_around_calls_kept_as_text_is_read(tmp_path: Path) -> None:
    rows = [{"ts": "2026-09-02T10:00:00Z", "status": 200, "payload": body(MODEL, n)} for n in (700_000, 9)]
    write_parquet(rows, tmp_path / "log.parquet")
    assert flagged(check(tmp_path / "log.parquet")) == [(1, "affected", True)]


IN_BYTES = {
    "attributes": [
        {"key": "gen_ai.request.model", "value": {"bytesValue": base64.b64encode(MODEL.encode()).decode()}},
        *listed({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 700_000}),
    ],
}


def event(values: Json) -> Json:
    """An event of a span."""
    return {"name": "x", "timeUnixNano": str(START), "attributes": listed(values)}


KINDLESS: dict[str, tuple[list[Json], list[str]]] = {
    "a deployment and a count": ([span(50, {"llm.deployment": MODEL, "gen_ai.usage.input_tokens": 700_000})], ["possible"]),
    "a deployment alone": ([span(50, {"llm.deployment": MODEL})], ["possible"]),
    "the name in capitals": ([span(50, {"ai.engine": "GLM-5.3"})], ["possible"]),
    "a long count alone": ([span(50, {"llm.prompt.tokens": 700_000})], ["possible"]),
    "a long count of OpenInference": ([span(50, {"llm.token_count.prompt": 700_000})], ["possible"]),
    "a short count alone": ([span(50, {"llm.prompt.tokens": 60_000})], []),
    "another model and the name": ([chat(50, 700_000, model=OTHER, **{"llm.deployment": MODEL})], ["possible"]),
    "another model and the name, short": ([chat(50, 7, model=OTHER, **{"llm.deployment": MODEL})], []),
    "the model by another convention": ([chat(50, 700_000, model=OTHER, **{"ai.model.id": MODEL})], ["possible"]),
    "a second name for the model": ([chat(50, 700_000, model=OTHER, **{"llm.model_name": MODEL})], ["possible"]),
    "the model by two conventions": ([chat(50, 7, **{"llm.model_name": MODEL})], []),
    "a call in an event": (
        [span(50, {}, events=[event({"gen_ai.request.model": MODEL, "gen_ai.usage.input_tokens": 700_000})])], ["possible"],
    ),
    "a model in an event": ([span(50, {}, events=[event({"step": 1}), event({"model": MODEL})])], ["possible"]),
    "a long count in an event": ([span(50, {}, events=[event({"usage.input_tokens": 700_000})])], ["possible"]),
    "a short count in an event": ([span(50, {}, events=[event({"usage.input_tokens": 60_000, "model": OTHER})])], []),
    "prose in an event": ([span(50, {}, events=[event({"exception.message": f"no answer of {MODEL}"})])], []),
    "another model and the name in an event": (
        [chat(50, 700_000, model=OTHER, own={"events": [event({"fallback.model": MODEL})]})], ["possible"],
    ),
    "another model and the name in an event, short": (
        [chat(50, 7, model=OTHER, own={"events": [event({"fallback.model": MODEL})]})], [],
    ),
    "a model in bytes": (
        [span(50, {}) | IN_BYTES], ["possible"],
    ),
    "prose": ([span(50, {"input.value": f"tell me about {MODEL}"})], []),
    "the address of an HTTP span": (
        [chat(50, 700_000), span(51, {"url.full": f"https://api.cloudflare.com/ai/run/{MODEL}"}, 50)], ["possible"],
    ),
    "a chain": ([span(50, {"traceloop.span.kind": "workflow", "metadata.model": MODEL, "x.prompt_tokens": 700_000})], []),
    "a span around calls": (
        [span(49, {"app.model": MODEL}), chat(50, 700_001, 49), chat(51, 700_002, 49)], ["duplicate", "possible", "possible"],
    ),
    "a span around short calls": ([span(49, {"app.model": MODEL, "app.prompt_tokens": 900_000}), chat(50, 5, 49)], []),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDLESS)
def test_a_span_of_no_kind_is_left_open_where_it_names_the_model_or_counts_a_long_prompt(tmp_path: Path, name: str) -> None:
    spans, expected = KINDLESS[name]
    spans = [s | {"attributes": [a for a in s["attributes"] if a["key"] != "gen_ai.usage.output_tokens"]} for s in spans]
    around = [export(chat(n, 5, model=OTHER), http(100 + n, n, 200)) for n in range(1, 20)]
    path = tmp_path / "spans.jsonl"
    path.write_text(requests(*around, export(*spans)), encoding="utf-8")
    assert [disposition for _, disposition, _ in flagged(check(path))] == expected


TWICE = json.dumps(chat(50, 700_000)["attributes"])
ODD_LINES = {
    "an export request in a place of its own": json.dumps({"kept": export(chat(50, 700_000))}),
    "attributes given twice": json.dumps(span(50, {"x": 1})).replace('"attributes"', f'"attributes": {TWICE}, "attributes"'),
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_a_line_between_spans_that_may_hold_a_call_is_no_framing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(requests(*(export(chat(n, 5, model=OTHER)) for n in range(9))) + ODD_LINES[name], encoding="utf-8")
    ledger = check(path).summary["ledger"]
    assert (ledger["records"], ledger["rejected"], ledger["framing"]) == (9, 1, 0)


def logged(number: int, body: Json | str, **attributes: Any) -> Json:
    """A log record of OpenTelemetry."""
    held = {"stringValue": body} if isinstance(body, str) else {"kvlistValue": {"values": listed(body)}}
    return {"timeUnixNano": str(START + number), "severityText": "INFO", "body": held, "attributes": listed(attributes)}


def logs(*records: Json) -> Json:
    return {"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": list(records)}]}]}


HEALTH = [logged(n, "GET /healthz 200") for n in range(9)]
LOG_RECORDS: dict[str, tuple[list[Json], list[str], int]] = {
    "a call as text": ([logs(*HEALTH, logged(9, body(MODEL, 700_000)))], ["possible"], 0),
    "a cut call": ([logs(*HEALTH), logs(logged(9, body(MODEL, 700_000)[:-1]))], [], 1),
    "a cut call beside spans": ([export(chat(1, 5)), logs(logged(9, body(MODEL, 700_000)[:-1]))], [], 1),
    "a call as a map": ([logs(*HEALTH, logged(9, {"model": MODEL, "prompt_tokens": 700_000}))], ["possible"], 0),
    "attributes": ([logs(*HEALTH, logged(9, "answered", model=MODEL, prompt_tokens=700_000))], ["possible"], 0),
    "a line that names it": ([logs(*HEALTH, logged(9, f"about {MODEL}"))], [], 1),
    "another line": ([logs(*HEALTH, logged(9, "about glm-5.2"))], [], 0),
}


@pytest.mark.parametrize("name", LOG_RECORDS)
def test_a_call_that_a_log_record_of_opentelemetry_keeps_is_no_framing(tmp_path: Path, name: str) -> None:
    documents, expected, rejects = LOG_RECORDS[name]
    path = tmp_path / "logs.jsonl"
    path.write_text(requests(*documents), encoding="utf-8")
    result = check(path)
    assert [disposition for _, disposition, _ in flagged(result)] == expected
    assert result.summary["ledger"]["rejected"] == rejects


@pytest.mark.parametrize(("beside", "rejected"), [(MODEL, 1), (OTHER, 0)])
def test_a_call_in_fields_beside_the_text_of_a_wrapper_is_no_framing(tmp_path: Path, beside: str, rejected: int) -> None:
    told = [(body(OTHER, 9), {})] * 20 + [("answered", {"MODEL": beside, "PROMPT_TOKENS": "700000"})]
    path = tmp_path / "journal.json"
    path.write_text(
        lines(*({"__REALTIME_TIMESTAMP": f"{1788400000000000 + n}", "_PID": "1", "MESSAGE": text, **more}
                for n, (text, more) in enumerate(told))),
        encoding="utf-8",
    )  # fmt: skip
    ledger = check(path).summary["ledger"]
    assert (ledger["records"], ledger["rejected"], ledger["framing"]) == (20, rejected, 1 - rejected)
