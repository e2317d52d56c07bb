"""What is left out as settled changes no answer: the same counts as when every record is kept."""

from __future__ import annotations

import io
import json
import re
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import cases
from kvforensics.detect import ranked_plans
from kvforensics.formats import all_formats, by_name
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import judge
from kvforensics.layer import Layer, fewest_signs
from kvforensics.peel import Peeled, Peeler
from kvforensics.piece import Piece, scan_piece
from kvforensics.plan import Plan
from kvforensics.raw import present
from kvforensics.scan import Scanner
from kvforensics.scanned import Keep, Setting
from kvforensics.spec import Format
from kvforensics.store import Store
from kvforensics.wrappers import all_wrappers

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL, OTHER = "@cf/zai-org/glm-5.3", "@cf/meta/llama-3.3"
ROW: dict[str, Any] = {
    "id": "a", "cached": False, "created_at": "2026-09-02T08:41:12.907Z", "duration": 9120, "model": MODEL,
    "provider": "workers-ai", "success": True, "tokens_in": 702114, "tokens_out": 1207, "status_code": 200,
}  # fmt: skip
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "c", "d", "unknown", "0", None, 7]),
        "model": st.sampled_from([MODEL, OTHER, "default", None, 3]),
        "tokens_in": st.sampled_from([1, 0, -4, 900, 681273, 681274, 681280, 681281, 12.5, 900.0, "900", "x", None, True]),
        "created_at": st.sampled_from(
            ["2026-08-26T23:59:59Z", "2026-09-09T14:10:00Z", "2026-12-01T00:00:00Z", "2026-09-01 00:00:00", 1788338472, None]
        ),
        "cached": st.sampled_from([True, None, "false", "HIT", 0]),
        "status_code": st.sampled_from([400, 499, None]),
        "request_size": st.sampled_from([100, 10**7]),
        "response_head": st.sampled_from([{"id": "a"}, {"usage": {"prompt_tokens_details": {"cached_tokens": 690000}}}]),
    },
)
ODD = st.sampled_from(
    [
        "", "{", json.dumps({**ROW, "tokens_in": 5})[:-1] + ',"tokens_in":700000}',
        json.dumps(ROW)[:-1] + f',"model":"{OTHER}"' + "}", json.dumps(ROW)[:-1] + ',"m\\u006fdel":"@cf/meta/llama-3.3"}',
        json.dumps({**ROW, "tokens_in": 5})[:-1] + ',"tok\\u0065ns_in":700000}',
        json.dumps({**ROW, "tokens_in": 5})[:-1] + ',"cached":true}',
        json.dumps({**ROW, "note": "a \\u003c b"}), json.dumps({**ROW, "nested": {"model": OTHER, "tokens_in": 3}}),
    ]
)  # fmt: skip
LINES = st.builds(lambda change: json.dumps({**ROW, **change}), CHANGES) | ODD


def counted(paths: list[Path], keep: Keep) -> dict[str, Any]:
    """What a check of these files would count."""
    found = ingest(IngestRequest(tuple(map(str, paths)), INCIDENT, workers=1, keep=keep))
    with Store(threads=1) as store:
        store.register("records", found.records)
        made = judge(store, INCIDENT, off_model_dropped=found.off_model_dropped, settled=found.settled)
    flagged = made.findings.select(["source", "line", "disposition", "in_window", "over_threshold", "duplicate_of"]).to_pylist()
    return {
        "flagged": flagged, "responses": made.counts.responses, "records": made.counts.records, "inputs": found.inputs,
        "minutes": [c.minutes.to_pylist() for c in found.coverage], "warnings": made.warnings,
        "outside": made.counts.outside if keep != "all" else None,
    }  # fmt: skip


@settings(max_examples=cases(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, min_size=1, max_size=12))
def test_a_settled_record_changes_no_answer(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(line + "\n" for line in [json.dumps({**ROW, "id": "z", "model": OTHER}), *lines]))
    assert counted([path], "open") == counted([path], "on-model")


@settings(max_examples=cases(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=st.lists(LINES, min_size=1, max_size=8), two=st.lists(LINES, min_size=1, max_size=8))
def test_a_record_that_another_source_knows_more_of_is_brought_back(tmp_path: Path, one: list[str], two: list[str]) -> None:
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    head = json.dumps({**ROW, "id": "z", "model": OTHER})
    for path, lines in zip(paths, (one, two), strict=True):
        path.write_text("".join(line + "\n" for line in [head, *lines]))
    few, every = counted(paths, "open"), counted(paths, "all")
    assert {**few, "outside": None} == every


def test_small_prompts_are_settled_and_large_ones_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [{**ROW, "id": f"r{i}", "tokens_in": 700_000 if i % 10 == 0 else 900} for i in range(100)]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep="open"))
    assert found.settled == (0, 90, 0)
    assert found.records.num_rows == 10
    assert pc.min(found.records["prompt_tokens_min"]).as_py() == 700_000


