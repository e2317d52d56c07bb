"""Are the variants in which products write the same facts read alike, and is what they leave open left open?"""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kvforensics.case import Case, CheckOptions
from kvforensics.slot_text import microseconds

MODEL = "@cf/zai-org/glm-5.3"
OTHER = "@cf/meta/llama-3.3-70b"
CLOUDFLARE = "https://api.cloudflare.com/client/v4/accounts/a/ai/v1"
Row = dict[str, Any]
PARTS = ("on_model", "in_window", "over_threshold", "served")


def rest(count: int, **changed: Any) -> Row:
    return {
        "id": f"01K4ABCDEFGHJKMNPQ{count:08d}", "created_at": "2026-09-03T10:00:00Z", "cached": False, "duration": 41_000,
        "model": MODEL, "path": "chat/completions", "provider": "workers-ai", "success": True, "tokens_in": count,
        "tokens_out": 9, "status_code": 200, **changed,
    }  # fmt: skip


def spend(count: int, **changed: Any) -> Row:
    return {
        "request_id": f"chatcmpl-{count}", "call_type": "acompletion", "spend": 1, "startTime": "2026-09-03T10:00:00",
        "endTime": "2026-09-03T10:00:40", "model": f"openai/{MODEL}", "custom_llm_provider": "openai", "api_base": CLOUDFLARE,
        "prompt_tokens": count, "completion_tokens": 9, "total_tokens": count + 9, "status": "success", **changed,
    }  # fmt: skip


def by_anthropic(count: int, read: int | None) -> Row:
    added = {} if read is None else {"cache_read_input_tokens": read}
    return spend(
        count, model=f"anthropic/{MODEL}", custom_llm_provider="anthropic", metadata={"additional_usage_values": added}
    )


def portkey(count: int, usage: Row, **changed: Any) -> Row:
    return {
        "id": f"pk-{count}", "trace_id": f"t-{count}", "created_at": "2026-09-03T10:00:00Z", "ai_org": "workers-ai",
        "ai_model": MODEL, "req_units": count, "res_units": 9, "total_units": count + 9, "response_status_code": 200,
        "response": {"id": f"msg_{count}", "content": ["x"], "usage": usage}, **changed,
    }  # fmt: skip


def helicone(count: int, **changed: Any) -> Row:
    return {
        "request_id": f"hel-{count}", "request_created_at": "2026-09-03T10:00:00Z", "response_status": 200,
        "response_created_at": "2026-09-03T10:00:40Z", "request_model": MODEL, "delay_ms": 40_000, "prompt_tokens": count,
        "completion_tokens": 9, **changed,
    }  # fmt: skip


def old_helicone(count: int, **changed: Any) -> Row:
    return {
        "response_id": f"old-{count}", "response_created_at": "2026-09-03 10:00:40", "response_status": 200,
        "request_created_at": "2026-09-03 10:00:00", "request_body": "", "model": "", "prompt_tokens": count, **changed,
    }  # fmt: skip


def observation(count: int, **changed: Any) -> Row:
    return {
        "id": f"obs-{count}", "traceId": f"trace-{count}", "projectId": "p", "parentObservationId": None,
        "type": "GENERATION", "startTime": "2026-09-03T10:00:00.000Z", "level": "DEFAULT", "providedModelName": MODEL,
        "inputUsage": count, "outputUsage": 9, "totalUsage": count + 9, **changed,
    }  # fmt: skip


def generation(count: int) -> Row:
    return {
        "generation_id": f"gen-{count}", "created_at": "2026-09-03 10:00:00.1", "tokens_prompt": count, "cancelled": "false",
        "model_permaslug": "z-ai/glm-5.3", "provider_name": "Cloudflare", "finish_reason_normalized": "stop",
    }  # fmt: skip


def answer(count: int, **changed: Any) -> Row:
    return {
        "id": f"chatcmpl-{count}", "object": "chat.completion", "created": 1_788_429_600, "model": MODEL,
        "choices": [{"index": 0, "message": {"content": "x"}}], "usage": {"prompt_tokens": count, "completion_tokens": 9},
        **changed,
    }  # fmt: skip


def dump(response: Any, **changed: Any) -> Row:
    return {"ts": "2026-09-03T10:00:00Z", "request": {"model": MODEL}, "status": 200, "response": response, **changed}


def chunk(count: int | None) -> Row:
    usage = None if count is None else {"prompt_tokens": count, "completion_tokens": 9}
    return {"object": "chat.completion.chunk", "model": MODEL, "choices": [{"delta": {"content": "x"}}], "usage": usage}


