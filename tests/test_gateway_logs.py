"""Are the logs of gateways, proxies and tracing tools one story, in whatever container they come?"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvforensics.case import Case, CheckOptions, CheckResult
from kvforensics.formats import by_name

MODEL = "@cf/zai-org/glm-5.3"
GATEWAY = "https://gateway.ai.cloudflare.com/v1/acc/gw/workers-ai/v1"
Row = dict[str, Any]


def check(*paths: Path, **options: Any) -> CheckResult:
    with Case() as case:
        return case.check(CheckOptions(tuple(str(p) for p in paths), workers=1, **options))


def found(result: CheckResult) -> dict[str, Row]:
    """Every finding by its last name and line, with its ids as a table."""
    rows = result.findings.to_pylist()
    return {
        f"{r['source'].rsplit('/', 1)[-1]}:{r['line']}": {**r, "ids": {i["kind"]: i["value"] for i in r["ids"] or ()}}
        for r in rows
    }


def dispositions(result: CheckResult) -> dict[str, str]:
    return {place: row["disposition"] for place, row in found(result).items()}


def lines(path: Path, *rows: Row) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def table(path: Path, *rows: Row) -> Path:
    """A CSV file with JSON in its cells."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    for row in rows:
        writer.writerow({k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()})
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def spend(number: int, **changed: Any) -> Row:
    row = {
        "request_id": f"chatcmpl-{number}", "call_type": "acompletion", "api_key": "hash", "spend": 0.9,
        "total_tokens": 703_321, "prompt_tokens": 702_114, "completion_tokens": 1207,
        "startTime": f"2026-09-02 08:{number:02d}:12.907", "endTime": f"2026-09-02 08:{number:02d}:22.027",
        "model": f"openai/{MODEL}", "model_group": "big", "custom_llm_provider": "openai", "api_base": GATEWAY,
        "user": "u-1", "metadata": {"user_api_key_alias": "k", "usage_object": {"prompt_tokens": 702_114}},
        "cache_hit": "False", "request_tags": ["prod"], "team_id": "team-a", "organization_id": "",
        "status": "success", "litellm_call_id": f"call-{number}",
    }  # fmt: skip
    return {**row, **changed}


def payload(number: int, **changed: Any) -> Row:
    row = {
        "id": f"chatcmpl-{number}", "litellm_call_id": f"call-{number}", "call_type": "acompletion", "response_cost": 0.9,
        "status": "success", "custom_llm_provider": "openai", "prompt_tokens": 702_114, "completion_tokens": 1207,
        "total_tokens": 703_321, "startTime": 1_788_336_072.907 + 60 * number, "model": f"openai/{MODEL}",
        "api_base": GATEWAY, "metadata": {"user_api_key_hash": "hash", "user_api_key_team_id": "team-a"},
        "cache_hit": False,
        "hidden_params": {
            "additional_headers": {
                "llm_provider-cf-aig-log-id": f"01M1GMF1YBVDSE8P8M2W5DJV{number:02d}",
                "llm_provider-cf-ray": f"c65c7d358778{number:04d}-AMS",
            }
        },
    }  # fmt: skip
    return {**row, **changed}


def gateway(number: int, **changed: Any) -> Row:
    row = {
        "id": f"01M1GMF1YBVDSE8P8M2W5DJV{number:02d}", "cached": False, "success": True, "status_code": 200,
        "created_at": f"2026-09-02T08:{number:02d}:12.907Z", "duration": 9120, "model": MODEL, "provider": "workers-ai",
        "tokens_in": 702_114, "tokens_out": 1207, "metadata": json.dumps({"team": "team-a"}),
    }  # fmt: skip
    return {**row, **changed}


def observation(number: int, **changed: Any) -> Row:
    row = {
        "id": f"obs-{number}", "trace_id": f"trace-{number}", "project_id": "p", "type": "GENERATION",
        "parent_observation_id": "", "start_time": f"2026-09-02 08:{number:02d}:12.907000", "level": "DEFAULT",
        "provided_model_name": f"workers-ai/{MODEL}", "metadata": {"team": "team-a"},
        "usage_details": {"input": 46_754, "input_cached_tokens": 655_360, "output": 1207, "total": 703_321},
        "output": json.dumps({"id": f"chatcmpl-{number}", "choices": []}), "user_id": "u-1",
    }  # fmt: skip
    return {**row, **changed}


