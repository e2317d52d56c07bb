"""Does a mapping file become a format, and is a wrong one refused by name?"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvforensics.case import Case, CheckOptions, RunFacts
from kvforensics.errors import UsageError
from kvforensics.mapping import load_mapping
from kvforensics.raw import Extractor

WHOLE = """
schema = "kvforensics.mapping/1"
name = "our-app"
[match]
source = ["app-*.jsonl"]
keys = ["requestId", "usage"]
[fields]
record_id = "requestId"
start = "ts"
duration = { path = "latency", unit = "s" }
model = "model"
prompt_tokens = { path = "usage.prompt_tokens", cache_rule = "inclusive" }
cached_tokens = "usage.cached"
status = "status"
tenant = "tenant"
timezone = "Europe/Amsterdam"
correlation.cf_ray = "headers.ray"
"""


def written(folder: Path, text: str) -> str:
    path = folder / "map.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_mapping_becomes_a_format_that_reads_its_records(tmp_path: Path) -> None:
    mapping = load_mapping(written(tmp_path, WHOLE))
    record = {
        "requestId": "r1", "ts": "2026-09-01 10:00:00", "latency": 1.5, "model": "m", "status": 200, "tenant": "acme",
        "usage": {"prompt_tokens": 9, "cached": 4}, "headers": {"ray": "abc"},
    }  # fmt: skip
    reader = Extractor(mapping.format)
    assert reader.matches(record)
    assert not reader.matches({"requestId": "r1"})
    row = reader.batch([record]).row(0, named=True)
    assert (row["record_id"], row["start"], row["duration"]) == ("r1", "2026-09-01 10:00:00", "1500000")
    assert (row["prompt"], row["cache_read"], row["http_status"]) == ("9", "4", "200")
    assert (row["tenant"], row["id_cf_ray"], row["id_x_request_id"]) == ("acme", "abc", "r1")
    assert mapping.format.zone == mapping.timezone == "Europe/Amsterdam"
    assert mapping.format.cache_rule == "inclusive"


def test_a_mapping_takes_only_the_sources_it_names(tmp_path: Path) -> None:
    mapping = load_mapping(written(tmp_path, WHOLE))
    assert mapping.takes("logs/app-1.jsonl")
    assert mapping.takes("app-1.jsonl")
    assert not mapping.takes("logs/web.jsonl")


def test_a_mapping_without_a_match_takes_records_that_hold_one_of_its_fields(tmp_path: Path) -> None:
    text = 'schema = "kvforensics.mapping/1"\nname = "x"\n[fields]\nmodel = "m"\nstart = "t"\n'
    mapping = load_mapping(written(tmp_path, text))
    reader = Extractor(mapping.format)
    assert mapping.takes("anything")
    assert reader.matches({"m": "a"})
    assert not reader.matches({"other": 1})


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ('unit = "s"', 'unit = "minutes"', 10),
        ('model = "model"', 'modle = "model"', 11),
        ('cache_rule = "inclusive"', 'cache_rule = "maybe"', 12),
        ("Europe/Amsterdam", "Europe/Amsterdm", 16),
        ("correlation.cf_ray", "correlation.session_id", 17),
        ("keys =", "key =", 6),
        ('name = "our-app"', 'name = ""', 3),
    ],
)
def test_an_error_names_the_line_of_its_key(tmp_path: Path, before: str, after: str, line: int) -> None:
    path = written(tmp_path, WHOLE.replace(before, after, 1))
    with pytest.raises(UsageError) as refused:
        load_mapping(path)
    assert refused.value.where == f"{path}:{line}"


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("kvforensics.mapping/1", "kvforensics.mapping/2", "schema"),
        ('name = "our-app"', 'name = ""', "name"),
        ('name = "our-app"', 'name = "our-app"\nextra = 1', "extra"),
        ("keys =", "key =", "match.key"),
        ('model = "model"', 'modle = "model"', "fields.modle"),
        ('model = "model"', "model = 3", "fields.model"),
        ('unit = "s"', 'unit = "minutes"', "fields.duration.unit"),
        ('cache_rule = "inclusive"', 'cache_rule = "maybe"', "fields.prompt_tokens.cache_rule"),
        ('tenant = "tenant"', 'tenant = { path = "t", unit = "s" }', "fields.tenant.unit"),
        ("correlation.cf_ray", "correlation.session_id", "fields.correlation.session_id"),
        ("Europe/Amsterdam", "Europe/Amsterdm", "fields.timezone"),
        ('source = ["app-*.jsonl"]', "source = 1", "match.source"),
        ("[fields]", "[feilds]", "feilds"),
        ('tenant = "tenant"', 'tenant = "a|b"', "fields.tenant"),
        ('keys = ["requestId", "usage"]', 'container = "xml"', "match.container"),
        ("[match]", "[match", "TOML"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_file_and_key(tmp_path: Path, before: str, after: str, named: str) -> None:
    path = written(tmp_path, WHOLE.replace(before, after, 1))
    with pytest.raises(UsageError) as refused:
        load_mapping(path)
    assert refused.value.exit_status == 2
    assert str(refused.value).startswith(path)
    assert named in str(refused.value)


def test_a_mapping_that_is_not_there_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_mapping("no/such/mapping.toml")


EVERY_FIELD = """
schema = "kvforensics.mapping/1"
name = "every-field"
[match]
keys = ["rid"]
[fields]
record_id = "rid"
start = "t.begin"
end = "t.finish"
duration = { path = "t.took", unit = "us" }
model = "m.id"
provider = "m.via"
host = "m.host"
prompt_tokens = { path = "n.in", cache_rule = "exclusive" }
cached_tokens = "n.cached"
completion_tokens = "n.out"
total_tokens = "n.sum"
request_bytes = "size"
status = "code"
success = "ok"
error = "err"
from_cache = "hit"
replay_of = "again"
tenant = "who.org"
key = "who.key"
user = "who.user"
client_ip = "who.ip"
user_agent = "who.ua"
tag = "labels"
node = "box"
timezone = "Europe/Amsterdam"
[fields.correlation]
cf_ray = "x.ray"
trace_id = "x.trace"
"""


def call(n: int, prompt: int | None, cached: int | None) -> dict[str, Any]:
    return {
        "rid": f"r{n}", "t": {"begin": f"2026-09-02 10:4{n}:00", "finish": f"2026-09-02 10:4{n}:05", "took": 5_000_000},
        "m": {"id": "glm-5.3", "via": "workers-ai", "host": "gateway.ai.cloudflare.com"},
        "n": {"in": prompt, "cached": cached, "out": 12, "sum": None}, "size": 3_000_000, "code": 200, "ok": True,
        "err": None, "hit": n == 1, "again": "r0" if n == 1 else None,
        "who": {"org": "acme", "key": "k1", "user": "u1", "ip": "192.0.2.7", "ua": "curl/8"}, "labels": ["qa", "x"],
        "box": "n1", "x": {"ray": f"ray{n}", "trace": f"t{n}"},
    }  # fmt: skip


CALLS = [call(0, 46_000, 655_360), call(1, 681_281, 0), call(2, 100, 5), call(3, None, None)]


def flat(record: dict[str, Any], before: str = "") -> dict[str, Any]:
    """One level: dotted names, lists as JSON."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        inner = flat(value, f"{before}{name}.") if isinstance(value, dict) else None
        found |= inner or {before + name: json.dumps(value) if isinstance(value, list) else value}
    return found