def home(count: int, **changed: Any) -> Row:
    return {
        "id": f"h-{count}",
        "time": "2026-09-03T10:00:00Z",
        "model": MODEL,
        "status": 200,
        "tokens_in": count,
        **changed,
    }


def routed(count: int, final: str, first: str) -> Row:
    routing = {"attempts": [{"provider": first, "success": False}], "finalProvider": final}
    return home(count, model="zai/glm-5.3", providerMetadata={"gateway": {"routing": routing}})


def insights(count: int, time: str = "2026-09-03 10:00:00.000", *, parsed: bool = False) -> list[Row]:
    record = {"model": MODEL, "status": "200", "usage.prompt_tokens": str(count)}
    told = record if parsed else {"@message": json.dumps(home(count) | {"time": None})}
    return [{"field": k, "value": v} for k, v in {"@timestamp": time, **told, "@ptr": "Cl0K"}.items()]


def ecs(size: int | None, time: str = "2026-09-03T10:00:00.000Z", method: str = "POST") -> Row:
    request = {"method": method} if size is None else {"method": method, "bytes": size}
    return {
        "@timestamp": time, "event": {"dataset": "nginx.access"}, "source": {"ip": "192.0.2.1"},
        "http": {"request": request, "response": {"status_code": 200, "body": {"bytes": 7}}, "version": "1.1"},
        "url": {"domain": "api.cloudflare.com", "path": f"/client/v4/accounts/a/ai/run/{MODEL}"},
    }  # fmt: skip


def caddy(duration: Any, time: str) -> Row:
    request = {"method": "POST", "host": "api.cloudflare.com", "uri": f"/client/v4/accounts/a/ai/run/{MODEL}"}
    return {"ts": f"2026-08-27T{time}Z", "request": request, "bytes_read": 2_935_567, "duration": duration, "status": 200}


def kept(key: str, count: int, **more: Any) -> Row:
    """A record of one's own around a call that it keeps as text."""
    call = {k: v for k, v in answer(count, usage={"prompt_tokens": count, "completion_tokens": 9}).items() if k != "created"}
    return {"time": "2026-09-03T10:00:00Z", "svc": "gateway", "status": 200, key: json.dumps(call), **more}


def event(ray: str, *console: str, outcome: str = "ok") -> Row:
    return {
        "EventTimestampMs": 1_788_429_600_000, "Outcome": outcome, "ScriptName": "s",
        "Event": {"RayID": ray, "Request": {"Method": "POST"}, "Response": {"Status": 200}},
        "Logs": [{"Level": "log", "Message": [text]} for text in console],
    }  # fmt: skip


def hit(source: Row) -> Row:
    return {"_index": "filebeat", "_id": "1", "_source": source | {"message": "POST /client/v4/accounts/a HTTP/1.1"}}


def portal(count: int, time: str) -> Row:
    return {"Time": time, "Model": "zai/glm-5.3", "Provider": "cloudflare", "Input Tokens": count, "Status": 200}


def said(prefix: str, count: int, **changed: Any) -> str:
    """A line of console output; only what is before the record tells the time."""
    record = {k: v for k, v in home(count, **changed).items() if k != "time"}
    return f"{prefix}{json.dumps(record)}\n"


def stream(count: int, read: int) -> str:
    begun = {"id": f"msg_{count}", "model": MODEL, "usage": {"input_tokens": count, "cache_read_input_tokens": read}}
    events = ({"type": "message_start", "message": begun}, {"type": "message_delta", "usage": {"output_tokens": 30}})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


def lines(*rows: Row) -> str:
    return "".join(json.dumps(r) + "\n" for r in rows)


def table(*rows: Row) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


