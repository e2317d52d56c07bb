"""Are the sample logs what their generator says, and does a check of them give the truth it wrote down?"""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kvforensics.cli import main

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_logs"
EXPECTED: dict[str, Any] = json.loads((SAMPLES / "expected.json").read_text())
ENGINE: dict[str, Any] = json.loads((SAMPLES / "expected-engine.json").read_text())
HAND_WRITTEN = {"README.md", "make_samples.py", "make_engine.py", "customer-exclusions.toml", "provider-exclusions.toml"}


def content(path: Path) -> bytes:
    """The bytes; of `.gz` files those inside, as another zlib may pack them otherwise."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def files(root: Path) -> dict[str, Path]:
    found = {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    return {name: path for name, path in found.items() if name not in HAND_WRITTEN}


def narrowed(value: Any, pattern: Any) -> Any:
    """The part of a value that the pattern speaks of."""
    if isinstance(pattern, dict):
        return {key: narrowed(value[key], part) for key, part in pattern.items()}
    return value


def check(case: str, *options: str) -> tuple[int, dict[str, Any]]:
    arguments = [*EXPECTED[case]["arguments"], "--json", *options]
    code = "from kvforensics.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "check", *arguments], cwd=ROOT, capture_output=True, check=False)
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def test_the_generator_writes_the_committed_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SAMPLES)
    spec = importlib.util.spec_from_file_location("make_samples", SAMPLES / "make_samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_samples"] = module
    spec.loader.exec_module(module)
    module.main(tmp_path)
    made, committed = files(tmp_path), files(SAMPLES)
    assert sorted(made) == sorted(committed)
    assert [name for name in made if content(made[name]) != content(committed[name])] == []


def test_the_sample_logs_stay_small_and_name_only_documentation_addresses() -> None:
    assert sum(path.stat().st_size for path in files(SAMPLES).values()) < 3_000_000
    for path in (SAMPLES / "provider").rglob("*.jsonl"):
        for line in path.read_text().splitlines():
            if line.endswith("}"):
                assert json.loads(line)["client_ip"].startswith(("192.0.2.", "203.0.113.", "198.51.100.", "2001:db8:"))


def test_the_fleet_holds_the_published_number_of_responses() -> None:
    assert EXPECTED["provider"]["summary"]["responses"]["affected"] == 155
    assert EXPECTED["provider"]["summary"]["tenants"]["affected"] == 40


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_a_check_of_the_sample_logs_gives_the_truth(case: str) -> None:
    status, summary = check(case)
    expected = EXPECTED[case]["summary"]
    assert narrowed(summary, expected) == expected
    assert status == EXPECTED[case]["exit_status"]
    assert summary["coverage"]["window_covered"] is True


def test_one_worker_and_two_give_the_same_summary() -> None:
    assert check("customer", "--workers", "1") == check("customer", "--workers", "2")


def engine(command: str, *options: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(main, [command, str(ROOT / ENGINE["arguments"][0]), "--json", *options])
    return done.exit_code, json.loads(done.stdout)


def test_an_audit_of_the_engines_gives_the_truth() -> None:
    status, found = engine("audit", "--workers", "1", "--timezone", "Europe/Amsterdam")
    expected = ENGINE["audit"]
    assert status == expected["exit_status"]
    limits = {role: [n["first_rejected_length"] for n in found["nodes"] if n["role"] == role] for role in ("prefill", "decode")}
    assert limits == expected["first_rejected"]
    assert sorted({c["id"] for c in found["checks"] if c["status"] == "fail"}) == expected["failed"]
    assert [n["started_earliest"] for n in found["nodes"] if n["start"] == 2] == [
        "2026-09-09T14:05:00Z", "2026-09-09T14:20:00Z", "2026-09-09T14:35:00Z",
    ]  # fmt: skip


def test_the_replay_of_the_engines_finds_every_affected_response_and_whose_data_it_could_read() -> None:
    status, found = engine("whose", "--workers", "1")
    expected = ENGINE["whose"]
    assert status == expected["exit_status"]
    assert {r["rid"]: r["superset"]["tenants"] for r in found["responses"]} == expected["earlier_tenants"]
    assert sorted({p["receiving_tenant"] for p in found["matrix"]}) == expected["receiving_tenants"]
    assert found["confidence"] == "replay"


def test_the_signatures_of_the_engines_give_the_truth() -> None:
    status, found = engine("signatures")
    expected = ENGINE["signatures"]
    assert (status, found["affected_at_least"]) == (expected["exit_status"], expected["affected_at_least"])
    assert sum(r["signature"] == "S1" for r in found["rows"]) == expected["rejections_printed"]