def as_file(path: Path, container: str) -> str:
    if container == "jsonl":
        path.write_text("".join(json.dumps(c) + "\n" for c in CALLS))
    elif container == "json":
        path.write_text(json.dumps(CALLS, indent=1))
    elif container == "parquet":
        pl.DataFrame(CALLS).write_parquet(path)
    elif container == "flat parquet":
        pl.DataFrame([flat(c) for c in CALLS]).write_parquet(path)
    elif container == "cri":
        path.write_text("".join(f"2026-09-02T08:50:00Z stdout F {json.dumps(c)}\n" for c in CALLS))
    else:
        rows = [flat(c) if container == "csv" else {k: _json(v) for k, v in c.items()} for c in CALLS]
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]), delimiter="," if container == "csv" else ";")
            out.writeheader()
            out.writerows(rows)
    return str(path)


def _json(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


@pytest.mark.parametrize("container", ["jsonl", "json", "csv", "csv with JSON", "parquet", "flat parquet", "cri"])
def test_every_field_is_read_from_every_container(tmp_path: Path, container: str) -> None:
    mapping, log = written(tmp_path, EVERY_FIELD), as_file(tmp_path / "log", container)
    with Case() as case:
        result = case.check(CheckOptions((log,), mappings=(mapping,), case_dir=str(tmp_path / "case"), keep_all=True))
        case.write_case(str(tmp_path / "case"), RunFacts(0.0, "here", 1))
    records = pl.read_parquet(tmp_path / "case/records.parquet").to_dicts()
    (read,) = result.summary["inputs"]
    assert read["format"] == ("cri > every-field" if container == "cri" else "every-field")
    assert (read["records"], read["timezone"], read["problems"]) == (4, "Europe/Amsterdam", [])
    first, second = records[:2]
    assert first["time_basis"] == "assumed:Europe/Amsterdam"
    assert first["started_earliest"] == 1_788_338_400_000_000
    wanted = {
        "record_id": "r0", "prompt_tokens_min": 701_360, "prompt_tokens_max": 701_360, "token_basis": "reported+cache",
        "completion_tokens": 12, "http_status": 200, "model_match": True, "tenant": "acme", "key": "k1", "user": "u1",
        "client_ip": "192.0.2.7", "user_agent": "curl/8", "tags": ["qa", "x"], "node": "n1", "from_cache": False,
    }  # fmt: skip
    assert {name: first[name] for name in wanted} == wanted
    assert {i["kind"]: i["value"] for i in first["ids"]} == {"x_request_id": "r0", "cf_ray": "ray0", "trace_id": "t0"}
    assert (second["from_cache"], second["replay_of"]) == (True, "r0")
    assert [d["disposition"] for d in result.top] == ["affected", "possible", "replay"]


def test_the_example_of_the_manual_reads_what_it_says(tmp_path: Path) -> None:
    section = (Path(__file__).parents[1] / "README.md").read_text().partition("## Home-made logs")[2].partition("\n## ")[0]
    (line,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    mapping, *_ = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    (tmp_path / "app-1.jsonl").write_text(line)
    with Case() as case:
        path = written(tmp_path, mapping)
        result = case.check(CheckOptions((str(tmp_path / "app-1.jsonl"),), mappings=(path,)))
    (top,) = result.top
    assert (top["prompt_tokens_min"], top["started_earliest"]) == (701_360, "2026-09-02T08:41:12.000000Z")
    assert (top["disposition"], top["tenant"], top["correlation"]["cf_ray"]) == ("affected", "acme", "9c1f")


def test_the_columns_of_a_table_without_a_header_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "push.csv"
    models = ("@cf/zai-org/glm-5.3", "@cf/meta/m")
    log.write_text("".join(f"false,{model},workers-ai,200,2026-09-03T10:00:00Z\n" for model in models))
    columns = {"model": 2, "provider": 3, "status": 4, "stamp": 5}
    fields = "".join(f'{name} = "column_{n}"\n' for name, n in columns.items())
    mapping = written(tmp_path, f'schema = "kvforensics.mapping/1"\nname = "push"\n[match]\n[fields]\n{fields}')
    with Case() as case:
        result = case.check(CheckOptions((str(log),), mappings=(mapping,), workers=1))
    assert (result.summary["ledger"]["records"], result.summary["ledger"]["framing"]) == (2, 0)
    [found] = result.findings.to_pylist()
    assert [found[key] for key in ("line", "on_model", "in_window", "over_threshold", "served")] == [1, True, True, None, True]


def test_a_mapping_may_name_its_container(tmp_path: Path) -> None:
    text = WHOLE.replace('keys = ["requestId", "usage"]', 'container = "csv"')
    assert load_mapping(written(tmp_path, text)).format.containers == ("csv",)
    assert len(load_mapping(written(tmp_path, WHOLE)).format.containers) == 4


@pytest.mark.parametrize("table", ["fields", "match"])
def test_a_length_of_sums_out_of_place_is_refused_with_where_it_belongs(tmp_path: Path, table: str) -> None:
    text = WHOLE.replace(f"[{table}]\n", f'[{table}]\nbucket = "1d"\n')
    with pytest.raises(UsageError) as refused:
        load_mapping(written(tmp_path, text))
    assert refused.value.exit_status == 2
    line = text.splitlines().index('bucket = "1d"') + 1
    assert str(refused.value).startswith(f"{tmp_path / 'map.toml'}:{line}: {table}.bucket ")
    assert "at the top of the file" in str(refused.value)


def test_the_sums_of_the_manual_are_read_as_sums(tmp_path: Path) -> None:
    section = (Path(__file__).parents[1] / "README.md").read_text().partition("For sums over several requests")[2]
    table, mapping = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)[0] for kind in ("csv", "toml"))
    (tmp_path / "sums.csv").write_text(table)
    with Case() as case:
        found = case.check(CheckOptions(paths=(str(tmp_path / "sums.csv"),), mappings=(written(tmp_path, mapping),)))
    assert found.summary["ledger"]["records"] == 0
    (sums,) = found.summary["estimate"]["aggregates"]
    assert (sums["buckets"], sums["at_most"]["upper"]) == (1, 0)