def helicone(number: int, **changed: Any) -> Row:
    row = {
        "request_id": f"hel-req-{number}", "response_id": f"hel-res-{number}", "response_status": 200,
        "request_created_at": f"2026-09-02 08:{number:02d}:12.907", "response_body": {"id": f"chatcmpl-{number}"},
        "response_created_at": f"2026-09-02 08:{number:02d}:22.027", "request_model": MODEL, "provider": "CUSTOM",
        "request_path": f"{GATEWAY}/chat/completions", "delay_ms": 9120, "prompt_tokens": 46_754,
        "prompt_cache_read_tokens": 655_360, "prompt_cache_write_tokens": 0, "completion_tokens": 1207,
        "total_tokens": 703_321, "request_properties": {"team": "team-a"}, "request_user_id": "u-1",
        "cache_reference_id": "00000000-0000-0000-0000-000000000000",
    }  # fmt: skip
    return {**row, **changed}


def portkey(number: int, **changed: Any) -> Row:
    row = {
        "id": f"pk-{number}", "trace_id": f"pk-trace-{number}", "ai_org": "workers-ai", "ai_model": MODEL,
        "created_at": f"Wed Sep 02 2026 08:{number:02d}:22 GMT+0000 (Coordinated Universal Time)", "is_success": 1,
        "req_units": 702_114, "res_units": 1207, "response_status_code": 200, "response_time": 9120,
        "cache_status": "MISS", "metadata": {"team": "team-a", "_user": "u-1"},
        "response": {"id": f"chatcmpl-{number}", "usage": {"prompt_tokens": 702_114, "total_tokens": 703_321}},
    }  # fmt: skip
    return {**row, **changed}


def generation(number: int, **changed: Any) -> Row:
    row = {
        "generation_id": f"gen-{number}", "created_at": f"2026-09-02 08:{number:02d}:12.907", "tokens_prompt": 702_114,
        "tokens_completion": 1207, "tokens_cached": 655_360, "model_permaslug": "z-ai/glm-5.3-20260820",
        "provider_name": "Cloudflare", "cancelled": "false", "user": "u-1", "finish_reason_raw": "stop",
        "finish_reason_normalized": "stop", "generation_time_ms": 9120, "api_key_name": "k", "app_name": "app",
    }  # fmt: skip
    return {**row, **changed}


def app(number: int, **changed: Any) -> Row:
    row = {
        "started_at": f"2026-09-02T08:{number:02d}:12.900Z", "model": MODEL, "status": 200, "team": "team-a",
        "usage": {"prompt_tokens": 702_114, "completion_tokens": 1207, "total_tokens": 703_321},
        "litellm_call_id": f"call-{number}",
    }  # fmt: skip
    return {**row, **changed}


def test_the_same_requests_in_seven_sources_are_counted_once_with_the_ids_that_join_them(tmp_path: Path) -> None:
    numbers = (1, 2, 3)
    pages = tmp_path / "gateway.json"
    pages.write_text(json.dumps({"result": [gateway(n) for n in numbers], "success": True}), encoding="utf-8")
    table(tmp_path / "spend.csv", *(spend(n) for n in numbers))
    lines(tmp_path / "payloads.ndjson", *(payload(n) for n in numbers))
    lines(tmp_path / "langfuse.jsonl", *(observation(n) for n in numbers))
    lines(tmp_path / "helicone.jsonl", *(helicone(n) for n in numbers))
    lines(tmp_path / "portkey.jsonl", *(portkey(n) for n in numbers))
    lines(tmp_path / "app.jsonl", *(app(n) for n in numbers))
    result = check(tmp_path)
    assert result.summary["responses"] == {"affected": 3, "possible": 0, "lower": 3, "upper": 3}
    assert result.summary["duplicates"] == 18
    ids = {place: row["ids"] for place, row in found(result).items()}
    call, answer, log = "call-2", "chatcmpl-2", "01M1GMF1YBVDSE8P8M2W5DJV02"
    assert ids["app.jsonl:2"]["litellm_call_id"] == call
    assert (ids["spend.csv:3"]["litellm_call_id"], ids["spend.csv:3"]["response_id"]) == (call, answer)
    assert (ids["payloads.ndjson:2"]["response_id"], ids["payloads.ndjson:2"]["cf_aig_log_id"]) == (answer, log)
    assert ids["gateway.json:2"]["cf_aig_log_id"] == log
    assert ids["langfuse.jsonl:2"]["response_id"] == ids["portkey.jsonl:2"]["response_id"] == answer
    assert ids["helicone.jsonl:2"]["upstream_id"] == answer


