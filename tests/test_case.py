"""Does a case join the stages, and is it written whole, alike every time, or not at all?"""

from __future__ import annotations

import errno
import hashlib
import json
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from kvforensics import appraisal
from kvforensics import case as cases
from kvforensics.case import Case, CheckOptions, RunFacts
from kvforensics.case_folder import CaseWriter
from kvforensics.errors import KvForensicsError, UsageError
from kvforensics.finding import KEYS, Locators
from kvforensics.ties import LeftOut

FACTS = RunFacts(duration_s=1.5, host="here", workers=1)


def call(number: int, **changed: Any) -> dict[str, Any]:
    record = {
        "request_id": f"r{number}", "started_at": f"2026-09-02T08:{number:02d}:00.000Z", "model": "@cf/zai-org/glm-5.3",
        "provider": "cloudflare", "tenant": f"team-{number}", "status": 200, "latency_ms": 900,
        "usage": {"prompt_tokens": 702_114, "completion_tokens": 5, "total_tokens": 702_119},
    }  # fmt: skip
    return {**record, **changed}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    records = [
        call(1), call(2, usage=None), call(3, model="@cf/meta/llama"), call(4, started_at="2026-10-02T08:00:00Z"),
        call(5, user_agent="loadtest/1"),
    ]  # fmt: skip
    lines = [json.dumps(r) for r in records]
    (folder / "app.jsonl").write_text("\n".join([*lines, '{"broken": ', ""]), encoding="utf-8")
    return folder


def exclusions(folder: Path) -> str:
    path = folder / "rules.toml"
    path.write_text(
        'schema = "kvforensics.exclusions/1"\n[[rule]]\nid = "load"\ncategory = "test"\nreason = "Load test"\n'
        'approved_by = "lead"\nuser_agent = "loadtest/*"\n',
        encoding="utf-8",
    )
    return str(path)


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def made(target: Path, options: CheckOptions) -> dict[str, bytes]:
    with Case() as case:
        case.check(options)
        case.write_case(str(target), FACTS)
    return files(target)


def test_a_check_joins_the_stages_into_a_summary_and_an_exit_status(logs: Path, tmp_path: Path) -> None:
    with Case() as case:
        result = case.check(CheckOptions((str(logs),), exclusions=(exclusions(tmp_path),), workers=1))
    summary = result.summary
    assert (summary["verdict"], result.exit_status, summary["complete"]) == ("exposed", 10, True)
    assert summary["responses"] == {"affected": 1, "possible": 1, "lower": 1, "upper": 2}
    assert summary["excluded"]["records"] == 1
    assert summary["without_exclusions"] == {"lower": 2, "upper": 3}
    assert summary["outside"] == {"on_model": 1, "in_window": 1, "over_threshold": 0, "served": 0}
    ledger = summary["ledger"]
    assert ledger["lines"] == ledger["records"] + ledger["rejected"] + ledger["blank"] + ledger["framing"]
    assert [f["disposition"] for f in result.top] == ["affected", "possible"]


def test_a_case_holds_findings_with_exactly_the_promised_keys(logs: Path, tmp_path: Path) -> None:
    content = made(tmp_path / "case", CheckOptions((str(logs),), workers=1))
    findings = [json.loads(line) for line in content["findings.jsonl"].splitlines()]
    assert findings
    assert all(set(f) == set(KEYS) for f in findings)
    assert len({f["finding_id"] for f in findings}) == len(findings)
    first = findings[0]
    assert first["started_earliest"] == "2026-09-02T08:01:00.000000Z"
    assert first["parts"] == {"on_model": True, "in_window": True, "over_threshold": True, "served": True}
    source = hashlib.sha256((logs / "app.jsonl").read_bytes()).hexdigest()
    assert first["finding_id"] == hashlib.sha256(f"{source}:0".encode()).hexdigest()[:32]
    assert pq.read_table(tmp_path / "case" / "findings.parquet").column_names == list(KEYS)


def test_evidence_is_the_raw_bytes_named_by_their_digest(logs: Path, tmp_path: Path) -> None:
    content = made(tmp_path / "case", CheckOptions((str(logs),), workers=1))
    findings = [json.loads(line) for line in content["findings.jsonl"].splitlines()]
    raw = (logs / "app.jsonl").read_bytes()
    for found in findings:
        blob = content[f"evidence/{found['sha256']}"]
        assert hashlib.sha256(blob).hexdigest() == found["sha256"]
        assert raw[found["byte_offset"] :][: found["byte_length"]] == blob


def test_no_evidence_leaves_the_raw_bytes_out(logs: Path, tmp_path: Path) -> None:
    content = made(tmp_path / "case", CheckOptions((str(logs),), workers=1, evidence=False))
    assert not [name for name in content if name.startswith("evidence")]


