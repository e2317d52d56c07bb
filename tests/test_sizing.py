"""Does the estimate of a check keep its layers apart, find what is missing, and never call a sample proof of nothing?"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kvforensics.case import Case, CheckOptions, RunFacts
from kvforensics.case_reader import open_case
from kvforensics.cli.size import command
from kvforensics.errors import UsageError
from kvforensics.estimate import none_seen
from kvforensics.reports.sizing import sizing_text
from kvforensics.reports.terminal import verdict_text
from kvforensics.sampling import Rated, rate_of, read_rate
from kvforensics.sizing import SizingOptions

MODEL = "@cf/zai-org/glm-5.3"
START, END = datetime(2026, 8, 27, tzinfo=UTC), datetime(2026, 9, 9, 14, 52, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
Json = dict[str, Any]


def line(start: datetime, tokens: int | None = 700, **more: Any) -> Json:
    """One call in a home-made log."""
    usage = None if tokens is None else {"prompt_tokens": tokens, "completion_tokens": 5}
    return {
        "started_at": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "model": MODEL, "provider": "cloudflare", "status": 200,
        "usage": usage, **more,
    }  # fmt: skip


def write(path: Path, rows: Iterable[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def check(*paths: Path, **options: Any) -> Json:
    """The summary; checked against the schema that comes along."""
    with Case() as case:
        summary = case.check(CheckOptions(paths=tuple(map(str, paths)), workers=1, **options)).summary
    assert_valid(summary)
    return summary


def assert_valid(summary: Json) -> None:
    _validator().validate(json.loads(json.dumps(summary)))


@cache
def _validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(files("kvforensics").joinpath("schemas", "summary.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def steady(every: timedelta = timedelta(hours=6), tokens: int | None = 700, **more: Any) -> list[Json]:
    """A log that covers the window, without an affected call."""
    first, last = START - timedelta(days=1), END + timedelta(days=1)
    return [line(first + n * every, tokens, **more) for n in range(int((last - first) / every) + 1)]


SHORT_INCIDENT = """schema = "kvforensics.incident/1"
id = "short"
title = "Two days"
[window]
start = 2026-08-27T00:00:00Z
end = 2026-08-29T00:00:00Z
[threshold]
prompt_tokens_over = 681280
[model]
ids = ["@cf/zai-org/glm-5.3"]
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """Five nodes of which the third is gone, sampled at one in a hundred, with hours taken out."""
    folder = tmp_path_factory.mktemp("fleet")
    chance = random.Random(11)
    first, last = START - timedelta(hours=12), START + timedelta(hours=60)
    removed = {
        1: [(START + timedelta(hours=5, minutes=13), 60)],
        4: [(START + timedelta(hours=20), 120), (START + timedelta(hours=40), 7)],
    }
    for node in (1, 2, 4, 5):
        rows = []
        for minute in range(int((last - first) / MINUTE)):
            at = first + minute * MINUTE
            if not any(since <= at < since + n * MINUTE for since, n in removed.get(node, ())):
                rows += [
                    line(at + timedelta(seconds=chance.randrange(60)), node=f"node-{node:02}", tenant="t")
                    for _ in range(2)
                ]
        write(folder / "fleet" / f"node-{node:02}_2026-08.jsonl", rows)
    incident = folder / "incident.toml"
    incident.write_text(SHORT_INCIDENT)
    sizing = SizingOptions(rates=(Rated(None, 0.01),), scale_gaps=True)
    return check(folder / "fleet", incident=str(incident), sizing=sizing, keep_all=True)


@pytest.mark.slow
def test_removed_hours_are_found_with_their_edges_to_the_minute(fleet: Json) -> None:
    found = {s["name"].split("/")[-1]: s["gaps"] for s in fleet["estimate"]["coverage"]["sources"]}
    assert {name: [(g["from"], g["until"], g["minutes"]) for g in gaps] for name, gaps in found.items()} == {
        "node-01": [("2026-08-27T05:13:00Z", "2026-08-27T06:13:00Z", 60)],
        "node-02": [],
        "node-04": [
            ("2026-08-27T20:00:00Z", "2026-08-27T22:00:00Z", 120),
            ("2026-08-28T16:00:00Z", "2026-08-28T16:07:00Z", 7),
        ],
        "node-05": [],
    }
    nodes = {n["name"]: len(n["gaps"]) for n in fleet["estimate"]["coverage"]["nodes"]}
    assert nodes == {"node-01": 1, "node-02": 0, "node-04": 2, "node-05": 0}