CURL = "HTTP/2 200\ncontent-type: application/json\n\n"
SPLIT = {"ephemeral_5m_input_tokens": 25_000, "ephemeral_1h_input_tokens": 30_000}
ANTHROPIC = {"input_tokens": 400_013, "cache_read_input_tokens": 350_000, "output_tokens": 9}
# What is in each file, its format, and the parts of each of its records, in order; `-` is a record outside.
VARIANTS: dict[str, tuple[Any, str, list[str]]] = {
    "pages.json": (
        [{"result": [rest(702_001), rest(5)]}, {"result": [rest(702_002)]}],
        "cloudflare-aig-rest",
        ["TTTT", "-", "TTTT"],
    ),
    "curl.txt": (CURL + json.dumps({"result": [rest(702_003)]}), "cloudflare-aig-rest", ["TTTT"]),
    "rows.csv": (table(rest(702_004), rest(6)), "cloudflare-aig-rest", ["TTTT", "-"]),
    "picked.json": (
        {"result": [{k: v for k, v in rest(702_005).items() if k != "cached"}]},
        "cloudflare-aig-rest",
        ["TTTT"],
    ),
    "spend.json": (
        [{"data": [spend(702_006)], "total": 2}, {"data": [spend(7)], "total": 2}],
        "litellm-spendlogs",
        ["TTTT", "-"],
    ),
    "anthropic.jsonl": (
        lines(
            by_anthropic(400_008, 350_000),
            by_anthropic(5_008, None),
            by_anthropic(702_008, None),
            by_anthropic(6_008, 0),
        ),
        "litellm-spendlogs",
        ["TTNT", "TTNT", "TTTT", "-"],
    ),
    "nulls.csv": (table(spend(702_009, organization_id=r"\N", team_id="team-a")), "litellm-spendlogs", ["TTTT"]),
    "portkey.jsonl": (
        lines(portkey(400_013, ANTHROPIC), portkey(400_014, {}, ai_org="anthropic"), portkey(14, {})),
        "portkey",
        ["TTTT", "TTNT", "-"],
    ),
    "helicone.jsonl": (
        lines(helicone(40_015), helicone(40_016, total_tokens=40_025), helicone(40_017, prompt_cache_read_tokens=0)),
        "helicone",
        ["TTNT", "-", "-"],
    ),
    "doubled.csv": (
        table(old_helicone(702_018, request_body='{""model"": ""' + MODEL + '""}')),
        "helicone-csv",
        ["TTTT"],
    ),
    "observations.json": (
        [{"data": [observation(702_019)]}, {"data": [observation(40_020)]}],
        "langfuse-api",
        ["TTTT", "-"],
    ),
    "hidden.jsonl": (lines(spend(40_033, total_tokens=690_042)), "litellm-spendlogs", ["TTNT"]),
    "titled.csv": ("Activity\n\n" + table(generation(702_021), generation(8)), "openrouter-activity", ["TTTT", "-"]),
    "sep.csv": ("sep=,\n" + table(generation(702_022)), "openrouter-activity", ["TTTT"]),
    "stored.json": ({"object": "list", "data": [answer(702_023), answer(9)]}, "openai-chat", ["TTTT", "-"]),
    "one.json": ({"data": [home(702_024)], "next": None}, "app-json", ["TTTT"]),
    "part.json": (
        {"model": "bge", "usage": {"prompt_tokens": 1}, "data": [{"model": MODEL}, {"model": MODEL}]},
        "app-json",
        ["-"],
    ),
    "chunks.jsonl": (
        lines(dump([chunk(None), chunk(702_025)]), dump([chunk(None)] * 2), dump([answer(10), answer(11)])),
        "http-dump",
        ["TTTT", "TTNT", "TTNT"],
    ),
    "route.jsonl": (
        lines(
            dump(answer(702_026), request={"model": "dynamic/long"}),
            dump(answer(702_027, model="gpt-5"), request={"model": "dynamic/long"}),
        ),
        "http-dump",
        ["TTTT", "-"],
    ),
    "messages.jsonl": (
        lines(
            dump(stream(46_028, 650_000)),
            dump(
                {
                    "type": "message",
                    "content": ["x"],
                    "usage": {"input_tokens": 40_029, "cache_read_input_tokens": 600_000, "cache_creation": SPLIT},
                }
            ),
        ),
        "anthropic-messages",
        ["TTTT", "TTTT"],
    ),
    "spaced.csv": (
        table(
            {
                "Time": "2026-09-03T10:00:00Z",
                "Model": "zai/glm-5.3",
                "Provider": "cloudflare",
                "Input Tokens": 702_030,
                "Status": 200,
            }
        ),
        "app-json",
        ["TTTT"],
    ),
    # Naive times could be up to 14 hours off; one without a duration may be up to an hour behind the start.
    "console.log": (
        "2026-09-01 10:00:00 INFO app: started\n"
        + said("2026-09-01 10:00:00 INFO app: ", 702_051)
        + said("2026-08-20 10:00:00,123 - app - INFO - answered ", 702_052)
        + said("[INFO]\t2026-08-27T00:30:00.000Z\t8f503a2b\t", 702_053)
        + said("[INFO]\t2026-08-27T00:30:00.000Z\t8f503a2b\t", 702_054, latency_ms=41_000)
        + said("2026/08/27 10:00:00 ", 702_055)
        + said("INFO:     ", 702_056),
        "console > app-json",
        ["TTTT", "-", "TNTT", "TTTT", "TNTT", "TNTT"],
    ),
    "insights.json": (
        {
            "results": [insights(702_061), insights(61), insights(702_062, "2026-08-27 05:00:00.000")],
            "statistics": {"recordsMatched": 3.0, "recordsScanned": 9.0},
            "status": "Complete",
        },
        "cloudwatch-insights > app-json",
        ["TTTT", "-", "TNTT"],
    ),
    "parsed.json": (
        {"results": [insights(702_063, parsed=True), insights(63, parsed=True)], "status": "Complete"},
        "cloudwatch-insights > app-json",
        ["TTTT", "-"],
    ),
    # Bytes never prove that a prompt was long, and half a million of them hold no long one.
    "ecs.jsonl": (
        lines(
            ecs(2_935_567),
            ecs(500_000),
            ecs(None, method="get"),
            ecs(None),
            ecs(2_935_567, "2026-09-15T10:00:00.000Z"),
            ecs(2_935_567, "2026-08-27T00:30:00.000Z"),
            {f"http.{k}": v for k, v in (("request.method", "POST"), ("response.status_code", 502))}
            | {"@timestamp": "2026-09-03T10:00:00Z", "url.path": f"/ai/run/{MODEL}"},
        ),
        "ecs-http",
        ["TTNT", "-", "TTNT", "-", "TNNT", "-"],
    ),
    "hits.json": (
        {"hits": {"hits": [hit(ecs(2_935_567)), hit(ecs(500_000))]}},
        "elastic > ecs-http",
        ["TTNT", "-"],
    ),
    "kept.jsonl": (
        lines(
            kept("payload", 702_091),
            kept("payload", 91),
            kept("response", 702_092, request=json.dumps({"model": MODEL, "messages": []}), msg="answered"),
            kept("body", 702_093, time="2026-08-20T10:00:00Z"),
            kept("data", 702_094, status=502),
            kept("payload", 702_095, model="gpt-5", usage={"prompt_tokens": 5}),
            {"time": "2026-09-03T10:00:00Z", "event": "started", "payload": "text"},
        ),
        "json-payload > openai-chat",
        ["TTTT", "-", "TTTT", "-", "TTTN", "NTNT"],
    ),
    # An event whose console text is whole and speaks of no model is no call; any other may have been one.
    "trace.jsonl": (
        lines(
            event("a", "login", "welcome"),
            event("b"),
            event("c", "<<<Logpush: messages truncated>>>"),
            event("d", f"asked {MODEL}"),
            event("e", "login", outcome="exceededMemory"),
            event("f", "asked", json.dumps(answer(702_101))),
        ),
        "cloudflare-workers-trace",
        ["NTNT", "NTNT", "NTNT", "NTNT", "TTTT"],
    ),
    # No line has a time, and a request that was not answered is known by nothing else.
    "batch.jsonl": (
        lines(
            *(
                {"custom_id": f"c-{n}", "result": {"type": "succeeded", "message": {"id": f"msg_{n}", "model": MODEL,
                 "type": "message", "content": ["x"], "usage": {"input_tokens": n, "cache_read_input_tokens": 600_000}}}}
                for n in (102_111, 11)
            ),
            {"custom_id": "c-3", "result": {"type": "errored", "error": {"type": "error", "error": {"type": "api_error"}}}},
            {"custom_id": "c-4", "result": {"type": "expired"}},
        ),
        "anthropic-batch",
        ["TNTT", "-", "-", "-"],
    ),
    # The window begins at midnight; a duration of eleven years is in another unit than is said.
    "caddy.jsonl": (
        lines(
            caddy("1.2s", "00:00:00.500"),
            caddy("350ms", "00:00:00.500"),
            caddy("1m2.5s", "00:01:02.000"),
            caddy(0.35, "00:00:00.500"),
            caddy(350_000_000, "00:00:00.500"),
        ),
        "caddy-json",
        ["-", "TTNT", "-", "TTNT", "TNNT"],
    ),
    # Without a duration a time may be up to an hour behind the start, without a zone up to 14 hours off.
    "portal.csv": (
        table(
            portal(702_071, "9/2/2026, 8:41 AM"),
            portal(702_072, "Sep 2, 2026, 8:41 AM"),
            portal(702_073, "8/30/2026, 8:41 AM"),
            portal(702_074, "5/7/2026, 8:41 AM"),
            portal(702_075, "02.09.2026, 08:41:12"),
            portal(75, "9/2/2026, 8:41 AM"),
        ),
        "app-json",
        ["TNTT", "TTTT", "TTTT", "-", "TTTT", "-"],
    ),
    "routing.jsonl": (
        lines(routed(702_031, "cloudflare", "zai"), routed(702_032, "zai", "cloudflare")),
        "app-json",
        ["TTTT", "-"],
    ),
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Row], dict[str, list[Row]]]:
    """What one check says of all the files: each input, and the findings in it."""
    folder = tmp_path_factory.mktemp("logs") / "logs"
    folder.mkdir()
    for name, (content, _, _) in VARIANTS.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with Case() as case:
        result = case.check(CheckOptions((str(folder),), workers=1, keep_all=True))
    findings: dict[str, list[Row]] = {name: [] for name in VARIANTS}
    for row in result.findings.to_pylist():
        findings[row["source"].rsplit("/", 1)[-1]].append(row)
    return {i["source"].rsplit("/", 1)[-1]: i for i in result.summary["inputs"]}, findings


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_read_for_what_it_says(name: str, read: tuple[dict[str, Row], dict[str, list[Row]]]) -> None:
    inputs, findings = read
    _, fmt, expected = VARIANTS[name]
    letters = {True: "T", False: "F", None: "N"}
    found = ["".join(letters[row[part]] for part in PARTS) for row in findings[name]]
    assert (inputs[name]["format"], inputs[name]["records"], inputs[name]["rejected"]) == (fmt, len(expected), 0)
    assert found == [parts for parts in expected if parts != "-"]