def test_rejected_lines_are_listed_with_their_place_and_reason(logs: Path, tmp_path: Path) -> None:
    content = made(tmp_path / "case", CheckOptions((str(logs),), workers=1))
    (rejected,) = [json.loads(line) for line in content["rejected.jsonl"].splitlines()]
    assert set(rejected) == {"source", "line", "byte_offset", "byte_length", "reason", "excerpt"}
    assert (rejected["source"], rejected["line"], rejected["excerpt"][:10]) == ("logs/app.jsonl", 6, '{"broken":')


def test_the_same_case_has_the_same_bytes_wherever_and_with_however_many_workers(logs: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "far-away" / "logs"
    elsewhere.parent.mkdir()
    one = made(tmp_path / "one", CheckOptions((str(logs),), workers=1))
    logs.rename(elsewhere)
    two = made(tmp_path / "two", CheckOptions((str(elsewhere),), workers=2))
    assert one == two
    assert b"far-away" not in b"".join(two.values())


def test_case_json_holds_the_digests_of_the_other_files(logs: Path, tmp_path: Path) -> None:
    content = made(tmp_path / "case", CheckOptions((str(logs),), workers=1))
    case = json.loads(content["case.json"])
    assert case["files"]
    assert all(hashlib.sha256(content[name]).hexdigest() == digest for name, digest in case["files"].items())
    assert "run.json" not in case["files"]
    assert case["queries"]


def test_keep_all_keeps_the_records_of_other_models(logs: Path, tmp_path: Path) -> None:
    made(tmp_path / "some", CheckOptions((str(logs),), workers=1))
    made(tmp_path / "all", CheckOptions((str(logs),), workers=1, keep_all=True))
    some, every = (pq.read_table(tmp_path / name / "records.parquet") for name in ("some", "all"))
    assert (some.num_rows, every.num_rows) == (4, 5)


def test_an_existing_case_is_refused_before_anything_is_read(logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "case"
    target.mkdir()
    (target / "mine.txt").write_text("keep")
    with Case() as case, pytest.raises(UsageError, match="not empty"):
        case.check(CheckOptions((str(logs / "missing"),), case_dir=str(target)))
    assert files(target) == {"mine.txt": b"keep"}


def test_a_case_inside_the_scanned_folder_is_refused(logs: Path) -> None:
    with Case() as case, pytest.raises(UsageError, match="inside the scanned paths"):
        case.check(CheckOptions((str(logs),), case_dir=str(logs / "case")))


def test_a_full_disk_leaves_no_partial_case_and_says_so(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(CaseWriter, "rejected", full)
    before = set(tmp_path.iterdir())
    with pytest.raises(KvForensicsError, match="the disk is full"):
        made(tmp_path / "case", CheckOptions((str(logs),), workers=1))
    assert set(tmp_path.iterdir()) == before


def test_a_full_disk_for_temporary_files_says_which(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LeftOut, "add", full)
    with Case() as case, pytest.raises(KvForensicsError, match="temporary files is full") as told:
        case.check(CheckOptions((str(logs),), workers=1))
    assert "TMPDIR" in str(told.value)


def test_a_disk_that_gets_full_while_the_records_are_judged_is_told_alike(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        try:
            raise duckdb.IOException('IO Error: Could not write file "store.duckdb": No space left on device')
        except duckdb.Error as error:
            raise KvForensicsError("the query failed", where="110_parts") from error

    monkeypatch.setattr(appraisal, "judge", full)
    with Case() as case, pytest.raises(KvForensicsError, match="temporary files is full"):
        case.check(CheckOptions((str(logs),), workers=1))


def test_a_worker_that_was_killed_is_told_with_what_to_try(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(cases, "ingest", killed)
    with Case() as case, pytest.raises(KvForensicsError, match="was killed, most likely for want of memory"):
        case.check(CheckOptions((str(logs),), workers=2))


def test_two_copies_of_a_source_give_different_finding_ids() -> None:
    locators = Locators([("a", "d" * 64), ("b", "d" * 64)])
    assert locators.finding_id("a", 1, 0) != locators.finding_id("b", 1, 0)


def test_a_mapping_that_takes_the_name_of_a_format_is_refused(logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text('schema = "kvforensics.mapping/1"\nname = "app-json"\n[fields]\nmodel = "m"\n')
    with Case() as case, pytest.raises(UsageError, match="is taken"):
        case.check(CheckOptions((str(logs),), mappings=(str(path),)))


def test_a_source_that_is_not_understood_leaves_the_question_open(tmp_path: Path) -> None:
    path = tmp_path / "notes.bin"
    path.write_bytes(b"\x00\x01nothing that is a log")
    with Case() as case:
        result = case.check(CheckOptions((str(path),), workers=1))
    assert (result.summary["verdict"], result.summary["complete"], result.exit_status) == ("undetermined", True, 12)