@pytest.mark.slow
def test_a_removed_node_is_found_by_the_numbers_of_the_others(fleet: Json) -> None:
    holes = {h["pattern"]: h["missing"] for h in fleet["estimate"]["coverage"]["sequence_holes"]}
    assert holes == {"fleet/node-*_2026-08.jsonl": ["03"], "node node-*": ["03"]}


@pytest.mark.slow
def test_a_sampled_fleet_with_holes_is_never_not_exposed(fleet: Json) -> None:
    assert fleet["verdict"] == "undetermined"
    assert {"window_not_covered", "files_missing"} <= set(fleet["undetermined_because"])
    sampling = fleet["estimate"]["sampling"]
    assert (sampling["responses"]["lower"], sampling["responses"]["upper"]) == (0, 367)
    assert sampling["none_seen_upper"] == none_seen(0.01) == 298
    assert fleet["responses"]["upper"] is None


def test_a_missing_file_alone_forbids_not_exposed_unless_completeness_is_asserted(tmp_path: Path) -> None:
    for part in (1, 2, 4):
        write(tmp_path / "logs" / f"part-{part}.jsonl", steady())
    assert check(tmp_path / "logs")["verdict"] == "undetermined"
    assert check(tmp_path / "logs", assume_complete=True)["verdict"] == "not_exposed"
    write(tmp_path / "logs" / "part-3.jsonl", steady())
    assert check(tmp_path / "logs")["verdict"] == "not_exposed"


def test_layers_are_told_apart(tmp_path: Path) -> None:
    at = START + timedelta(days=2)
    rows = [*steady(), line(at, 700_000, tenant="a"), line(at + MINUTE, None, tenant="b")]
    path = write(tmp_path / "app.jsonl", rows)
    path.write_text(
        path.read_text() + '{"started_at": "2026-09-01T00:00\n{"started_at":"x","status":200,"provider":"y"}\n'
    )
    estimate = check(path, sizing=SizingOptions(rates=(Rated("app*", 0.1),)))["estimate"]
    assert estimate["observed"]["responses"]["value"] == 1
    assert estimate["observed"]["possible"]["value"] == 1
    worst = estimate["worst_case"]["responses"]
    assert (worst["lower"], worst["upper"], worst["kind"]) == (1, None, "actual")
    terms = {t["code"]: t["count"] for t in estimate["worst_case"]["terms"]}
    assert terms == {"unknown_tokens": 1, "rejected_lines": 1, "stumps": 1, "sampled": None}
    responses = estimate["sampling"]["responses"]
    assert (responses["value"], responses["kind"]) == (10, "estimated")
    assert responses["lower"] == 1 < responses["value"] < responses["upper"]
    assert estimate["sampling"]["tenants"]["lower"] == 1
    assert estimate["scaled"] is None
    whole = check(path)["estimate"]["worst_case"]["responses"]
    assert (whole["lower"], whole["upper"]) == (1, 4)


def test_an_answer_that_is_logged_twice_without_a_proof_counts_once_in_the_lower_bound(tmp_path: Path) -> None:
    twin = line(START + timedelta(days=2), 700_000, tenant="a", requestId="r-1")
    path = write(tmp_path / "app.jsonl", [*steady(), twin, twin])
    summary = check(path)
    assert summary["responses"]["affected"] == 2
    worst = summary["estimate"]["worst_case"]
    assert (worst["responses"]["lower"], worst["responses"]["upper"]) == (1, 2)
    assert [t["code"] for t in worst["terms"]] == ["may_be_one"]


def test_a_call_in_a_complete_log_is_not_multiplied_by_the_rate_of_a_sampled_one(tmp_path: Path) -> None:
    at = START + timedelta(days=2)
    both, alone = line(at, 700_000, response_id="x"), line(at + MINUTE, 700_001, response_id="y")
    whole = write(tmp_path / "whole" / "a.jsonl", [*steady(), both])
    sampled = write(tmp_path / "sampled" / "b.jsonl", [*steady(), both, alone])
    estimate = check(whole, sampled, sizing=SizingOptions(rates=(Rated("b.jsonl", 0.5),)))["estimate"]
    strata = {s["rate"]: s["observed"] for s in estimate["sampling"]["strata"]}
    assert strata == {1.0: 1, 0.5: 1}
    assert estimate["sampling"]["responses"]["value"] == 3