def test_a_cell_that_a_database_marks_as_null_names_nobody(read: tuple[dict[str, Row], dict[str, list[Row]]]) -> None:
    assert [row["tenant"] for row in read[1]["nulls.csv"]] == ["team-a"]


def test_rows_above_a_header_are_framing_and_blank_ones_are_blank(
    read: tuple[dict[str, Row], dict[str, list[Row]]],
) -> None:
    titled = read[0]["titled.csv"]
    assert (titled["lines"], titled["framing"], titled["blank"]) == (5, 2, 1)


@pytest.mark.parametrize(
    ("plain", "odd"),
    [
        (spend, spend(40_041, total_tokens=690_050)),
        (spend, by_anthropic(5_042, None)),
        (spend, by_anthropic(5_043, 680_000)),
        (lambda n: helicone(n, prompt_cache_read_tokens=0, prompt_cache_write_tokens=0), helicone(40_044)),
    ],
    ids=["a total that leaves more", "no cached counts", "many cached tokens", "cached counts left out"],
)
def test_one_that_is_open_is_found_among_many_that_are_plainly_small(tmp_path: Path, plain: Any, odd: Row) -> None:
    (tmp_path / "log.jsonl").write_text(lines(*(plain(n) for n in range(100, 180)), odd, *(plain(n) for n in range(200, 280))))
    with Case() as case:
        result = case.check(CheckOptions((str(tmp_path / "log.jsonl"),), workers=1))
    assert [row["line"] for row in result.findings.to_pylist()] == [81]
    assert result.summary["outside"]["over_threshold"] == 160


