"""Does every row of the sensitivity table equal a run in which that one thing was really changed?"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kvforensics.case import Case, CheckOptions
from kvforensics.incident import DEFAULT_INCIDENT

ROOT = Path(__file__).parents[1]
SHIPPED = (ROOT / "src/kvforensics/incidents" / f"{DEFAULT_INCIDENT}.toml").read_text()
PROVIDER = ROOT / "sample_logs/provider"
RULES = (ROOT / "sample_logs/provider-exclusions.toml").read_text()
ZONES = ((None, "UTC"), ("scl-*", "America/Santiago"))
EDGES = {
    "start_1h_earlier": (("2026-08-27T00:00:00Z", "2026-08-26T23:00:00Z"),),
    "start_1h_later": (("2026-08-27T00:00:00Z", "2026-08-27T01:00:00Z"),),
    "end_1h_earlier": (
        ("2026-09-09T14:00:00Z", "2026-09-09T13:00:00Z"),
        ("2026-09-09T14:52:00Z", "2026-09-09T13:52:00Z"),
    ),
    "end_1h_later": (
        ("2026-09-09T14:00:00Z", "2026-09-09T15:00:00Z"),
        ("2026-09-09T14:52:00Z", "2026-09-09T15:52:00Z"),
    ),
    "threshold_at_band": (("prompt_tokens_over = 681280", "prompt_tokens_over = 681273"),),
}
Json = dict[str, Any]


def run(path: Path, **options: Any) -> Json:
    """The summary of a check."""
    with Case() as case:
        return case.check(CheckOptions(paths=(str(path),), workers=1, **options)).summary


def changed(tmp_path: Path, pairs: tuple[tuple[str, str], ...]) -> str:
    """The shipped incident with some text replaced."""
    text = SHIPPED
    for old, new in pairs:
        assert old in text
        text = re.sub(rf"(?m)^(\w+ = )?{re.escape(old)}", lambda m, n=new: (m[1] or "") + n, text)
    path = tmp_path / "incident.toml"
    path.write_text(text)
    return str(path)


def rerun(path: Path, **options: Any) -> Json:
    """What a row of the table says, of a whole run that itself makes no other row."""

    def none(*_: Any) -> tuple[()]:
        return ()

    with patch.multiple("kvforensics.sensitivity", _rules=none, _windows=none, _zones=none):
        summary = run(path, **options)
    return {
        "responses": summary["responses"],
        "tenants": summary["tenants"],
        "replays": summary["replays"],
        "excluded": summary["excluded"]["records"],
    }


def row(table: list[Json], code: str) -> Json:
    """One row of the table without its names."""
    (found,) = [{k: v for k, v in r.items() if k not in ("code", "change")} for r in table if r["code"] == code]
    return found


def without(rule: str) -> str:
    """The rules of the sample, with one left out."""
    head, *rules = RULES.split("[[rule]]")
    kept = [r for r in rules if f'id = "{rule}"' not in r]
    assert len(kept) == len(rules) - 1
    return "[[rule]]".join([head, *kept])


def hard_log(path: Path) -> Path:
    """A log with records at every edge: duplicates, replays, retries, unknown parts, times with and without offsets."""
    rows: list[Json] = []

    def call(n: int, start: str, tokens: int | None, **more: Any) -> None:
        rows.append(
            {
                "started_at": start, "requestId": f"r-{n}", "tenant": f"t-{n % 4}", "provider": "cloudflare",
                "model": "@cf/zai-org/glm-5.3", "status": 200, "latency_ms": 30_000,
                "usage": None if tokens is None else {"prompt_tokens": tokens}, **more,
            }
        )  # fmt: skip

    starts = (
        "2026-08-26 22:59:59", "2026-08-26 23:30:00", "2026-08-27 00:00:00", "2026-08-27 00:59:59", "2026-08-27 02:30:00",
        "2026-09-01 12:00:00", "2026-09-09 12:59:59", "2026-09-09 13:30:00", "2026-09-09 14:10:00", "2026-09-09 14:51:59",
        "2026-09-09 15:20:00", "2026-09-09 15:52:00", "2026-09-09 16:30:00",
    )  # fmt: skip
    for at, text in enumerate(starts):
        for zone in ("", "Z", "+02:00"):
            for tokens in (681_281, 681_277, 681_273, 900_000, None):
                n = len(rows)
                call(n, text.replace(" ", "T") + zone, tokens, **({"response_id": f"a-{n}"} if n % 3 else {}))
                if n % 7 == 0:
                    call(n, text.replace(" ", "T") + "Z", 900_000 if n % 2 else None, response_id=f"a-{n}")
        call(
            9_000 + at,
            text.replace(" ", "T") + "Z",
            700_000,
            cache="HIT",
            replay_of=f"r-{at}",
            response_id=f"a-{at * 16}",
        )
        call(9_100 + at, text.replace(" ", "T"), 700_000, status=502)
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample of a provider without the records of other models."""
    folder = tmp_path_factory.mktemp("fleet")
    for path in (p for p in PROVIDER.rglob("*") if p.is_file()):
        packed = path.suffix == ".gz"
        data = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        kept = b"".join(line for line in data.splitlines(keepends=True) if b"glm-5.3" in line)
        thin = folder / "provider" / path.relative_to(PROVIDER)
        thin.parent.mkdir(parents=True, exist_ok=True)
        thin.write_bytes(gzip.compress(kept, mtime=0) if packed else kept)
    return folder / "provider"


