"""Do the commands that hand a case over answer, refuse and end as they say?"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from handed_over import files, made_case
from kvforensics.case_reader import StoredCase
from kvforensics.cli import main

OUT = {
    "timesketch": "t.jsonl", "ocsf": "o.jsonl", "csv": "f.csv", "xlsx": "f.xlsx", "parquet": "tables", "public": "public",
    "bundle": "bag",
}  # fmt: skip


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> StoredCase:
    return made_case(tmp_path_factory.mktemp("made"))


@pytest.fixture
def copy(case: StoredCase, tmp_path: Path) -> Path:
    shutil.copytree(case.folder, tmp_path / "case")
    return tmp_path / "case"


def run(*arguments: object, given: str | None = None, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], input=given, env=env)


@pytest.mark.parametrize("form", OUT)
def test_every_form_is_written_and_said_in_plain_text(case: StoredCase, tmp_path: Path, form: str) -> None:
    result = run("export", case.folder, tmp_path / OUT[form], "--as", form)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / OUT[form]).exists()
    assert result.stdout.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "arguments",
    [
        ("OUT/x.txt", "--as", "csv"), ("OUT/x", "--as", "timesketch"), ("CASE/bag",), ("OUT/bag", "--to", "B"),
        ("OUT/bag", "--date", "10-9-2026"), ("OUT/bag", "--by", "A", "--time", "yesterday"),
        ("OUT/p", "--as", "public", "--recipients", "g"), ("OUT/p", "--as", "public", "--marking", "TLP:MAUVE"),
        ("OUT/p", "--as", "public", "--recipients", "g", "--key", "OUT/none"), ("OUT/bag", "--sign-key", "OUT/none"),
        ("OUT/o.jsonl", "--as", "ocsf", "--time", "2026-09-10"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_ends_with_status_2_and_writes_nothing(
    copy: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    before = files(tmp_path)
    result = run("export", copy, *(a.replace("OUT", str(tmp_path)).replace("CASE", str(copy)) for a in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert files(tmp_path) == before


def test_the_bagging_date_is_given_or_that_of_the_source_never_today(case: StoredCase, tmp_path: Path) -> None:
    run("export", case.folder, tmp_path / "none")
    run("export", case.folder, tmp_path / "epoch", env={"SOURCE_DATE_EPOCH": "1789000000"})
    run("export", case.folder, tmp_path / "given", "--date", "2026-09-11", env={"SOURCE_DATE_EPOCH": "1789000000"})
    dates = [[line for line in (tmp_path / n / "bag-info.txt").read_text().splitlines() if "Bagging-Date" in line]
             for n in ("none", "epoch", "given")]  # fmt: skip
    assert dates == [[], ["Bagging-Date: 2026-09-10"], ["Bagging-Date: 2026-09-11"]]


def test_verify_says_what_holds_and_what_differs(copy: Path) -> None:
    good = run("verify", copy)
    assert (good.exit_code, good.stdout.splitlines()[-1]) == (0, "verified")
    path = copy / "findings.jsonl"
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    bad = run("verify", copy)
    assert (bad.exit_code, bad.stdout.splitlines()[-1]) == (13, "not verified")
    assert "DIFFERS: findings.jsonl: differs from its digest in case.json" in bad.stdout
    told = json.loads(run("verify", copy, "--json").stdout)
    assert told["verified"] is False
    assert told["problems"][0]["where"] == "findings.jsonl"


def test_verify_of_something_else_is_a_usage_error(tmp_path: Path) -> None:
    assert run("verify", tmp_path).exit_code == 2


def test_custody_is_added_and_shown_without_anything_that_acts(copy: Path) -> None:
    assert run("custody", copy).stdout == "no entry yet\n"
    added = run("custody", copy, "--add", "--by", "A\x1b[31m", "--action", "received", "--from", "B\u202e",
                "--time", "2026-09-10T10:00+02:00")  # fmt: skip
    assert added.exit_code == 0
    text = run("custody", copy).stdout
    assert text == added.stdout
    assert "2026-09-10T08:00:00Z: A\\x1b[31m: received" in text
    assert run("verify", copy).exit_code == 0
    assert len(json.loads(run("custody", copy, "--json").stdout)["entries"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [("--add",), ("--add", "--by", "A"), ("--by", "A"), ("--add", "--by", "A", "--action", "x", "--time", "noon")],
)
def test_custody_that_says_too_little_is_refused(copy: Path, arguments: tuple[str, ...]) -> None:
    assert run("custody", copy, *arguments).exit_code == 2
    assert not (copy / "custody.jsonl").exists()


def test_a_broken_chain_ends_with_status_13(copy: Path) -> None:
    (copy / "custody.jsonl").write_text("{}\n")
    assert run("custody", copy).exit_code == 13
    assert run("verify", copy).exit_code == 13


def test_diff_ends_with_0_where_nothing_differs_and_10_where_something_does(case: StoredCase, copy: Path) -> None:
    assert (run("diff", case.folder, copy).exit_code, run("diff", case.folder, copy).stdout) == (0, "Nothing differs.\n")
    document = json.loads((copy / "case.json").read_bytes())
    document["summary"]["responses"]["affected"] = 7
    (copy / "case.json").write_text(json.dumps(document))
    result = run("diff", case.folder, copy)
    assert result.exit_code == 10
    assert "responses.affected: 59 -> 7" in result.stdout
    assert json.loads(run("diff", case.folder, copy, "--json").stdout)["numbers"] == [["responses.affected", 59, 7]]


def test_sql_answers_as_table_csv_and_json(case: StoredCase) -> None:
    query = "SELECT disposition, count(*) AS n FROM findings GROUP BY disposition ORDER BY disposition"
    assert "affected     59" in run("sql", case.folder, query).stdout
    assert run("sql", case.folder, query, "--output", "csv").stdout.splitlines()[:2] == ["disposition,n", "affected,59"]
    first = run("sql", case.folder, query, "--output", "json").stdout.splitlines()[0]
    assert json.loads(first) == {"disposition": "affected", "n": 59}
    assert run("sql", case.folder, "-", given=query).stdout == run("sql", case.folder, query).stdout


def test_sql_that_fails_says_why_in_one_line(case: StoredCase) -> None:
    done = run("sql", case.folder, "SELECT ...")
    assert done.exit_code == 2
    assert done.stderr.startswith('kvforensics: the query failed: Parser Error: syntax error at or near "."; without a query')
    assert "\\n" not in done.stderr


def test_sql_without_a_query_names_the_tables(case: StoredCase) -> None:
    text = run("sql", case.folder).stdout
    tables = [line.partition(":")[0] for line in text.splitlines() if line[:1] != " "]
    assert tables == ["findings", "records", "context", "rejected", "inputs"]
    assert "excerpt" not in text


def test_sql_shows_text_of_strangers_without_acting(case: StoredCase) -> None:
    query = "SELECT tenant, correlation, started_earliest FROM findings"
    text = run("sql", case.folder, query).stdout
    assert text.replace("\n", "").isprintable()
    rows = list(csv.reader(io.StringIO(run("sql", case.folder, query, "--output", "csv").stdout)))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for row in rows for cell in row)
    assert run("sql", case.folder, query, "--output", "json").stdout.isascii()


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM findings", "SELECT 1; SELECT 2", "COPY findings TO '/tmp/x'", "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'", "ATTACH '/tmp/x.db'", "SET memory_limit='1TB'", "INSTALL httpfs", "PRAGMA version",
        "SELECT * FROM glob('/*')", "SELECT nothing FROM findings", "SELECT",
    ],
)  # fmt: skip
def test_sql_runs_one_select_over_the_case_and_nothing_else(case: StoredCase, query: str) -> None:
    result = run("sql", case.folder, query)
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize("command", [("export", "CASE", "out"), ("sql", "CASE"), ("diff", "CASE", "CASE"), ("custody", "CASE")])
def test_what_is_no_case_is_a_usage_error(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert run(*(a.replace("CASE", str(tmp_path)) for a in command)).exit_code == 2


def _changed(path: tuple[Any, ...], value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        document = json.loads((folder / "case.json").read_bytes())
        spot = document
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = value
        (folder / "case.json").write_text(json.dumps(document))

    return change


def _linked(name: str, to: str) -> Callable[[Path], None]:
    def link(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(to)

    return link


BROKEN = {
    "text for a number": _changed(("summary", "responses", "affected"), "<b>many</b>"),
    "no number at all": _changed(("summary", "estimate", "worst_case", "responses", "upper"), float("nan")),
    "parts of other kinds": _changed(("summary", "estimate"), {"schema": "kvforensics.estimate/1", "observed": [1]}),
    "inputs that are none": _changed(("inputs",), [1]),
    "a file outside": _changed(("files", "/etc/passwd"), "0" * 64),
    "nothing about the tool": _changed(("tool",), {}),
    "a link to an endless file": _linked("findings.parquet", "/dev/zero"),
    "cut tables": lambda folder: (folder / "findings.parquet").write_bytes(b"PAR1"),
    "rejected lines of bytes": lambda folder: (folder / "rejected.jsonl").write_bytes(b"\xff\x00\n[1]\n"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_case_that_somebody_tampered_with_ends_in_one_message_and_leaves_nothing_behind(
    copy: Path, tmp_path: Path, fault: str
) -> None:
    BROKEN[fault](copy)
    out = tmp_path / "out"
    commands = [("export", copy, out / name, "--as", form) for form, name in OUT.items() if form != "xlsx"]
    commands += [("report", copy, "-o", out / "r.md"), ("report", copy, "--each-tenant", out / "n", "--format", "json")]
    commands += [("size", copy), ("diff", copy, copy), ("sql", copy, "SELECT count(*) FROM findings")]
    ends = set()
    for command in commands:
        result = run(*command)
        ends.add(result.exit_code)
        assert result.exit_code in {0, 13}, (command, result.stderr)
        if result.exit_code == 13:
            assert result.stderr.count("\n") == 1
            assert not out.exists() or not any(out.iterdir()), command
        shutil.rmtree(out, ignore_errors=True)
    assert 13 in ends
    assert run("verify", copy).exit_code == 13


def test_a_disk_that_fills_up_leaves_the_chain_of_custody_as_it_was(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("custody", copy, "--add", "--by", "A", "--action", "received").exit_code == 0
    before = (copy / "custody.jsonl").read_bytes()

    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as out:
            out.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    result = run("custody", copy, "--add", "--by", "B", "--action", "copied")
    assert (result.exit_code, "the disk is full" in result.stderr) == (1, True)
    assert (copy / "custody.jsonl").read_bytes() == before
    assert [p.name for p in copy.iterdir() if "partial" in p.name] == []


def test_new_files_and_folders_are_as_private_as_the_user_wants(case: StoredCase, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        run("export", case.folder, tmp_path / "bag")
        run("export", case.folder, tmp_path / "f.csv", "--as", "csv")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("bag", "f.csv")] == [0o700, 0o600]
