"""Is each request judged against the node that served it, at the time when it did?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kvforensics.cli import main
from kvforensics.incident import load_incident

LINE = (
    "2026-08-2{day}T04:00:44.2Z stderr F [2026-08-2{day} 06:00:44 TP0] max_total_num_tokens={pool}, "
    "chunked_prefill_size=8192, "
    "max_prefill_tokens=16384, max_running_requests=16, context_len=1048576, available_gpu_mem=30.55 GB\n"
)
SETTINGS = "2026-08-2{day}T04:00:00Z stderr F [2026-08-2{day} 06:00:00] "
SETTINGS += "server_args=ServerArgs(disaggregation_mode='prefill')\n"


def call(number: int, at: str, tokens: int, node: str | None) -> str:
    return json.dumps({
        "request_id": f"r{number}", "started_at": at, "model": "@cf/zai-org/glm-5.3", "provider": "cloudflare", "tenant": "t",
        "status": 200, "node_name": node,
        "usage": {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5},
    })  # fmt: skip


def test_an_incident_from_an_audit_judges_each_request_by_its_node_and_time(tmp_path: Path) -> None:
    log = SETTINGS.format(day=7) + LINE.format(day=7, pool=681280) + SETTINGS.format(day=8) + LINE.format(day=8, pool=900000)
    (tmp_path / "prefill-0.log").write_text(log, encoding="utf-8")
    (tmp_path / "prefill-1.log").write_text(SETTINGS.format(day=7) + LINE.format(day=7, pool=950000), encoding="utf-8")
    incident = tmp_path / "incident.toml"
    made = CliRunner().invoke(main, [
        "incidents", "new", str(incident), "--from-audit", str(tmp_path / "prefill-0.log"),
        "--from-audit", str(tmp_path / "prefill-1.log"),
    ])  # fmt: skip
    assert made.exit_code == 0, made.output
    assert load_incident(str(incident)).id == f"{load_incident().id}-nodes"
    assert load_incident(str(incident)).title == f"{load_incident().title}, by node"
    assert f"({load_incident().id}-nodes)" in made.stdout
    assert [(n.prompt_tokens_over, n.uncertain_from) for n in load_incident(str(incident)).nodes] == [
        (681273, 681274), (899993, 899994), (949993, 949994),
    ]  # fmt: skip
    calls = [
        call(1, "2026-08-27T12:00:00Z", 681274, "prefill-0.log"),
        call(2, "2026-08-28T12:00:00Z", 681274, "prefill-0.log"),
        call(3, "2026-08-28T12:00:00Z", 899994, "prefill-0.log"),
        call(4, "2026-08-27T12:00:00Z", 899994, "prefill-1.log"),
        call(5, "2026-08-27T12:00:00Z", 700000, None),
        call(6, "2026-08-28T12:00:00Z", 700000, None),
    ]
    (tmp_path / "app.jsonl").write_text("\n".join(calls) + "\n", encoding="utf-8")
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(
        'schema = "kvforensics.mapping/1"\nname = "app"\n[match]\nkeys = ["request_id", "usage"]\n[fields]\n'
        'record_id = "request_id"\nstart = "started_at"\nmodel = "model"\nprovider = "provider"\nstatus = "status"\n'
        'tenant = "tenant"\nnode = "node_name"\nprompt_tokens = { path = "usage.prompt_tokens", cache_rule = "inclusive" }\n',
        encoding="utf-8",
    )
    case = tmp_path / "case"
    CliRunner().invoke(main, [
        "check", str(tmp_path / "app.jsonl"), "--mapping", str(mapping), "--incident", str(incident), "--case", str(case),
    ])  # fmt: skip
    found = [json.loads(line) for line in (case / "findings.jsonl").read_text().splitlines()]
    assert {f["record_id"]: f["disposition"] for f in found} == {"r1": "affected", "r3": "affected", "r5": "possible"}


def test_restarts_in_local_time_are_wide_until_a_zone_is_stated_and_the_output_says_so(tmp_path: Path) -> None:
    starts = (SETTINGS + LINE).format(day=7, pool=681280) + (SETTINGS + LINE).format(day=8, pool=900000)
    log = tmp_path / "p.log"
    log.write_text(re.sub(r"(?m)^\S+Z stderr F ", "", starts), encoding="utf-8")
    asked = ["incidents", "new", "--from-audit", str(log)]
    vague, stated = (CliRunner().invoke(main, [*asked, *more]) for more in ([], ["--timezone", "p.log=Europe/Amsterdam"]))
    assert "when p.log started again is open for hours" in vague.stderr
    assert "--timezone" in vague.stdout
    assert "until = 2026-08-28T18:00:00.999999Z" in vague.stdout
    assert "--timezone" not in stated.output
    assert "until = 2026-08-28T04:00:00.999999Z" in stated.stdout
    told = CliRunner().invoke(main, ["audit", str(log), "--workers", "1"]).stdout
    assert "started between 2026-08-26T16:00:00Z and" in " ".join(told.split())


def test_a_log_without_a_limit_gives_no_incident(tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text(SETTINGS.format(day=7), encoding="utf-8")
    result = CliRunner().invoke(main, ["incidents", "new", "--from-audit", str(tmp_path / "p.log")])
    assert result.exit_code == 12


def test_a_dash_as_the_name_of_a_new_incident_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["incidents", "new", "-"])
    assert result.stdout.startswith("schema = ")
    assert list(tmp_path.iterdir()) == []