def test_a_route_is_the_model_that_answered_in_small_records_too(tmp_path: Path) -> None:
    rows = [dump(answer(n, model=MODEL if n % 2 else "gpt-5"), request={"model": "dynamic/long"}) for n in range(100, 200)]
    (tmp_path / "log.jsonl").write_text(lines(*rows))
    with Case() as case:
        outside = case.check(CheckOptions((str(tmp_path / "log.jsonl"),), workers=1)).summary["outside"]
    assert (outside["on_model"], outside["over_threshold"]) == (50, 50)


@pytest.mark.parametrize(
    "twice", ['"usage":{"prompt_tokens":700000,"prompt_tokens":7}', '"model":"gpt-4o","usage":{"prompt_tokens":700000}']
)
def test_a_key_given_twice_is_unknown_where_records_are_bare_and_behind_text(tmp_path: Path, twice: str) -> None:
    behind = '2026-08-24T00:00:00Z INFO done {"model":"@cf/zai-org/glm-5.3","usage":{"prompt_tokens":100}}\n'
    model = '"provider":"workers-ai","model":"@cf/zai-org/glm-5.3"'
    bare = f'{{"started_at":"2026-09-02T10:00:00Z",{model},{twice},"status":200}}\n'
    (tmp_path / "app.log").write_text(behind * 9 + bare)
    with Case() as case:
        found = case.check(CheckOptions((str(tmp_path / "app.log"),), workers=1))
    assert [(r["line"], r["disposition"]) for r in found.findings.to_pylist()] == [(10, "possible")]
    assert found.findings["reasons"].to_pylist()[0][0].startswith("repeated_key:")


