"""Does a case folder open as it was written, and is one that is broken, newer, or no case refused with a reason?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from case_on_disk import plain_case
from kvforensics.case_reader import open_case
from kvforensics.cli import main
from kvforensics.errors import EvidenceError, UsageError
from kvforensics.incident import load_incident, template


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain_case(tmp_path_factory.mktemp("reader"))


def changed(case: Path, target: Path, **keys: Any) -> Path:
    target.mkdir()
    for path in case.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    document = json.loads((case / "case.json").read_text()) | keys
    (target / "case.json").write_text(json.dumps({k: v for k, v in document.items() if v is not None}))
    return target


def test_a_case_gives_its_summary_findings_records_queries_and_incident(case: Path) -> None:
    opened = open_case(case)
    lines = [json.loads(line) for line in (case / "findings.jsonl").read_text().splitlines()]
    read = [row for batch in opened.findings() for row in batch.to_pylist()]
    assert [row["finding_id"] for row in read] == [line["finding_id"] for line in lines]
    assert opened.count("findings") == len(lines)
    assert sum(batch.num_rows for batch in opened.records(["line"])) == opened.count("records")
    assert opened.summary["schema"] == "kvforensics.summary/1"
    assert "110_parts" in opened.queries
    assert opened.incident() == load_incident()
    assert list(opened.rejected()) == []
    assert sum(row["minutes"] for batch in opened.activity() for row in batch.to_pylist()) > 0


def test_evidence_is_found_by_its_digest_and_by_nothing_else(case: Path) -> None:
    opened = open_case(case)
    digest = next(opened.findings(["sha256"])).to_pylist()[0]["sha256"]
    assert opened.evidence(digest) is not None
    assert opened.evidence("../case.json") is None


def test_an_incident_that_is_not_kept_is_taken_from_the_package_if_it_is_the_same(case: Path, tmp_path: Path) -> None:
    told = {key: value for key, value in open_case(case).document["incident"].items() if key != "text"}
    assert open_case(changed(case, tmp_path / "same", incident=told)).incident() == load_incident()
    other = {**told, "sha256": "0" * 64}
    assert open_case(changed(case, tmp_path / "other", incident=other)).incident() is None


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"schema": "kvforensics.case/2"}, UsageError), ({"schema": "something/1"}, EvidenceError),
        ({"schema": None}, EvidenceError), ({"summary": None}, EvidenceError), ({"summary": []}, EvidenceError),
        ({"summary": {"schema": "kvforensics.summary/9"}}, UsageError), ({"files": "x"}, EvidenceError),
    ],
)  # fmt: skip
def test_a_case_that_is_newer_or_not_whole_is_refused(
    case: Path, tmp_path: Path, keys: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        open_case(changed(case, tmp_path / "case", **keys))


def test_a_folder_that_is_no_case_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match="no case folder"):
            open_case(path)


@pytest.mark.parametrize("damage", ["missing", "cut", "link"])
def test_a_table_that_is_missing_cut_or_a_link_is_broken_evidence(case: Path, tmp_path: Path, damage: str) -> None:
    copy = changed(case, tmp_path / "case")
    path = copy / "findings.parquet"
    whole = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    if damage == "link":
        path.symlink_to(case / "findings.parquet")
    with pytest.raises(EvidenceError):
        list(open_case(copy).findings())


@pytest.mark.parametrize(
    "words",
    [("report", "CASE"), ("report", "CASE", "--tenant", "acme"), ("sql", "CASE"), ("export", "CASE", "OUT.csv", "--as", "csv"),
     ("diff", "CASE", "CASE")],
)  # fmt: skip
def test_a_table_that_was_edited_ends_every_command_that_reads_it(
    case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    copy = changed(case, tmp_path / "case")
    table = pq.read_table(copy / "findings.parquet")
    pq.write_table(table.slice(1), copy / "findings.parquet")
    places = {"CASE": str(copy), "OUT.csv": str(tmp_path / "out.csv")}
    with pytest.raises(SystemExit) as ended:
        main([places.get(word, word) for word in words])
    assert ended.value.code == 13
    assert "case/findings.parquet: differs from its digest in case.json" in capsys.readouterr().err


def test_a_bundle_is_told_where_its_case_lies(case: Path, tmp_path: Path) -> None:
    inner = tmp_path / "bag/data/case"
    inner.parent.mkdir(parents=True)
    changed(case, inner)
    (tmp_path / "bag/bagit.txt").write_text("BagIt-Version: 1.0\n")
    with pytest.raises(UsageError, match=r"is a bundle.*data/case"):
        open_case(tmp_path / "bag")
    assert open_case(inner).count("findings") > 0


def test_a_column_that_is_not_there_is_named(case: Path) -> None:
    with pytest.raises(EvidenceError, match="no_such_column"):
        list(open_case(case).findings(["no_such_column"]))


def test_a_document_that_is_not_json_is_broken_evidence(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text("[" * 100_000)
    with pytest.raises(EvidenceError):
        open_case(tmp_path)


def test_what_is_said_of_a_case_fits_a_terminal(case: Path, tmp_path: Path) -> None:
    summary = json.loads((case / "case.json").read_text())["summary"]
    other = changed(case, tmp_path / "case", summary={**summary, "title": "a word or two " * 20})
    incident = tmp_path / "incident.toml"
    names = json.dumps([f"prefill-{n}" for n in range(20)])
    incident.write_text(f"{template()}[[node]]\nnames = {names}\nprompt_tokens_over = 1000000\n")
    for words in (("sql", case), ("verify", case), ("diff", case, other), ("incidents", "show", incident)):
        lines = CliRunner().invoke(main, [str(word) for word in words]).stdout.splitlines()
        assert lines
        assert max(map(len, lines)) <= 80, words