def test_nested_samplers_keep_the_smaller_rate_and_do_not_multiply() -> None:
    rates = (read_rate("0.5"), read_rate("*.jsonl=10%"), read_rate("other=1/100"))
    assert rate_of("logs/a.jsonl", rates) == 0.1
    assert rate_of("logs/a.csv", rates) == 0.5
    assert rate_of("logs/a.csv", rates[1:]) is None


@pytest.mark.parametrize("text", ["0", "1.5", "120%", "x", "a=", "=0.5", "1/0", "-0.1", "nan", ""])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="sampling rate"):
        read_rate(text)


def test_sampling_by_tenant_estimates_tenants_and_leaves_responses_without_an_interval(tmp_path: Path) -> None:
    at = START + timedelta(days=2)
    rows = [line(at + n * MINUTE, 700_000 + n, tenant=f"t{n % 3}", requestId=f"r{n}") for n in range(9)]
    path = write(tmp_path / "app.jsonl", [*steady(), *rows])
    sizing = SizingOptions(rates=(Rated(None, 0.1),), sampled_by="tenant")
    sampling = check(path, sizing=sizing)["estimate"]["sampling"]
    assert (sampling["tenants"]["value"], sampling["responses"]["value"]) == (30, 90)
    assert (sampling["tenants"]["lower"] > 3, sampling["tenants"]["upper"] > 30) == (True, True)
    assert (sampling["responses"]["lower"], sampling["responses"]["upper"]) == (9, None)
    by_request = check(path, sizing=SizingOptions(rates=(Rated(None, 0.1),)))["estimate"]["sampling"]
    assert by_request["tenants"]["lower"] == 3
    assert by_request["chao1"]["lower"] == 3