@pytest.fixture(scope="module")
def provider() -> list[Json]:
    summary = run(PROVIDER, exclusions=(str(ROOT / "sample_logs/provider-exclusions.toml"),), timezones=ZONES)
    assert summary["responses"]["affected"] == summary["estimate"]["published"]["affected_responses"] == 155
    assert summary["estimate"]["published"]["inside"] is True
    table: list[Json] = summary["estimate"]["sensitivity"]
    return table


@pytest.mark.slow
def test_the_table_of_the_sample_has_a_row_for_every_rule_edge_threshold_and_zone(provider: list[Json]) -> None:
    rules = re.findall(r'(?m)^id = "(.+)"$', RULES)
    assert [r["code"] for r in provider] == [
        "as_stated", *(f"without_rule:{rule}" for rule in rules), "without_exclusions", *EDGES, "without_assumed_zones",
    ]  # fmt: skip
    assert row(provider, "as_stated")["responses"] == {"affected": 155, "possible": 0, "lower": 155, "upper": 155}
    assert row(provider, "without_exclusions")["responses"]["affected"] == 182


@pytest.mark.slow
@pytest.mark.parametrize("rule", re.findall(r'(?m)^id = "(.+)"$', RULES))
def test_a_rule_left_out_of_the_table_equals_one_left_out_of_the_file(
    provider: list[Json], fleet: Path, tmp_path: Path, rule: str
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(without(rule))
    for listed in (ROOT / "sample_logs").glob("*.txt"):
        (tmp_path / listed.name).write_bytes(listed.read_bytes())
    assert row(provider, f"without_rule:{rule}") == rerun(fleet, exclusions=(str(path),), timezones=ZONES)


@pytest.mark.slow
@pytest.mark.parametrize("code", EDGES)
def test_an_edge_moved_in_the_table_equals_one_moved_in_the_incident(
    provider: list[Json], fleet: Path, tmp_path: Path, code: str
) -> None:
    rules = (str(ROOT / "sample_logs/provider-exclusions.toml"),)
    moved = rerun(fleet, exclusions=rules, timezones=ZONES, incident=changed(tmp_path, EDGES[code]))
    assert row(provider, code) == moved


@pytest.mark.slow
def test_zones_taken_back_in_the_table_equal_a_run_without_them(provider: list[Json], fleet: Path) -> None:
    rules = (str(ROOT / "sample_logs/provider-exclusions.toml"),)
    assert row(provider, "without_assumed_zones") == rerun(fleet, exclusions=rules)
    assert row(provider, "without_exclusions") == rerun(fleet, timezones=ZONES)


@pytest.mark.slow
def test_every_row_equals_its_run_for_a_log_with_records_at_every_edge(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    path = hard_log(folder / "app.jsonl")
    rules = tmp_path / "rules.toml"
    rule = '[[rule]]\nid = "{0}"\ncategory = "test"\nreason = "r"\napproved_by = "a"\ntenant = "{0}"\n'
    rules.write_text('schema = "kvforensics.exclusions/1"\n' + rule.format("t-1") + rule.format("nobody"))
    options: Json = {"exclusions": (str(rules),), "timezones": ((None, "Europe/Amsterdam"),)}
    table = run(path, **options)["estimate"]["sensitivity"]
    for code, pairs in EDGES.items():
        assert row(table, code) == rerun(path, **options, incident=changed(tmp_path, pairs)), code
    assert row(table, "without_assumed_zones") == rerun(path, exclusions=(str(rules),))
    assert row(table, "without_exclusions") == rerun(path, timezones=options["timezones"])
    assert row(table, "without_rule:nobody") == row(table, "as_stated") == rerun(path, **options)
    assert len({json.dumps(r["responses"]) for r in table}) > 5


def test_a_run_without_rules_zones_or_findings_has_one_number_in_every_row(tmp_path: Path) -> None:
    path = tmp_path / "app.jsonl"
    path.write_text('{"started_at":"2026-09-02T08:41:12Z","model":"other","usage":{"prompt_tokens":5}}\n')
    table = run(path)["estimate"]["sensitivity"]
    assert [r["code"] for r in table] == ["as_stated", *EDGES]
    assert {json.dumps(r["responses"]) for r in table} == {'{"affected": 0, "possible": 0, "lower": 0, "upper": 0}'}