SETTING = Setting("log", (), None, INCIDENT, None)
JSON_FORMATS = [f for f in all_formats() if "lines" in f.containers and any(s[:1] == "{" for s in f.accepts)]
VALUES = st.sampled_from([
    None, "", 0, 5, 900, 681_274, 700_000, -1, 1.5, True, False, "x", "-", "5", "HIT", "false", "GET", "SPAN", [], {}, [1],
    [{}], ["{}"], [{"usage": {"prompt_tokens": 3}, "model": OTHER}], {"usage": {"prompt_tokens": 3}},
    '{"usage":{"prompt_tokens":3}}', MODEL, OTHER, "glm-5.3", "zai", "data: {}", " x", "2026-09-01T00:00:00Z",
    "2026-12-01 10:00:00", 1788338472, [{"a": 1}, {"model": MODEL}],
])  # fmt: skip
NAMES = st.sampled_from([
    "model", "Model", "usage", "id", "created", "timestamp", "ts", "extra", "cached_tokens", "request", "response", "model_id",
    "message", "log", "cf-ray", "usage.prompt_tokens", "response.model", "url", "error", "prompt_tokens", "cache", "type",
])  # fmt: skip
WAYS = st.sampled_from(["drop", "set", "add", "twice", "escape", "both", "none", "none"])
CHANGED = st.lists(st.tuples(WAYS, st.integers(0, 200), VALUES, NAMES), max_size=2)
DRAWN = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([OTHER, OTHER, MODEL, "gpt-4o"]), CHANGED), min_size=4, max_size=10
)
KEY = re.compile(r'"([A-Za-z][A-Za-z_.-]*)":')
FEW = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)  # fmt: skip


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects of a value, at all depths."""
    if type(value) is list:
        return [o for v in value for o in objects_in(v)]
    return [value, *(o for v in value.values() for o in objects_in(v))] if type(value) is dict else []


def changed(sample: str, changes: list[tuple[str, int, Any, str]]) -> str:
    """The text of a record with some changes."""
    record = json.loads(sample)
    for how, at, value, name in changes:
        spots = [(o, k) for o in objects_in(record) for k in o]
        if how == "add":
            every = objects_in(record)
            every[at % len(every)][name] = value
        elif spots and how in ("drop", "set"):
            held, key = spots[at % len(spots)]
            held.pop(key) if how == "drop" else held.update({key: value})
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=bool(len(changes) % 2))
    for how, at, value, _ in changes:
        keys = list(KEY.finditer(text))
        if keys and how in ("twice", "escape", "both"):
            key = keys[at % len(keys)]
            escaped = f'"\\u{ord(key[1][0]):04x}{key[1][1:]}":'
            more = json.dumps(value)
            again = {"twice": f"{key[0]}{more},{key[0]}", "escape": escaped, "both": f"{escaped}{more},{key[0]}"}[how]
            text = text[: key.start()] + again + text[key.end() :]
    return text


def drawn(fmt: Format, lines: list[Any]) -> list[str]:
    """Records of a format, of several models and with changes."""
    samples = [s for s in fmt.accepts if s[:1] == "{"]
    return [
        changed(samples[i % len(samples)].replace(MODEL, model).replace('"m"', f'"{model}"'), changes)
        for i, model, changes in lines
    ]


def scanned(setting: Setting, plan: Plan, data: bytes) -> dict[str, Any]:
    """What a scan of the bytes gives, without the ids that are only remembered."""
    found = scan_piece(Piece("stream", setting, plan), io.BytesIO(data))
    # Which keys were seen is told by fewer records where most are not looked at closely.
    found.tally.stumps = 0
    rows = found.records.to_pylist() if found.records else []
    return {
        "tally": found.tally, "rows": sorted(rows, key=lambda r: r["line"]), "minutes": found.minutes,
        "rejects": found.rejects.sort_by("line").to_pylist() if found.rejects else [],
    }  # fmt: skip


def both_ways(patch: pytest.MonkeyPatch, setting: Setting, plan: Plan, data: bytes) -> tuple[Any, Any]:
    """What a scan finds with a lane that learns often, and without one."""
    with patch.context() as small:
        small.setattr("kvforensics.piece.BLOCK_BYTES", 2048)
        small.setattr("kvforensics.lane.UNITS_BYTES", 2048)
        small.setattr("kvforensics.learned.STRANGERS", 2)
        quick = scanned(setting, plan, data)
        small.setattr(Scanner, "_open_lane", lambda *_: None)
        return quick, scanned(setting, plan, data)


@pytest.mark.parametrize("fmt", JSON_FORMATS, ids=[f.name for f in JSON_FORMATS])
@FEW
@given(
    lines=DRAWN, others=st.tuples(st.sampled_from(range(len(JSON_FORMATS))), st.just([]) | DRAWN), array=st.booleans(),
    keep=st.sampled_from(["open", "open", "on-model"]),
)  # fmt: skip
def test_the_lane_finds_what_a_close_look_finds(
    monkeypatch: pytest.MonkeyPatch, fmt: Format, lines: Any, others: Any, *, array: bool, keep: Keep
) -> None:
    beside = JSON_FORMATS[others[0]] if others[1] else fmt
    texts = drawn(fmt, lines) + drawn(beside, others[1])
    tried = tuple(f for f in all_formats() if f in (fmt, beside) or f.name.startswith("app-json"))
    container = "json" if array and "json" in fmt.containers else "lines"
    if container == "json":
        data = "[" + ",\n ".join(t.replace('{"', '{\n "', 1) for t in texts) + "]"
    else:
        data = "".join(t + "\n" for t in texts)
    plan = Plan(container, tried, ((fmt.name, 1),), 1, units=("[]",))
    quick, slow = both_ways(monkeypatch, replace(SETTING, formats=tried, keep=keep), plan, data.encode())
    assert quick == slow


BESIDE: list[dict[str, Any]] = [{}, {"level": 30}, {"id": "a", "model": OTHER}, {"ingestionTime": 3}, {"msg": "x"}]
"""What may be beside a message: some of it makes the object a record itself, or of another layer."""


@pytest.mark.parametrize("name", ["app-json", "openai-chat", "http-dump", "litellm-standard-payload"])
@FEW
@given(
    lines=DRAWN, wrapper=st.sampled_from(["docker", "cri", "message", "journald"]),
    keep=st.sampled_from(["open", "on-model"]),
)  # fmt: skip
def test_the_lane_finds_the_same_inside_wrappers(
    monkeypatch: pytest.MonkeyPatch, name: str, lines: Any, wrapper: str, keep: Keep
) -> None:
    texts = drawn(by_name(name), lines)
    times = [f"2026-09-02T08:41:{i:02}.5Z" for i in range(len(texts))]
    around = {
        "docker": [json.dumps({"log": t + "\n", "stream": "stdout", "time": at}) for at, t in zip(times, texts, strict=True)],
        "cri": [f"{at} stdout F {t}" for at, t in zip(times, texts, strict=True)],
        "message": [
            json.dumps({"timestamp": at, **more, "message": t}) for at, t, more in zip(times, texts, cycle(BESIDE))
        ],
        "journald": [
            json.dumps({"__REALTIME_TIMESTAMP": f"178833847202700{i}", "MESSAGE": t}) for i, t in enumerate(texts)
        ],
    }[wrapper]
    data = "".join(line + "\n" for line in around).encode()
    plans = ranked_plans(data, all_formats(), whole=True, wrappers=all_wrappers())
    assume(plans and plans[0].layered)
    plan = plans[0]
    setting = replace(
        SETTING, formats=plan.formats, keep=keep, wrappers=plan.wrappers, layered=True, newline=plan.newline, only=plan.only
    )
    quick, slow = both_ways(monkeypatch, setting, plan, data)
    assert quick == slow


def has_lane(fmt: Format) -> bool:
    """Whether records of a format can be passed: not where a view makes another record of them, or two are one."""
    always_close = fmt.view or fmt.opening or fmt.aggregates or "sample_interval" in fmt.fields
    # Traces are framing; the headers of Caddy's log are lists.
    return not always_close and fmt.name not in ("langfuse-traces", "caddy-json") and any(map(plain_sample, fmt.accepts))


def plain_sample(text: str) -> bool:
    """Whether a sample names the model and holds no JSON as text."""
    return text[:1] == "{" and MODEL in text and "\\" not in text


@pytest.mark.parametrize("fmt", [f for f in JSON_FORMATS if has_lane(f)], ids=lambda f: f.name)
def test_plain_records_of_other_models_need_no_close_look(monkeypatch: pytest.MonkeyPatch, fmt: Format) -> None:
    sample = next(filter(plain_sample, fmt.accepts))
    closely: list[int] = []
    monkeypatch.setattr(Scanner, "unit", lambda _self, _data, line, *_: closely.append(line))
    text = sample.replace(MODEL, OTHER)
    plan = Plan("lines", (fmt,), ((fmt.name, 1),), 1)
    found = scan_piece(Piece("stream", replace(SETTING, formats=(fmt,)), plan), io.BytesIO((text + "\n").encode() * 50))
    assert (len(closely), found.tally.records) == (0, 50)


AROUND = {
    "cri": "2026-09-02T08:41:00.5Z stdout F {line}",
    "docker-json": '{{"log":{text},"stream":"stdout","time":"2026-09-02T08:41:00.5Z"}}',
    "journald": '{{"__CURSOR":"a","__REALTIME_TIMESTAMP":"1788338472027000","MESSAGE":{text}}}',
    "json-message": '{{"level":30,"time":"2026-09-02T08:41:00.5Z","msg":{text}}}',
    "splunk": '{{"preview":false,"offset":1,"result":{{"_raw":{text}}}}}',
}


@pytest.mark.parametrize("name", AROUND)
def test_only_the_odd_lines_of_a_wrapped_log_need_a_close_look(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    line = json.dumps({**ROW, "model": OTHER})
    text = json.dumps(line + ("\n" if name == "docker-json" else ""))
    around = AROUND[name].format(line=line, text=text)
    broken, affected = around[:-40], around.replace(OTHER, MODEL)
    plan = ranked_plans((around + "\n").encode() * 50, all_formats(), whole=True, wrappers=all_wrappers())[0]
    setting = replace(
        SETTING, formats=plan.formats, wrappers=plan.wrappers, layered=True, newline=plan.newline, only=plan.only
    )
    closely: list[int] = []
    looked = Peeler.line

    def looks(peeler: Peeler, raw: bytes, number: int, at: int | None) -> Peeled:
        closely.append(number)
        return looked(peeler, raw, number, at)

    monkeypatch.setattr(Peeler, "line", looks)
    data = "".join(one + "\n" for one in [*[around] * 30, broken, "", *[around] * 10, affected, around]).encode()
    found = scan_piece(Piece("stream", setting, plan), io.BytesIO(data))
    # A blank line is seen before anything is peeled.
    assert (plan.only, closely, found.tally.records, found.tally.rejected) == ((name,), [31, 43], 42, 1)


def test_what_is_in_a_layer_has_its_signs_whatever_the_lines_are_like_that_they_were_chosen_for() -> None:
    for wrapper in all_wrappers():
        layer = Layer(wrapper)
        objects = [v for outer, _ in wrapper.accepts if outer[:1] == "{" and layer.matches(v := json.loads(outer))]
        for lines in (b"", b'{"timestamp":1,"id":2,"type":3}', *(outer.encode() for outer, _ in wrapper.accepts)):
            signs = [s for found, _ in fewest_signs([wrapper], lines) for s in found.signature]
            for value in objects if not wrapper.last_of_all else ():
                assert any(all(present(value, steps) is wanted for steps, wanted in terms) for terms in signs)


FAILED_ROW = {**ROW, "status_code": 429, "success": False, "tokens_in": 0, "tokens_out": 0}


def kept_of(path: Path, change: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
    """How many of ten such requests that failed are kept, and how many are settled by which part."""
    rows = [{**FAILED_ROW, **change, "id": f"r{i}"} for i in range(10)]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    else:
        pl.DataFrame(rows, infer_schema_length=None).write_csv(path)
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep="open"))
    return found.records.num_rows, tuple(found.settled)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize(
    ("change", "kept", "settled"),
    [
        ({}, 0, (0, 0, 10)), ({"status_code": 500, "tokens_in": None}, 0, (0, 0, 10)),
        ({"created_at": "2026-12-01T00:00:00Z"}, 0, (10, 0, 0)), ({"tokens_in": 900}, 0, (0, 10, 0)),
        ({"status_code": 499}, 10, (0, 0, 0)), ({"status_code": 200}, 10, (0, 0, 0)), ({"tokens_out": 7}, 10, (0, 0, 0)),
        ({"cached": True}, 10, (0, 0, 0)), ({"tokens_in": 700_000}, 10, (0, 0, 0)),
        ({"status_code": None, "success": None}, 10, (0, 0, 0)),
    ],
)  # fmt: skip
def test_a_request_that_surely_failed_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: dict[str, Any], kept: int, settled: tuple[int, ...]
) -> None:
    if settled[-1]:
        monkeypatch.setattr(Scanner, "unit", lambda *_: pytest.fail("a line was looked at by itself"))
    assert kept_of(tmp_path / f"log.{kind}", change) == (kept, settled)
