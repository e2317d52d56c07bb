"""Do the commands answer on standard output, complain in one line, and end with the promised status?"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kvforensics.cli import check, emit, main
from kvforensics.errors import UsageError

PROGRAM = [sys.executable, "-c", "from kvforensics.cli import main; main()"]
CALL = {
    "request_id": "r1", "started_at": "2026-09-02T08:00:00Z", "model": "@cf/zai-org/glm-5.3", "provider": "cloudflare",
    "tenant": "team-a", "status": 200, "usage": {"prompt_tokens": 702114, "completion_tokens": 5, "total_tokens": 702119},
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "app.jsonl"
    path.write_text(
        "".join(json.dumps({**CALL, "started_at": f"2026-09-02T08:0{n}:00Z"}) + "\n" for n in range(3)),
        encoding="utf-8",
    )
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_the_version_comes_without_a_heavy_import() -> None:
    code = (
        "import sys\nfrom kvforensics.cli import main\ntry:\n    main(['--version'])\nexcept SystemExit as end:\n"
        "    heavy = {'polars', 'duckdb', 'pyarrow', 'rich', 'numpy'} & set(sys.modules)\n"
        "    sys.exit(f'imported {heavy}' if heavy or end.code else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "kvforensics" in done.stdout


def test_the_help_lists_only_commands_that_are_there() -> None:
    text = run("--help").output
    assert all(name in text for name in ("check", "formats", "incidents"))
    assert run("sql", "case").exit_code == 2


def test_a_check_prints_the_verdict_and_ends_with_its_status(log: str) -> None:
    result = run("check", log)
    assert result.exit_code == 10
    assert result.stdout.startswith("EXPOSED.")


def test_json_is_the_summary_and_nothing_else(log: str) -> None:
    result = run("check", log, "--json")
    assert json.loads(result.stdout)["responses"]["affected"] == 3
    assert result.stdout.isascii()


def test_a_case_is_written_beside_the_answer(log: str, tmp_path: Path) -> None:
    result = run("check", log, "--case", str(tmp_path / "case"))
    assert result.exit_code == 10
    assert (tmp_path / "case" / "case.json").is_file()
    assert set(json.loads((tmp_path / "case" / "run.json").read_text())) == {"schema", "duration_s", "host", "workers"}


def test_assume_complete_is_recorded_as_an_assertion(log: str) -> None:
    summary = json.loads(run("check", log, "--json", "--assume-complete").stdout)
    assert summary["assertions"] == {"complete": True}


def test_a_log_can_come_from_standard_input(log: str) -> None:
    done = subprocess.run(
        [*PROGRAM, "check", "-", "--json"], input=Path(log).read_bytes(), capture_output=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["inputs"][0]["source"]) == (10, "-")


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("--incident", "no-such"), ("--exclude", "no-such.toml"), ("--mapping", "no-such.toml"),
        ("--timezone", "Mars/Base"),
        ("--timezone", "=UTC"),
        ("--format", "no-such-format"), ("--memory", "lots"), ("--workers", "0"), ("--keep", "some"),
        ("--assume-independent",),
    ],
)  # fmt: skip
def test_what_cannot_be_used_ends_with_status_2_and_one_plain_complaint(log: str, arguments: tuple[str, ...]) -> None:
    result = run("check", *([log, *arguments] if arguments else ["no/such/log"]))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith(("kvforensics: ", "Error: "))


def test_an_unexpected_error_is_one_line_unless_debugging(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("a\x1b[2Jb")

    monkeypatch.setattr("kvforensics.case.ingest", explode)
    result = run("check", log)
    assert result.exit_code == 1
    assert result.stderr.startswith("kvforensics: unexpected error: RuntimeError: a\\x1b[2Jb")
    assert len(result.stderr.splitlines()) == 1
    monkeypatch.setenv("KVFORENSICS_DEBUG", "1")
    assert "Traceback" in run("check", log).stderr


def test_an_interrupt_ends_with_status_130(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvforensics.case.ingest", interrupt)
    result = run("check", log)
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_a_signal_while_waiting_for_input_ends_cleanly() -> None:
    process = subprocess.Popen(
        [*PROGRAM, "check", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        process.stdin.write((json.dumps(CALL) + "\n").encode() * 20_000)  # far more than a pipe holds: it is being read
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors.strip()) == (130, b"", b"kvforensics: interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pipe")
def test_a_reader_that_goes_away_does_not_change_the_verdict(log: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*PROGRAM, "check", log], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr.count(b"Traceback"), b"Broken" in done.stderr) == (10, 0, False)


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4_000_000_000), ("512MiB", 512 << 20), ("2g", 2_000_000_000), ("1.5 GiB", 3 << 29)]
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert check.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "3", "12 parsecs"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        check.parse_size(text)


def known_names() -> list[str]:
    from kvforensics.formats import all_formats
    from kvforensics.wrappers import all_wrappers

    return [*(f.name for f in all_formats()), *(w.name for w in all_wrappers())]


def test_formats_and_wrappers_are_listed_in_groups_and_each_is_described() -> None:
    listed = run("formats").output
    for name in known_names():
        assert f"  {name} " in listed
        assert run("formats", name).output.startswith(f"{name}: ")
    assert run("formats", "no-such").exit_code == 2


def test_a_format_is_in_one_group_only() -> None:
    catalogue = json.loads(run("formats", "--json").stdout)
    names = [m["name"] for group in catalogue["groups"] for m in group["members"]]
    assert sorted(names) == sorted(set(known_names()))


def test_what_is_said_of_formats_fits_eighty_columns() -> None:
    for text in (run("formats").output, *(run("formats", name).output for name in known_names())):
        assert [line for line in text.splitlines() if len(line) > 80 and " " in line.strip() and "/" not in line] == []


def test_a_page_shows_fields_rules_blind_spots_and_the_way_to_export() -> None:
    text = run("formats", "cloudflare-aig-logpush").output
    for part in ("duration           <- Metrics.durationMs", "tenant", "times", "Cannot show", "How to export it", "Read more"):
        assert part in text
    page = json.loads(run("formats", "cloudflare-aig-logpush", "--json").stdout)
    assert page["fields"]["status"] == ["StatusCode"]
    assert page["zone"] == "UTC"
    assert any(spot["hides_long_prompts"] for spot in page["blind_spots"])
    wrapper = json.loads(run("formats", "cri", "--json").stdout)
    assert (wrapper["kind"], wrapper["joins_pieces"]) == ("wrapper", True)


def test_detect_ranks_guesses_with_counts(log: str, tmp_path: Path) -> None:
    (tmp_path / "noise").write_text("nothing of interest\n")
    wrapped = "".join(f"2026-09-02T08:41:22Z stdout F {line}\n" for line in Path(log).read_text().splitlines())
    (tmp_path / "zzz").write_bytes(gzip.compress(wrapped.encode()))
    done = run("detect", str(tmp_path), "--json")
    found = {s["source"].rpartition("/")[2]: s for s in json.loads(done.stdout)["sources"]}
    assert done.exit_code == 0
    assert found["noise"]["problem"] == "not_understood"
    best = found["zzz"]["guesses"][0]
    assert (best["format"], best["wrappers"], best["records"], best["sampled"]) == ("app-json", ["cri"], 3, 3)
    assert (found["zzz"]["compression"], best["container"], best["zone"]) == ("gzip", "lines", None)
    text = run("detect", str(tmp_path)).stdout
    assert "  1. cri > app-json: " in text
    assert "3 of 3 records sampled, lines; times without offset need --timezone" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_second_guess_is_what_comes_next_without_the_first(tmp_path: Path) -> None:
    from kvforensics.formats import by_name

    (tmp_path / "x").write_text(by_name("cloudflare-aig-logpush").accepts[0] + "\n")
    (source,) = json.loads(run("detect", str(tmp_path / "x"), "--json").stdout)["sources"]
    assert [g["format"] for g in source["guesses"]] == ["cloudflare-aig-logpush", "app-json"]


def test_detect_knows_mappings_and_refuses_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('schema = "kvforensics.mapping/1"\nname = "ours"\n[fields]\nmodel = "m"\nstart = "t"\n')
    (tmp_path / "x").write_text('{"m":"a","t":1}\n')
    done = run("detect", str(tmp_path / "x"), "--mapping", str(tmp_path / "m.toml"), "--json")
    assert json.loads(done.stdout)["sources"][0]["guesses"][0]["format"] == "ours"
    assert run("detect", str(tmp_path / "nothing")).exit_code == 2


def test_incidents_are_listed_shown_validated_and_begun(tmp_path: Path) -> None:
    path = str(tmp_path / "mine.toml")
    assert "cloudflare-workers-ai-glm-5.3" in run("incidents").output
    assert run("incidents", "list").output == run("incidents").output
    assert "more than 681,280 prompt tokens" in run("incidents", "show", "cloudflare-workers-ai-glm-5.3").output
    assert run("incidents", "new", path).exit_code == 0
    assert run("incidents", "validate", path).output.startswith("valid: ")
    assert run("incidents", "new", path).exit_code == 2
    assert run("incidents", "validate", "no-such").exit_code == 2


def test_a_closed_standard_output_changes_nothing_about_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    emit("text")


def test_what_was_stated_and_fits_no_log_is_told(log: str, tmp_path: Path) -> None:
    mapping = tmp_path / "m.toml"
    mapping.write_text('schema = "kvforensics.mapping/1"\nname = "ours"\n[fields]\nmodel = "m"\nstart = "t"\n')
    options = (("--timezone", "b*=UTC"), ("--format", "b*=app-json"), ("--sample-rate", "b*=1%"), ("--two-sources", "app*,b*"))
    done = run("check", log, "--mapping", str(mapping), *(word for option in options for word in option))
    told = [line for line in done.stderr.splitlines() if "matched_nothing" in line]
    assert [line.count("'b*' matches no source") for line in told] == [1, 1, 1, 1, 0]
    assert [option for option, _ in options] == [line.split()[2].rstrip(":") for line in told[:4]]
    assert "mapping ours took no record" in told[4]
    fitting = run("check", log, "--timezone", "app*=UTC", "--sample-rate", "app.jsonl=1%")
    assert "matched_nothing" not in fitting.stderr


@pytest.mark.parametrize(("field", "warned"), [("nonesuch", True), ("request_id", False), ("key", True), ("tenant", False)])
def test_a_tenant_field_that_is_nowhere_is_told(log: str, field: str, warned: bool) -> None:
    told = run("check", log, "--tenant-by", field).stderr
    assert ("[tenant_by_matched_nothing]" in told) is warned
    assert (repr(field) in told) is warned