def test_a_duration_that_is_true_is_none() -> None:
    assert microseconds(value=True, unit="s") is None


def _dump(n: int, requested: str, answered: str | None, tokens: int, *, text: bool) -> dict[str, Any]:
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    body = {"id": f"c{n}", "object": "chat.completion", "choices": [], "usage": usage}
    body |= {"model": answered} if answered else {}
    return {
        "ts": "2026-09-02T08:41:12Z", "request": {"model": requested, "messages": []}, "status": 200,
        "response": json.dumps(body) if text else body,
    }  # fmt: skip


def _portkey(n: int, requested: str, answered: str | None, tokens: int) -> dict[str, Any]:
    return {
        "id": f"p{n}", "trace_id": f"t{n}", "created_at": "2026-09-02T08:41:12Z", "ai_org": "workers-ai", "ai_model": requested,
        "response_status_code": 200, "response_time": 9, "req_units": tokens, "res_units": 5, "cache_status": "DISABLED",
        "response.model": answered,
    }  # fmt: skip


def _call_span(n: int, requested: str, answered: str | None, tokens: int) -> dict[str, Any]:
    said = {"gen_ai.request.model": requested, "gen_ai.response.model": answered, "gen_ai.provider.name": "workers-ai"}
    pairs = [{"key": k, "value": {"stringValue": v}} for k, v in said.items() if v]
    pairs += [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": str(tokens)}}]
    ids = {"traceId": f"{n:032x}", "spanId": f"{n:016x}"}
    span = {**ids, "name": "chat", "startTimeUnixNano": "1788338472907000000", "attributes": pairs}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def _message(n: int, requested: str, answered: str | None, tokens: int) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "cache_read_input_tokens": 0, "output_tokens": 5}
    body = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": answered, "content": [], "usage": usage}
    return {"ts": "2026-09-02T08:41:12Z", "request": {"model": requested}, "status": 200, "response": body}


def _helicone(n: int, requested: str, answered: str | None, tokens: int) -> dict[str, Any]:
    none = {"prompt_cache_read_tokens": 0, "prompt_cache_write_tokens": 0}
    return helicone(tokens, request_id=f"h{n}", request_model=requested, response_model=answered, **none)


def _kong(n: int, requested: str, answered: str | None, tokens: int) -> dict[str, Any]:
    meta = {"request_model": requested, "response_model": answered, "provider_name": "openai"}
    return {
        "started_at": 1_788_338_472_000, "request": {"id": f"k{n}"}, "response": {"status": 200},
        "ai": {"proxy": {"usage": {"prompt_tokens": tokens}, "meta": meta}},
    }  # fmt: skip


@pytest.mark.parametrize(
    "made",
    [partial(_dump, text=False), partial(_dump, text=True), _portkey, _call_span, _message, _helicone, _kong],
    ids=["dump", "text", "portkey", "span", "message", "helicone", "kong"],
)
@pytest.mark.parametrize("keep_all", [False, True])
def test_an_answer_of_the_affected_model_to_a_request_for_another_one_leaves_it_open(
    tmp_path: Path, made: Any, *, keep_all: bool
) -> None:
    rows = [made(n, OTHER, OTHER, 700_000) for n in range(60)]
    rows += [made(60, OTHER, MODEL, 700_000), made(61, OTHER, None, 700_000), made(62, OTHER, OTHER, 100)]
    (tmp_path / "log.jsonl").write_text(lines(*rows))
    with Case() as case:
        result = case.check(CheckOptions((str(tmp_path / "log.jsonl"),), workers=1, keep_all=keep_all))
    assert [(r["line"], r["disposition"]) for r in result.findings.to_pylist()] == [(61, "possible")]
    assert result.summary["outside"]["on_model"] == 62


def test_a_column_that_names_the_model_that_answered_leaves_it_open_too(tmp_path: Path) -> None:
    rows = [_portkey(n, OTHER, MODEL if n == 60 else OTHER, 700_000) for n in range(61)]
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with Case() as case:
        result = case.check(CheckOptions((str(tmp_path / "log.csv"),), workers=1))
    assert [(r["line"], r["disposition"]) for r in result.findings.to_pylist()] == [(62, "possible")]
