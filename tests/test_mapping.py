"""Does a mapping file become a format, and is a wrong one refused by name?"""

from __future__ import annotations

from pathlib import Path

import pytest

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