@pytest.mark.parametrize("form", ["toml", "csv"])
def test_keys_that_an_alias_file_names_are_one_tenant(tmp_path: Path, form: str) -> None:
    at = START + timedelta(days=2)
    rows = [line(at + n * MINUTE, 700_000 + n, key_alias=f"key-{n}", requestId=f"r{n}") for n in range(4)]
    path = write(tmp_path / "logs" / "app.jsonl", [*steady(), *rows])
    alias = tmp_path / f"tenants.{form}"
    alias.write_text(
        'schema = "kvforensics.tenants/1"\n[[tenant]]\nname = "acme"\nkeys = ["key-0", "key-1"]\naccounts = ["key-2"]\n'
        if form == "toml" else "tenant,key,account\nacme,key-0,\nacme,key-1,\nacme,,key-2\n"
    )  # fmt: skip
    bare, named = check(path), check(path, tenant_aliases=str(alias))
    assert (bare["tenants"]["affected"], named["tenants"]["affected"]) == (4, 2)
    # Four keys may be one tenant; once somebody told which are, they are not guessed about.
    assert (bare["estimate"]["worst_case"]["tenants"]["lower"], bare["tenants"]["upper"]) == (1, 4)
    assert named["estimate"]["worst_case"]["tenants"]["lower"] == 2
    table = {r["tenant"]: r["affected"] for r in named["estimate"]["per_tenant"]["rows"]}
    assert table == {"acme": 3, "key-3": 1}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.csv", "tenant\nx\n", "header"),
        ("a.csv", "tenant,key,colour\nx,k,red\n", "header"),
        ("a.csv", "tenant,key\nx,k\ny,k\n", "is given to"),
        ("a.csv", "tenant,key\n,k\n", "should name a tenant"),
        ("a.csv", "tenant,key\nx,k,more\n", "as many cells"),
        ("a.toml", 'schema = "kvforensics.tenants/1"\n[[tenant]]\nname = "x"\nkey = ["k"]\n', "not a known key"),
        ("a.toml", "schema = 1\n", "schema"),
        ("missing.toml", None, "cannot be read"),
    ],
)
def test_an_alias_file_that_is_not_one_is_refused(tmp_path: Path, name: str, text: str | None, problem: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    log = write(tmp_path / "logs" / "app.jsonl", steady())
    with pytest.raises(UsageError, match=problem):
        check(log, tenant_aliases=str(path))


def test_two_logs_of_the_same_traffic_bound_what_both_missed(tmp_path: Path) -> None:
    at = START + timedelta(days=2)
    calls = [line(at + n * MINUTE, 700_000 + n, response_id=f"x{n}") for n in range(20)]
    first = write(tmp_path / "gateway" / "a.jsonl", [*steady(), *calls[:15]])
    second = write(tmp_path / "billing" / "b.jsonl", [*steady(), *calls[5:]])
    sides = ("a.jsonl", "b.jsonl")
    found = check(first, second, sizing=SizingOptions(two_sources=sides))["estimate"]["two_sources"]
    assert (found["in_first"], found["in_second"], found["in_both"]) == (15, 15, 10)
    assert (found["responses"]["lower"], found["responses"]["upper"]) == (20, None)
    assert found["responses"]["value"] == round(16 * 16 / 11 - 1, 3)
    assumed = SizingOptions(two_sources=sides, assume_independent=True)
    stated = check(first, second, sizing=assumed)["estimate"]["two_sources"]["responses"]
    assert stated["lower"] == 20 < stated["value"] < stated["upper"]
    assert "independent" in stated["assumption"]


def test_scaling_over_gaps_is_a_layer_of_its_own_and_only_where_asked_for(tmp_path: Path) -> None:
    half = START + (END - START) / 2
    rows = [r for r in steady() if r["started_at"] < half.strftime("%Y-%m-%dT%H:%M:%SZ")]
    rows += [line(START + timedelta(days=1, minutes=n), 700_000 + n, requestId=f"r{n}") for n in range(10)]
    path = write(tmp_path / "app.jsonl", rows)
    plain = check(path)["estimate"]
    estimate = check(path, sizing=SizingOptions(scale_gaps=True))["estimate"]
    assert plain["scaled"] is None
    scaled = estimate["scaled"]
    assert scaled["share_covered"] == pytest.approx(0.5, abs=0.02)
    assert scaled["responses"]["value"] == pytest.approx(20, abs=1)
    assert scaled["responses"]["lower"] >= 10
    assert {k: v for k, v in estimate.items() if k != "scaled"} == {k: v for k, v in plain.items() if k != "scaled"}
    assert {r["code"] for r in estimate["published"]["reasons"]} >= {"part_of_the_traffic", "gaps"}
    assert estimate["published"]["inside"] is False


def test_logpush_files_leave_the_times_between_their_names(tmp_path: Path) -> None:
    row = {"Model": MODEL, "Provider": "workers-ai", "StatusCode": 400, "Gateway": "g"}
    for part in range(100):
        if part not in (7, 8, 12):
            since = START - timedelta(hours=20) + part * timedelta(hours=4)
            name = f"{since:%Y%m%dT%H%M%SZ}_{since + timedelta(hours=4):%Y%m%dT%H%M%SZ}_abc.log"
            write(
                tmp_path / "push" / f"{since:%Y%m%d}" / name,
                [{**row, "Timestamp": (since + MINUTE).strftime("%Y-%m-%dT%H:%M:%SZ")}],
            )
    (stream,) = check(tmp_path / "push")["estimate"]["coverage"]["sources"]
    named = [(g["from"], g["until"]) for g in stream["gaps"] if g["detector"] == "log_names"]
    assert named == [("2026-08-27T08:00:00Z", "2026-08-27T16:00:00Z"), ("2026-08-28T04:00:00Z", "2026-08-28T08:00:00Z")]


def timed(start: datetime, tokens: int, first_token_ms: int, **more: Any) -> Json:
    details = {"prompt_tokens": tokens, "prompt_tokens_details": {"cached_tokens": more.pop("cached", 0)}}
    return {**line(start), "usage": details, "time_to_first_token_ms": first_token_ms, **more}


def test_speed_speaks_for_or_against_a_finding_and_proves_nothing(tmp_path: Path) -> None:
    at = START + timedelta(days=2)
    # 10,000 tokens in one second is as fast as these logs read.
    rows = [
        timed(START - timedelta(hours=1) + n * timedelta(hours=6), 10_000, 1_000, requestId=f"s{n}") for n in range(60)
    ]
    rows += [
        timed(at, 700_000, 500, requestId="fast", finish_reason="stop"),
        timed(at + MINUTE, 700_001, 25_000, requestId="rather", cached=100_000),
        timed(at + 2 * MINUTE, 700_002, 90_000, requestId="slow"),
    ]
    path = write(tmp_path / "app.jsonl", rows)
    assert check(path)["estimate"]["corroboration"]["believable_tokens_per_second"] is None
    summary = check(path, keep_all=True)
    corroboration = summary["estimate"]["corroboration"]
    assert summary["responses"]["affected"] == 3
    assert corroboration["believable_tokens_per_second"] == 10_000
    marks = {f["line"]: (f["marks"], f["contradicts"]) for f in corroboration["findings"]}
    assert list(marks.values()) == [
        (["conclusive_speed", "no_cached_tokens"], False),
        (["implausible_speed"], False),
        (["took_a_full_prefill", "no_cached_tokens"], True),
    ]
    assert corroboration["findings"][0]["finish_reason"] == "stop"


def test_the_instant_of_a_first_token_tells_how_long_it_took_but_not_where_it_is_the_end(tmp_path: Path) -> None:
    def spend(n: int, first: str | None, end: str = "10:01:00") -> Json:
        return {
            "request_id": f"chatcmpl-{n}", "call_type": "acompletion", "spend": 1, "startTime": "2026-09-03T10:00:00",
            "endTime": f"2026-09-03T{end}", "completionStartTime": first and f"2026-09-03T{first}", "model": f"openai/{MODEL}",
            "custom_llm_provider": "openai", "prompt_tokens": 700_000 + n, "completion_tokens": 9, "status": "success",
        }  # fmt: skip

    firsts = ("10:00:40.500", "10:01:00", None, "09:59:59", "nonsense")
    path = write(tmp_path / "spend.jsonl", [spend(n, first) for n, first in enumerate(firsts)])
    told = check(path)["estimate"]["corroboration"]["findings"]
    assert [(f["first_token_ms"], f["duration_ms"]) for f in told] == [(40_500.0, None), *[(None, None)] * 4]


def sums(days: Sequence[tuple[str, int]], model: str = MODEL, interval: float = 1) -> str:
    rows = [
        {
            "count": 3, "avg": {"sampleInterval": interval}, "dimensions": {"date": day, "modelId": model},
            "sum": {"totalInputTokens": t},
        }
        for day, t in days
    ]  # fmt: skip
    return json.dumps({"data": {"viewer": {"accounts": [{"groups": rows}]}}})


DAYS = [f"2026-08-{d}" for d in range(26, 32)] + [f"2026-09-{d:02}" for d in range(1, 12)]


def test_sums_below_the_threshold_turn_undetermined_into_not_exposed(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text(sums([(day, 600_000) for day in DAYS]))
    summary = check(path)
    assert summary["verdict"] == "not_exposed"
    (aggregate,) = summary["estimate"]["aggregates"]
    assert aggregate["window_cleared"] is True
    assert aggregate["at_most"]["upper"] == 0
    for text in (verdict_text(summary, []), sizing_text(summary["estimate"], summary["coverage"])):
        assert "sums over all requests clear what no whole log covers" in " ".join(text.split()).lower()
        assert "a whole log covers the window" not in text
        assert "The logs cover the whole" not in text


def test_a_larger_sum_bounds_and_never_flags(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text(sums([(day, 1_400_000 if day == "2026-09-03" else 600_000) for day in DAYS]))
    summary = check(path)
    assert (summary["verdict"], summary["responses"]["affected"]) == ("undetermined", 0)
    (aggregate,) = summary["estimate"]["aggregates"]
    assert aggregate["at_most"]["upper"] == 2
    assert [(b["from"], b["at_most"]) for b in aggregate["over"]] == [("2026-09-03T00:00:00Z", 2)]
    # A request can have started an hour before the sum that counts it.
    assert aggregate["cleared"][0] == {"from": "2026-08-27T00:00:00Z", "until": "2026-09-02T23:00:00Z"}


def test_a_sampled_sum_clears_nothing_and_widens_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text(sums([(day, 600_000) for day in DAYS], interval=10))
    (aggregate,) = check(path)["estimate"]["aggregates"]
    assert (aggregate["sampled"], aggregate["hours_cleared"], aggregate["at_most"]["kind"]) == (True, 0, "estimated")
    assert aggregate["at_most"]["upper"] == 35 * len(aggregate["over"])
    other = tmp_path / "other.json"
    other.write_text(
        sums([(day, 600_000) for day in DAYS], model="@cf/meta/llama-3.3-70b-instruct-fp8-fast", interval=10)
    )
    assert check(other)["estimate"]["aggregates"][0]["hours_cleared"] == 0


def test_sums_stand_in_for_the_days_that_a_log_lacks(tmp_path: Path) -> None:
    log = write(
        tmp_path / "app" / "app.jsonl",
        [r for r in steady() if not "2026-09-02" <= r["started_at"][:10] <= "2026-09-05"],
    )
    assert check(log)["verdict"] == "undetermined"
    groups = tmp_path / "groups.json"
    groups.write_text(sums([(f"2026-09-{d:02}", 600_000) for d in range(1, 7)]))
    assert check(log, groups)["verdict"] == "not_exposed"
    groups.write_text(sums([(f"2026-09-{d:02}", 600_000) for d in range(1, 4)]))
    assert check(log, groups)["verdict"] == "undetermined"


@pytest.mark.parametrize(
    ("header", "rows", "cleared"),
    [
        ("day", [(day,) for day in DAYS], True),
        ("date", [(f"{day}T00:00:00Z",) for day in DAYS], True),
        ("hour", [(f"{day}T{hour:02}:00:00Z",) for day in DAYS for hour in range(24)], True),
        # One hour of a day is not the day, and the time of a sum of a month is not known.
        ("date,hour", [(day, 8) for day in DAYS], False),
        ("date", [(f"{day}T08:00:00Z",) for day in DAYS], False),
        ("month", [("2026-08",), ("2026-09",)], False),
    ],
)
def test_a_report_that_counts_requests_is_read_as_sums(
    tmp_path: Path, header: str, rows: list[tuple[Any, ...]], *, cleared: bool
) -> None:
    path = tmp_path / "report.csv"
    told = "".join(f"{','.join(map(str, row))},{MODEL},9,500000\n" for row in rows)
    path.write_text(f"{header},model,requests,input_tokens\n{told}")
    summary = check(path, timezones=((None, "UTC"),))
    assert summary["inputs"][0]["format"] == "app-sums"
    assert summary["estimate"]["aggregates"][0]["window_cleared"] is cleared
    assert summary["responses"]["upper"] == 0


def test_any_csv_of_sums_is_read_by_a_mapping(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(
        'schema = "kvforensics.mapping/1"\nname = "billing"\nbucket = "1d"\ntimezone = "UTC"\n'
        '[match]\nkeys = ["day", "tokens"]\n'
        '[fields]\nstart = "day"\nmodel = "model"\nprompt_tokens = "tokens"\nrequests = "calls"\n'
    )
    path = tmp_path / "logs" / "billing.csv"
    path.parent.mkdir()
    path.write_text("day,model,tokens,calls\n" + "".join(f"{day},{MODEL},2000000,2\n" for day in DAYS))
    summary = check(path.parent, mappings=(str(mapping),))
    (aggregate,) = summary["estimate"]["aggregates"]
    assert summary["ledger"]["framing"] == summary["ledger"]["lines"] == len(DAYS) + 1
    assert aggregate["over"][1]["at_most"] == 2
    path.write_text("day,model,tokens,calls\n" + "".join(f"{day},{MODEL},200000,2\n" for day in DAYS))
    assert check(path.parent, mappings=(str(mapping),))["verdict"] == "not_exposed"
    mapping.write_text(mapping.read_text().replace('bucket = "1d"', 'bucket = "one day"'))
    with pytest.raises(UsageError, match="bucket"):
        check(path.parent, mappings=(str(mapping),))


def test_size_prints_what_the_case_holds(tmp_path: Path) -> None:
    at = START + timedelta(days=2)
    nasty = "evil\x1b[31m\u202e"
    path = write(tmp_path / "logs" / "app.jsonl", [*steady(), line(at, 700_000, tenant=nasty, requestId="r")])
    folder = tmp_path / "case"
    with Case() as case:
        options = CheckOptions(
            paths=(str(path),), workers=1, case_dir=str(folder), sizing=SizingOptions(rates=(Rated(None, 0.5),))
        )
        summary = case.check(options).summary
        case.write_case(str(folder), RunFacts(0.0, "host", 1))
    kept = open_case(folder).summary["estimate"]
    assert kept == json.loads(json.dumps(summary["estimate"]))
    text = CliRunner().invoke(command, [str(folder)])
    assert (text.exit_code, text.output) == (0, sizing_text(summary["estimate"]))
    heads = ["1. Observed", "2. Worst case", "3. Under sampling", "4. Coverage", "Published", "Tenants", "Sensitivity"]
    assert sorted(heads, key=text.output.index) == heads
    assert "\x1b" not in text.output
    assert "\u202e" not in text.output
    shown = CliRunner().invoke(command, [str(folder), "--json"])
    assert json.loads(shown.output) == kept


def test_size_refuses_what_is_no_case(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert isinstance(result.exception, UsageError)