def test_attempts_of_a_retry_are_different_calls_and_the_failed_one_is_outside(tmp_path: Path) -> None:
    error = {"error_information": {"error_code": "502", "error_class": "BadGatewayError"}}
    failed = spend(1, request_id="call-0", litellm_call_id="call-0", prompt_tokens=0, completion_tokens=0, total_tokens=0,
                   status="failure", metadata=error)  # fmt: skip
    table(tmp_path / "spend.csv", failed, spend(1))
    lines(
        tmp_path / "portkey.jsonl",
        portkey(1, id="pk-0", response={"error": "x"}, response_status_code=502, is_success=0, req_units=0, res_units=0),
        portkey(1),
    )  # fmt: skip
    result = check(tmp_path)
    assert result.summary["responses"]["upper"] == result.summary["responses"]["affected"] == 1
    assert result.summary["outside"]["served"] == 2


LATER = "2026-10-01"
def test_attempts_that_share_the_id_of_their_request_are_one_call_with_the_application_line(tmp_path: Path) -> None:
    error = {"error_information": {"error_code": "502", "error_class": "BadGatewayError"}}
    counts = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    table(tmp_path / "spend.csv", spend(1, request_id="call-1", status="failure", metadata=error, **counts), spend(1))
    lines(tmp_path / "app.jsonl", app(1))
    result = check(tmp_path)
    assert dispositions(result) == {"app.jsonl:1": "affected", "spend.csv:3": "duplicate"}
    assert result.summary["outside"]["served"] == 1


def test_a_replay_that_two_logs_tell_is_one(tmp_path: Path) -> None:
    again = {"litellm_call_id": "call-9"}
    suffixed = "chatcmpl-4_cache_hit1790812800.21"
    table(tmp_path / "spend.csv", spend(4, request_id=suffixed, cache_hit="True", **again))
    lines(tmp_path / "payload.jsonl", payload(4, id=suffixed, cache_hit=True, hidden_params={}, **again))
    assert check(tmp_path).summary["replays"] == 1


