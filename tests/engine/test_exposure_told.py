"""Is whose data was in reach told in every medium, to whom it concerns, and with nothing about anybody else?"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from case_on_disk import HOSTILE, call, make_case, write_logs
from kvforensics.case_reader import open_case
from kvforensics.cli import main
from kvforensics.page_files import notice_name
from kvforensics.telling.listing import by_request
from simulation import engine, logs

NAMES = ("<b>bold</b>", "=cmd()", "team a|b", "../../etc", *(f"team-{n}" for n in range(12)))


@dataclass(frozen=True)
class Told:
    folder: Path
    case: Path
    document: dict[str, object]
    status: int
    affected: tuple[str, ...]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One simulated incident, its exposure in every form, and a case that has one of its answers."""
    folder = tmp_path_factory.mktemp("told")
    incident = engine.simulate(5, page=64, dp=2, per_rank=50)
    for request in incident.requests:
        request.tenant = NAMES[int(request.tenant.rpartition("-")[2])]
    (folder / "logs").mkdir()
    logs.write(incident, folder / "logs")
    done = CliRunner().invoke(main, [
        "whose", str(folder / "logs"), "--json", "-o", str(folder / "w.html"), "-o", str(folder / "w.md"),
        "-o", str(folder / "w.json"), "--each-tenant", str(folder / "notices"), "--workers", "1",
    ])  # fmt: skip
    affected = tuple(logs.rid(r, "decode") for r in incident.affected)
    records = [call(1, request_id=affected[0], tenant="team-1"), call(2, tenant=HOSTILE[0])]
    case = make_case(folder / "case", write_logs(folder / "app", records))
    return Told(folder, case, json.loads(done.stdout), done.exit_code, affected)


def rows(told: Told, key: str) -> list[dict[str, object]]:
    found = told.document[key]
    assert isinstance(found, list)
    return found


def run(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_matrix_adds_up_to_the_responses(told: Told) -> None:
    assert told.status == 10
    assert sorted(str(r["rid"]) for r in rows(told, "responses")) == sorted(told.affected)
    for pair in rows(told, "matrix"):
        mine = [r for r in rows(told, "responses") if r["tenant"] == pair["receiving_tenant"]]
        assert pair["responses_at_most"] == sum(pair["source_tenant"] in r["superset"]["tenants"] for r in mine)
        shares = [s for r in mine for s in r["tenants"] if s["tenant"] == pair["source_tenant"]]
        assert pair["responses_in_replay"] == sum(s["seen_in_draws"] > 0 for s in shares)
        assert pair["responses_likely"] == sum(s["rows_low"] > 0 for s in shares)
        assert pair["rows_low"] <= pair["rows"] <= pair["rows_high"]
        assert abs(pair["rows"] - sum(s["rows"] for s in shares)) <= 1 + len(shares)


def test_a_source_tenant_is_told_of_answers_to_others_only(told: Told) -> None:
    for source in rows(told, "sources"):
        pairs = [p for p in rows(told, "matrix") if p["source_tenant"] == source["tenant"] != p["receiving_tenant"]]
        for mine, theirs in (("answers_at_most", "responses_at_most"), ("answers_in_replay", "responses_in_replay")):
            assert source[mine] == sum(p[theirs] for p in pairs)
        assert source["answers_likely"] <= source["answers_in_replay"] <= source["answers_at_most"]
        assert source["requests_in_replay"] <= source["requests_at_most"]


def test_a_notice_to_a_source_tenant_names_nobody_else_and_no_answer(told: Told) -> None:
    named = {str(s["tenant"]) for s in rows(told, "sources")}
    made = {path.name: path.read_text() for path in (told.folder / "notices").iterdir()}
    assert sorted(made) == sorted(f"{notice_name(name)}.html" for name in named)
    own = {str(s["tenant"]): {r["rid"] for r in s["requests"]} for s in rows(told, "sources")}
    for name in (n for n in named if n.startswith("team-")):
        text = made[f"{notice_name(name)}.html"]
        assert name in text
        assert all(rid in text for rid in own[name])
        assert not re.search("|".join(rf"\b{n}\b" for n in named - {name} if n.startswith("team-")), text)
        assert not any(rid in text for rid in told.affected if rid not in own[name])


def test_pages_hold_the_matrix_and_let_nothing_act(told: Told) -> None:
    page, ticket = (told.folder / "w.html").read_text(), (told.folder / "w.md").read_text()
    assert "Exposure matrix" in page
    assert "Exposure matrix" in ticket
    assert "<b>bold" not in page
    assert json.loads((told.folder / "w.json").read_text()) == told.document


def test_the_report_of_a_case_has_it_too_and_says_which_finding_a_response_is(told: Told) -> None:
    page = run("report", told.case, "--whose", told.folder / "w.json")
    assert 'id="exposure-matrix-pairs"' in page
    ((disposition, finding),) = by_request(open_case(told.case), frozenset(told.affected)).values()
    assert f"{disposition} {finding}" in page
    assert 'id="exposure' not in run("report", told.case)
    report = json.loads(run("report", told.case, "--whose", told.folder / "w.json", "--format", "json"))
    assert report["exposure"] == told.document
    folder = told.folder / "case-notices"
    run("report", told.case, "--whose", told.folder / "w.json", "--each-tenant", folder)
    both = (folder / f"{notice_name('team-1')}.html").read_text()
    assert "1 answer that you received was affected" in both
    assert "Your text in the reach of others" in both


def test_an_export_takes_it_along_and_the_bundle_still_verifies(told: Told) -> None:
    bundle, folder = told.folder / "bundle", told.folder / "exposure"
    run("export", told.case, bundle, "--whose", told.folder / "w.json")
    run("export", told.case, folder, "--as", "exposure", "--whose", told.folder / "w.json")
    run("verify", bundle)
    assert json.loads((bundle / "data/exposure/exposure.json").read_text()) == told.document
    table = list(csv.DictReader(io.StringIO((folder / "matrix.csv").read_text("utf-8-sig"))))
    assert len(table) == len(rows(told, "matrix"))
    assert not any(str(value).startswith("=") for row in table for value in row.values())
    assert len(list((folder / "notices").iterdir())) == len(list((told.folder / "notices").iterdir()))


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "kvforensics.audit/1"}', "[" * 100_000])
def test_another_file_is_refused_as_what_it_is(told: Told, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    done = CliRunner().invoke(main, ["report", str(told.case), "--whose", str(tmp_path / "x.json")])
    assert done.exit_code == 2
    assert "whose --json" in done.stderr


def test_an_output_that_cannot_be_made_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    for options in (("-o", "x.docx"), ("--each-tenant", str(tmp_path.parent))):
        assert CliRunner().invoke(main, ["whose", str(tmp_path / "missing"), *options]).exit_code == 2