REPLAYS = [
    (
        "litellm",
        spend(4),
        spend(4, request_id="chatcmpl-4_cache_hit1790812800.21", litellm_call_id="call-9", cache_hit="True", spend=0,
              startTime=f"{LATER} 00:00:00.2", endTime=f"{LATER} 00:00:00.21"),
    ),
    (
        "payload",
        payload(4),
        payload(4, id="chatcmpl-4_cache_hit1790812800.21", litellm_call_id="call-9", cache_hit=True,
                startTime=1_790_812_800.2, hidden_params={}),
    ),
    (
        "helicone",
        helicone(4),
        helicone(5, cache_reference_id="33088018-008a-4720-a0b0-a7f6dd6f88bd",
                 request_created_at=f"{LATER} 00:00:00.2", response_body=None),
    ),
    (
        "portkey",
        portkey(4),
        portkey(4, id="pk-9", trace_id="pk-trace-9", cache_status="SEMANTIC HIT", created_at=f"{LATER}T00:00:00Z"),
    ),
    (
        "openrouter",
        generation(4, response_cache_source_id=""),
        generation(5, created_at=f"{LATER} 00:00:00.2", response_cache_source_id="gen-4"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "first", "again"), REPLAYS, ids=[r[0] for r in REPLAYS])
def test_a_replay_after_the_window_is_tied_to_the_call_that_it_repeats(
    tmp_path: Path, name: str, first: Row, again: Row
) -> None:
    if name == "helicone":
        first = {**first, "request_id": again["cache_reference_id"]}
    path = lines(tmp_path / f"{name}.jsonl", first, again)
    result = check(path)
    assert dispositions(result) == {f"{name}.jsonl:1": "affected", f"{name}.jsonl:2": "replay"}
    assert found(result)[f"{name}.jsonl:2"]["replay_of"] == f"{name}.jsonl:1"


@pytest.mark.parametrize(("name", "first", "again"), REPLAYS, ids=[r[0] for r in REPLAYS])
def test_a_replay_of_a_call_that_is_not_in_the_evidence_stays_a_replay(
    tmp_path: Path, name: str, first: Row, again: Row
) -> None:
    del first
    result = check(lines(tmp_path / f"{name}.jsonl", again))
    assert dispositions(result) == {f"{name}.jsonl:1": "replay"}
    assert result.exit_status == 11


def test_a_replay_of_a_short_call_is_outside(tmp_path: Path) -> None:
    short = {"prompt_tokens": 900, "total_tokens": 2107, "metadata": {}}
    again = spend(4, request_id="chatcmpl-4_cache_hit1790812800.21", cache_hit="True", litellm_call_id="call-9")
    result = check(lines(tmp_path / "spend.jsonl", spend(4, **short), {**again, **short}))
    assert dispositions(result) == {}
    assert result.summary["outside"]["over_threshold"] == 2


def test_a_proxy_replay_is_tied_to_the_first_call_in_the_gateway_log(tmp_path: Path) -> None:
    lines(tmp_path / "gateway.jsonl", gateway(4, response_head=json.dumps({"id": "chatcmpl-4"})))
    again = spend(4, request_id="chatcmpl-4_cache_hit1790812800.21", cache_hit="True", litellm_call_id="call-9")
    table(tmp_path / "spend.csv", again)
    result = check(tmp_path)
    assert dispositions(result) == {"gateway.jsonl:1": "affected", "spend.csv:2": "replay"}
    assert found(result)["spend.csv:2"]["replay_of"].endswith("gateway.jsonl:1")


def test_a_router_and_the_provider_behind_it_are_one_call(tmp_path: Path) -> None:
    single = {
        "id": "gen-4", "upstream_id": "chatcmpl-4", "created_at": "2026-09-02T08:04:12.907+00:00", "model": "z-ai/glm-5.3",
        "provider_name": "Cloudflare", "cancelled": False, "finish_reason": "stop", "native_tokens_prompt": 702_114,
        "tokens_prompt": 600_000, "native_tokens_completion": 1207, "generation_time": 9120,
    }  # fmt: skip
    (tmp_path / "generation.json").write_text(json.dumps({"data": single}), encoding="utf-8")
    table(tmp_path / "activity.csv", generation(4))
    lines(tmp_path / "portkey.jsonl", portkey(4, created_at=1_788_336_262_027))
    result = check(tmp_path)
    assert result.summary["responses"]["upper"] == 1
    assert result.summary["duplicates"] == 2


@pytest.mark.parametrize("make", [spend, payload, observation, helicone, portkey, generation])
def test_every_container_of_a_log_tells_the_same(tmp_path: Path, make: Any) -> None:
    rows = [make(n) for n in (1, 2)]
    other = make(3, **{k: "@cf/meta/llama-3.3-70b" for k in rows[0] if k in _MODELS})
    rows.append(other)
    lines(tmp_path / "a.jsonl", *rows)
    (tmp_path / "b.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps({"data": rows, "total": 3}), encoding="utf-8")
    if make not in (payload, observation):
        table(tmp_path / "d.csv", *rows)
        table(tmp_path / "e.csv", *({k: r[k] for k in reversed(r)} for r in rows))
    if make is observation:
        table(tmp_path / "d.csv", *rows)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "f.parquet")
    told = []
    for path in sorted(tmp_path.iterdir()):
        if make in (payload, observation) and path.name == "c.json":
            continue
        result = check(path)
        [report] = result.summary["inputs"]
        told.append((report["format"], report["records"], result.summary["responses"]["affected"], report["rejected"]))
    assert set(told) == {(told[0][0], 3, 2, 0)}


_MODELS = ("model", "model_group", "provided_model_name", "request_model", "ai_model", "model_permaslug")


def test_labels_kept_as_text_are_labels(tmp_path: Path) -> None:
    [row] = found(check(table(tmp_path / "spend.csv", spend(1)))).values()
    assert (row["tags"], row["tenant"], row["key"], row["user"]) == (["prod"], "team-a", "k", "u-1")


def test_traces_beside_the_observations_are_framing(tmp_path: Path) -> None:
    lines(tmp_path / "observations.jsonl", observation(1))
    trace = {"id": "trace-1", "timestamp": "2026-09-02 08:01:12", "name": "t", "user_id": "u", "session_id": "", "release": "",
             "metadata": {"model": MODEL}}  # fmt: skip
    lines(tmp_path / "traces.jsonl", trace)
    result = check(tmp_path)
    assert dispositions(result) == {"observations.jsonl:1": "affected"}
    assert [i["problems"] for i in result.summary["inputs"]] == [[], []]


def test_a_payload_inside_a_callback_is_found(tmp_path: Path) -> None:
    path = lines(tmp_path / "callback.jsonl", *({"event": "success", "standard_logging_object": payload(n)} for n in (1, 2)))
    result = check(path)
    assert result.summary["inputs"][0]["format"] == "litellm-standard-payload"
    assert dispositions(result) == {"callback.jsonl:1": "affected", "callback.jsonl:2": "affected"}


LANGFUSE = [
    ({"input": 46_754, "input_cached_tokens": 655_360, "output": 9, "total": 702_123}, "affected"),
    ({"input": 46_754, "cache_read_input_tokens": 600_000, "cache_creation_input_tokens": 55_360, "output": 9}, "affected"),
    ({"input": 702_114, "input_cached_tokens": 655_360, "output": 9, "total": 1_357_483}, "affected"),
    # The buckets come to more than the total: the input includes its cached part.
    ({"input": 400_000, "input_cached_tokens": 350_000, "output": 9, "total": 400_009}, None),
    # A total that Langfuse may have added up itself proves nothing.
    ({"input": 400_000, "input_cached_tokens": 350_000, "output": 9, "total": 750_009}, "possible"),
    ({"prompt_tokens": 702_114, "completion_tokens": 9, "total_tokens": 702_123, "cached_tokens": 655_360}, "affected"),
    ({"prompt_tokens": 400_000, "completion_tokens": 9, "total_tokens": 400_009, "cached_tokens": 350_000}, None),
    ({"input": 85, "output": 29, "total": 114, "prompt_details.cache_read": 0}, None),
    ({"input": 500_000, "input_audio_tokens": 10, "input_cached_tokens": 500_001, "output": 9}, "affected"),
    ({}, "possible"),
    ({"input": 0, "output": 0, "total": 0}, "possible"),
    ({"input": 46_754, "input_cached_tokens": "many", "output": 9}, "possible"),
]


@pytest.mark.parametrize(("usage", "expected"), LANGFUSE)
def test_buckets_of_langfuse_are_added_up_and_never_guessed(tmp_path: Path, usage: Row, expected: str | None) -> None:
    result = check(lines(tmp_path / "o.jsonl", observation(1, usage_details=usage), observation(2)))
    assert dispositions(result).get("o.jsonl:1") == expected


def test_the_provider_usage_in_a_stored_answer_settles_a_double_count(tmp_path: Path) -> None:
    answer = {"id": "chatcmpl-1", "usage": {"prompt_tokens": 400_000, "completion_tokens": 9, "total_tokens": 400_009}}
    usage = {"input": 400_000, "input_cached_tokens": 350_000, "output": 9, "total": 750_009}
    row = observation(1, usage_details=usage, output=json.dumps(answer))
    result = check(lines(tmp_path / "o.jsonl", row))
    assert dispositions(result) == {}
    assert result.summary["outside"]["over_threshold"] == 1


def test_an_outer_generation_and_the_one_inside_it_are_one_call(tmp_path: Path) -> None:
    inner = observation(1, id="inner", trace_id="t", parent_observation_id="outer")
    outer = observation(1, id="outer", trace_id="t", output="x")
    agent = observation(1, id="agent", trace_id="t", type="AGENT", output="x")
    result = check(lines(tmp_path / "o.jsonl", agent, outer, inner))
    assert dispositions(result) == {"o.jsonl:2": "affected", "o.jsonl:3": "duplicate"}
    assert result.summary["ledger"]["framing"] == 1


def test_structured_outputs_with_equal_ids_tie_nothing(tmp_path: Path) -> None:
    rows = [observation(n, output=json.dumps({"id": "ticket-5", "answer": 1})) for n in (1, 2)]
    assert check(lines(tmp_path / "o.jsonl", *rows)).summary["responses"]["affected"] == 2


SERVED = [
    (helicone(1, response_status=-3, prompt_tokens=None, completion_tokens=None, total_tokens=None), "possible"),
    (helicone(1, response_status=-2, prompt_tokens=None, completion_tokens=None, total_tokens=None), "possible"),
    (helicone(1, response_status=-1, prompt_tokens=None, completion_tokens=None, total_tokens=None), None),
    (helicone(1, response_status=500, completion_tokens=0), None),
    (generation(1, cancelled="true", tokens_completion=0), "possible"),
    (generation(1, finish_reason_normalized="error", tokens_completion=0), None),
    (generation(1, finish_reason_normalized=""), "affected"),
    (generation(1, provider_name="Z.AI"), None),
    (generation(1, provider_name=""), "possible"),
    (spend(1, status="failure", metadata={"error_information": {"error_code": "499"}}, completion_tokens=0), "possible"),
    (spend(1, status="failure", metadata={"error_information": {"error_code": "400"}}, completion_tokens=0), None),
    (spend(1, status="", metadata={"error_information": {"error_code": "", "error_class": ""}}), "affected"),
    (portkey(1, response_status_code=499, res_units=0), "possible"),
    (portkey(1, created_at="1788336082027"), "affected"),
    (portkey(1, created_at=1_788_336_082), "affected"),
    (observation(1, level="ERROR", status_message="HTTP 400", output="", usage_details={}), None),
    (observation(1, level="ERROR", status_message="HTTP 499", output="", usage_details={}), "possible"),
    (observation(1, level="DEFAULT", output="null", usage_details={"input": 702_114}), "possible"),
    *(
        ({"started_at": "2026-09-02T08:41:12Z", "model": "@cf/zai-org/glm-5.3", "prompt_tokens": 702_114,
          "status": status}, expected)
        for status, expected in (
            ("200 OK", "affected"), ("HTTP/1.1 200 OK", "affected"), ("400 Bad Request", None), (7, None), (0, "possible"),
            (-1, "possible"), ("1200 words", "possible"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), SERVED)
def test_states_of_a_log_are_read_as_it_means_them(tmp_path: Path, record: Row, expected: str | None) -> None:
    result = check(lines(tmp_path / "log.jsonl", record))
    assert dispositions(result).get("log.jsonl:1") == expected
    assert result.summary["inputs"][0]["records"] == 1


def test_chatter_of_the_proxy_console_is_framing_and_access_lines_are_records(tmp_path: Path) -> None:
    def line(message: str) -> Row:
        return {"message": message, "level": "INFO", "timestamp": "2026-09-02T10:41:22.027000", "component": "uvicorn.access",
                "logger": "h11_impl.py:476"}  # fmt: skip

    path = lines(
        tmp_path / "console.jsonl",
        line("Application startup complete."),
        line('2001:db8:0:7::42:27411 - "POST /v1/chat/completions HTTP/1.1" 200'),
        line('192.0.2.17:24469 - "POST /openai/deployments/llama-3.3-70b/chat/completions?api-version=1 HTTP/1.1" 200'),
        line('192.0.2.17:24469 - "GET /health/liveliness HTTP/1.1" 200'),
        line('192.0.2.17:24469 - "POST /key/generate HTTP/1.1" 200'),
        line('192.0.2.17:24469 - "POST /v1/messages HTTP/1.1" 400'),
    )
    result = check(path, timezones=((None, "Europe/Amsterdam"),))
    assert dispositions(result) == {"console.jsonl:2": "possible"}
    assert found(result)["console.jsonl:2"]["client_ip"] == "2001:db8:0:7::42"
    assert (result.summary["ledger"]["records"], result.summary["ledger"]["framing"]) == (3, 3)


DAILY = [
    ("litellm-daily", {"results": [{"date": "2026-09-02", "metrics": {"api_requests": 2, "prompt_tokens": 9}}]}),
    ("openrouter-daily", {"data": [{"date": "2026-09-02", "model_permaslug": MODEL, "requests": 2, "prompt_tokens": 9}]}),
    ("app-sums", {"results": [{"day": "2026-09-02", "model": MODEL, "request_count": 2, "input_tokens": 1_405_000}]}),
]


@pytest.mark.parametrize(("name", "document"), DAILY)
def test_daily_sums_are_framing(tmp_path: Path, name: str, document: Row) -> None:
    path = tmp_path / "daily.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    result = check(path)
    assert result.summary["ledger"]["framing"] == result.summary["ledger"]["lines"] == 1
    assert by_name(name).aggregates
    assert result.exit_status == 12
    assert result.findings.num_rows == 0


def test_bedrock_is_read_and_another_provider(tmp_path: Path) -> None:
    row = json.loads(by_name("bedrock").accepts[0])
    hidden = {**row, "modelId": "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/agents"}
    result = check(lines(tmp_path / "b.jsonl", row, hidden))
    assert result.summary["outside"]["on_model"] == 2
    assert result.summary["inputs"][0]["format"] == "bedrock"
