"""Do reports say what a case holds, in every medium, alike every time, and deaf to what strangers wrote into the logs?"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pypdf
import pytest
from markdown_it import MarkdownIt

from case_on_disk import HOSTILE, PROMPT, call, hostile_case, make_case, plain_case, write_logs
from kvforensics.case_reader import open_case
from kvforensics.errors import EvidenceError, UsageError
from kvforensics.incident import load_incident
from kvforensics.page import Column, Figure, Page, Section, Table
from kvforensics.page_files import MEDIA
from kvforensics.report_job import ReportOptions, report_bytes, write_report
from kvforensics.reports import markdown
from kvforensics.telling.report_page import report_page

ALL = tuple(MEDIA)
VOID = {"meta", "br", "path", "use", "rect", "link", "img", "input", "hr"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain_case(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_case(tmp_path_factory.mktemp("hostile"))


@cache
def told(case: Path, medium: str, **options: Any) -> bytes:
    return b"".join(report_bytes(ReportOptions(str(case), **options), medium))


class Elements(HTMLParser):
    """What a browser would find: elements with their attributes, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.words.append(data)


def pdf_text(data: bytes) -> str:
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages)


def test_the_report_has_every_part_that_a_reader_is_promised(plain: Path) -> None:
    page = report_page(open_case(plain))
    assert [section.id for section in page.sections] == [
        "answer", "numbers", "estimate", "timeline", "prompts", "coverage", "tenants", "who", "exclusions", "findings",
        "corroboration", "unread", "method", "worksheet", "inputs", "queries", "glossary",
    ]  # fmt: skip
    figures = [block for section in page.sections for block in section.blocks if isinstance(block, Figure)]
    assert [figure.chart.id for figure in figures] == ["chart-timeline", "chart-prompts", "chart-coverage"]
    assert all(figure.table.rows and figure.chart.alt for figure in figures)


def test_charts_and_tables_count_every_record_on_the_model_and_every_finding_once(plain: Path) -> None:
    case = open_case(plain)
    tables = {
        t.id: t for section in report_page(case).sections for block in section.blocks
        for t in [block.table if isinstance(block, Figure) else block] if isinstance(t, Table)
    }  # fmt: skip
    summary = case.summary
    total = [sum(int(row[i]) for row in tables["timeline-data"].rows) for i in range(1, 6)]  # type: ignore[arg-type]
    assert total[0] == case.count("records")
    assert total[1:] == [summary["responses"]["affected"], summary["responses"]["possible"], summary["replays"], 0]
    lengths = [row for row in tables["prompts-data"].rows if not str(row[0]).startswith("close")]
    assert sum(int(row[1]) for row in lengths) == case.count("records")  # type: ignore[arg-type]
    over = sum(int(row[1]) for row in lengths if row[2] == "over")  # type: ignore[arg-type]
    assert over == 13
    assert len(tables["findings-list"].rows) == case.count("findings")
    assert sum(int(row[1]) for row in tables["tenants-counts"].rows) == 12  # type: ignore[arg-type]


@pytest.mark.parametrize("medium", ALL)
def test_the_same_case_gives_the_same_bytes_in_another_zone_locale_and_folder(
    plain: Path, tmp_path: Path, medium: str
) -> None:
    code = (
        "import sys\nfrom kvforensics.report_job import ReportOptions, write_report\n"
        "write_report(ReportOptions(sys.argv[1]), sys.argv[2], sys.argv[3])"
    )
    target = tmp_path / "elsewhere" / f"r{MEDIA[medium]}"
    environment = {
        **os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "HOME": str(tmp_path), "PYTHONHASHSEED": "7",
        "MPLCONFIGDIR": str(tmp_path / "mpl"), "SOURCE_DATE_EPOCH": "1", "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    (tmp_path / "matplotlibrc").write_text("font.size: 30\naxes.edgecolor: red\n")
    subprocess.run([sys.executable, "-c", code, str(plain), str(target), medium], cwd=tmp_path, env=environment, check=True)
    assert target.read_bytes() == told(plain, medium)


@pytest.mark.parametrize("medium", ALL)
def test_no_text_of_a_prompt_is_in_a_report_or_a_notice(plain: Path, medium: str) -> None:
    for options in ({}, {"tenant": "team-1"}, {"worksheet": True}):
        data = told(plain, medium, **options)
        assert PROMPT not in (pdf_text(data) if medium == "pdf" else data.decode())


def test_the_page_needs_nothing_from_outside_and_lets_nothing_but_its_own_style_and_script_run(hostile: Path) -> None:
    text = told(hostile, "html").decode()
    page = Elements(text)
    assert page.open == []
    policy = next(a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert [t for t, _ in page.tags].count("script") == 1
    assert not {t for t, _ in page.tags} & {"img", "iframe", "object", "embed", "link", "base", "form", "image"}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "src"}]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert re.findall(r"url\((?!#)", text) == []


def test_every_table_has_a_caption_and_scopes_and_every_chart_its_words(plain: Path) -> None:
    tags = Elements(told(plain, "html").decode()).tags
    names = [t for t, _ in tags]
    assert names.count("table") == names.count("caption") == names.count("thead") > 10
    assert all(a.get("scope") in {"row", "col"} for t, a in tags if t == "th")
    charts = [a for t, a in tags if t == "svg"]
    assert len(charts) == 3
    ids = [a["id"] for _, a in tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert all(a["role"] == "img" and set((a["aria-labelledby"] or "").split()) <= set(ids) for a in charts)


def unseen(text: str) -> list[str]:
    return [c for c in text if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066\ufeff"]


def test_text_of_strangers_acts_in_no_page(hostile: Path) -> None:
    text = told(hostile, "html").decode()
    assert unseen(text) == []
    words = "".join(Elements(text).words)
    for shown in ("<script>alert(1)</script>", "=HYPERLINK", "\\x1b[31mred", "\\u202egnp.exe", "a\\x00b",
                  "{{ 7*7 }}", "مرحبا", "漢字"):  # fmt: skip
        assert shown in words


def test_text_of_strangers_acts_in_no_ticket(hostile: Path) -> None:
    text = told(hostile, "markdown").decode()
    assert unseen(text) == []
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    tags = {t for t, _ in Elements(html).tags}
    assert tags <= {"h1", "h2", "p", "ul", "li", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "em"}
    assert html.count("<tr>") == text.count("\n| ")
    cells = {len(re.findall(r"<t[hd]", row)) for row in re.findall(r"<tr>.*?</tr>", html, re.DOTALL)}
    assert 9 in cells


def test_text_of_strangers_is_only_text_on_paper(hostile: Path) -> None:
    data = told(hostile, "pdf")
    reader = pypdf.PdfReader(io.BytesIO(data))
    assert reader.is_encrypted is False
    text = pdf_text(data).replace("\u200b", "").replace("\n", "")
    assert "#eval(" in text
    assert "\\u{6f22}" in text  # a character that the fonts cannot show is written out
    assert "more characters" in text
    for page in reader.pages:
        assert not [a for a in page.get("/Annots", []) if a.get_object().get("/A", {}).get("/S", "/GoTo") != "/GoTo"]
    assert "/OpenAction" not in reader.trailer["/Root"]
    assert "/JavaScript" not in data.decode("latin-1")


def test_nothing_is_lost_from_the_json_report(hostile: Path) -> None:
    data = told(hostile, "json")
    assert data.isascii()
    report = json.loads(data)
    lines = [json.loads(line) for line in (hostile / "findings.jsonl").read_text().splitlines()]
    assert report["schema"] == "kvforensics.report/1"
    assert report["summary"] == json.loads((hostile / "case.json").read_text())["summary"]
    assert len(report["findings"]) == len(lines)
    # Parquet cannot hold a lone surrogate; everything else comes back as the log had it.
    for mine, theirs in zip(report["findings"], lines, strict=True):
        assert mine == theirs


def test_a_field_of_a_megabyte_is_cut_with_a_note_where_people_read(hostile: Path) -> None:
    for medium in ("html", "markdown"):
        data = told(hostile, medium)
        assert b"more characters" in data
        assert len(data) < 1_500_000


def notices(case: Path, folder: Path, medium: str) -> dict[str, bytes]:
    from kvforensics.report_job import write_notices

    write_notices(str(case), str(folder), medium)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def strings(values: Iterable[Any]) -> set[str]:
    return {v for v in values if isinstance(v, str)}


@pytest.mark.parametrize("medium", ALL)
def test_a_notice_holds_nothing_of_any_other_tenant(tmp_path: Path, medium: str) -> None:
    names = ["alpha-corp", "beta-gmbh", "gamma-ltd", "delta-bv"]
    records = [
        call(i * 100 + n, tenant=name, user=f"user-of-{name}", api_key=f"key-of-{name}", client_ip=f"198.51.100.{10 + i}")
        for i, name in enumerate(names) for n in range(7 + i)
    ]  # fmt: skip
    for i, name in enumerate(names):
        write_logs(tmp_path / "logs", [r for r in records if r["tenant"] == name], f"{name}-{i}.jsonl")
    case = make_case(tmp_path / "case", tmp_path / "logs")
    made = notices(case, tmp_path / "notices", medium)
    assert len(made) == len(names)
    rows = [json.loads(line) for line in (case / "findings.jsonl").read_text().splitlines()]
    total = str(len(rows))
    for name in names:
        (data,) = [content for file, content in made.items() if name in file]
        text = pdf_text(data).replace("\u200b", "").replace("\n", "") if medium == "pdf" else data.decode()
        assert name in text
        others = [row for row in rows if row["tenant"] != name]
        for key in ("tenant", "key", "user", "client_ip", "record_id", "finding_id", "sha256", "source"):
            assert [value for value in strings(row[key] for row in others) if value in text] == []
        mine = [row for row in rows if row["tenant"] == name]
        assert f"{len(mine)} answers that you received were affected" in text.replace("\\", "")
        assert not re.search(rf"(?<![\d.,:-]){total} (?:answer|response|request|finding|record)", text)
        assert not re.search(r"\d+ tenants", text)


def test_names_of_notices_are_safe_whatever_tenants_are_called(hostile: Path, tmp_path: Path) -> None:
    made = notices(hostile, tmp_path / "notices", "markdown")
    # A lone surrogate is no text, so the tenant of that record is not told.
    assert len(made) == len(HOSTILE) - 1
    assert all(re.fullmatch(r"notice-[A-Za-z0-9._-]{1,60}\.md", name) for name in made)


def test_a_tenant_that_the_case_does_not_name_gets_no_notice(plain: Path) -> None:
    with pytest.raises(UsageError, match="names the tenant"):
        told(plain, "html", tenant="nobody")


def test_a_tenant_whose_requests_are_all_outside_is_told_so(plain: Path) -> None:
    text = told(plain, "markdown", tenant="team-91").decode()
    assert "none of your requests was affected" in text
    assert "listed above" not in text
    assert "do not say who sent them" not in text


@pytest.fixture(scope="module")
def unsaid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A flagged record that names nobody, one that a rule takes out, and one of another tenant."""
    folder = tmp_path_factory.mktemp("unsaid")
    rule = folder / "rules.toml"
    rule.write_text(
        'schema = "kvforensics.exclusions/1"\n[[rule]]\nid = "qa-of-acme"\ncategory = "test"\nreason = "qa"\n'
        'approved_by = "me"\nrequest_id = "request-00001"\n'
    )
    records = [
        call(1, tenant="acme"), call(2, tenant=None, api_key=None), call(3, tenant="other"),
        call(4, tenant="calm", usage={"prompt_tokens": 5, "completion_tokens": 1}),
    ]  # fmt: skip
    return make_case(folder / "case", write_logs(folder / "logs", records), exclusions=(str(rule),))


def test_a_notice_says_that_flagged_records_may_be_anybodys_and_that_a_rule_left_out_the_tenants_own(unsaid: Path) -> None:
    texts = {name: told(unsaid, "markdown", tenant=name).decode() for name in ("acme", "calm", "other")}
    for name, text in texts.items():
        assert "do not say who sent them" in text
        assert "none of your requests was affected" not in text
        assert ("1 request of yours that is or may be affected is left out by a stated rule" in text) == (name == "acme")
        assert ("listed above" in text) == (name == "other")
        assert "qa" not in text


def test_the_worksheet_has_bounds_a_method_and_a_time_and_leaves_people_blank(plain: Path) -> None:
    report = json.loads(told(plain, "json", worksheet=True, as_of="2026-10-01T00:00:00Z"))
    (table,) = [b for s in report["sections"] for b in s["blocks"] if b["type"] == "table"]
    rows = {row["figure"]: row for row in table["rows"]}
    responses = rows["Affected responses (records)"]
    assert (responses["value"], responses["lower"], responses["upper"], responses["kind"]) == (12, 12, 14, "estimate")
    assert all(row["method"] and row["as_of_utc"] == "2026-10-01T00:00:00Z" for row in rows.values())
    assert rows["Data subjects (people)"]["value"] is None
    assert rows["Affected tenants (clients)"]["dora"] == "3.4 number of clients affected"


def test_more_findings_than_a_page_shows_are_in_the_file_beside_it(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvforensics.report_job.FINDINGS_SHOWN", 5)
    monkeypatch.setattr("kvforensics.telling.report_page.FINDINGS_SHOWN", 5)
    names = write_report(ReportOptions(str(plain)), str(tmp_path / "r.html"), "html")
    assert [Path(name).name for name in names] == ["r.html", "r-findings.csv"]
    page = Elements((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert ("a", {"href": "r-findings.csv"}) in page.tags
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r-findings.csv").read_text(encoding="utf-8"))))
    assert len(rows) == open_case(plain).count("findings")


def test_the_file_beside_the_page_holds_no_formula(hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvforensics.report_job.FINDINGS_SHOWN", 0)
    write_report(ReportOptions(str(hostile)), str(tmp_path / "r.html"), "html")
    text = (tmp_path / "r-findings.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {10}
    assert [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r")] == []
    assert any("Tenant" in row[-1] for row in rows[1:])


@pytest.mark.parametrize("path", ["report.html", "deeper/report.html"])
def test_a_report_is_not_written_into_the_case(plain: Path, path: str) -> None:
    with pytest.raises(UsageError, match="inside the case"):
        write_report(ReportOptions(str(plain)), str(plain / path), "html")


def test_a_case_that_lacks_what_it_should_have_is_said_to_be_broken(plain: Path, tmp_path: Path) -> None:
    document = json.loads((plain / "case.json").read_text())
    del document["summary"]["responses"]
    (tmp_path / "case.json").write_text(json.dumps(document))
    for name in ("findings.parquet", "records.parquet", "activity.parquet", "rejected.jsonl"):
        (tmp_path / name).write_bytes((plain / name).read_bytes())
    with pytest.raises(EvidenceError, match="not built as a case is"):
        told(tmp_path, "html")


def test_an_older_case_without_activity_and_of_an_unknown_incident_is_told_all_the_same(plain: Path, tmp_path: Path) -> None:
    document = json.loads((plain / "case.json").read_text())
    del document["files"]["activity.parquet"], document["incident"]["text"]
    for name in ("findings.parquet", "records.parquet", "rejected.jsonl"):
        (tmp_path / name).write_bytes((plain / name).read_bytes())
    (tmp_path / "case.json").write_text(json.dumps(document))
    assert b"an empty cell is no gap" in told(tmp_path, "html")
    document["incident"]["sha256"] = "0" * 64
    (tmp_path / "case.json").write_text(json.dumps(document))
    for medium in ALL:
        assert told(tmp_path, medium)


def test_numbers_that_are_estimated_are_shown_layer_by_layer(plain: Path, tmp_path: Path) -> None:
    document = json.loads((plain / "case.json").read_text())
    number = {"value": 30.04, "lower": 12, "upper": None, "kind": "estimated", "method": "Exact binomial", "assumption": None}
    document["summary"]["estimate"] = {
        "observed": {"responses": {**number, "kind": "actual"}},
        "sampling": {"responses": number, "cannot_estimate": ["a rate"]},
        "worst_case": {"responses": number, "terms": [{"code": "x", "bound": "upper", "count": 3, "text": "rejected lines"}]},
        "sensitivity": [{"change": "zone", "responses": {"lower": 1, "upper": 2}, "tenants": {"lower": 1, "upper": 1}}],
        "published": {"affected_responses": 155, "inside": False, "reasons": [{"code": "c", "text": "part of the logs"}]},
    }  # fmt: skip
    for name in ("findings.parquet", "records.parquet", "activity.parquet", "rejected.jsonl"):
        (tmp_path / name).write_bytes((plain / name).read_bytes())
    (tmp_path / "case.json").write_text(json.dumps(document))
    words = " ".join(Elements(told(tmp_path, "html").decode()).words)
    for shown in ("Behind a documented sample", "30", "no bound", "rejected lines", "155 affected responses, is outside",
                  "Affected responses, behind the sample"):  # fmt: skip
        assert shown in words


def doctored(plain: Path, folder: Path, **changed: Any) -> Path:
    """The case with these parts of its estimate in place of its own."""
    document = json.loads((plain / "case.json").read_text())
    document["summary"]["estimate"] |= changed
    for name in ("findings.parquet", "records.parquet", "activity.parquet", "rejected.jsonl"):
        (folder / name).write_bytes((plain / name).read_bytes())
    (folder / "case.json").write_text(json.dumps(document))
    return folder


def test_gaps_sums_and_contradictions_of_the_estimate_are_told_in_every_medium(plain: Path, tmp_path: Path) -> None:
    gap = {"from": "2026-08-30T01:02:00Z", "until": "2026-08-30T03:00:00Z", "minutes": 118, "detector": "silence",
           "detail": "about 90 minutes"}  # fmt: skip
    presence = {"name": "ams-07", "files": 1, "records": 3, "first": None, "last": None, "hours": 5, "gaps": [gap] * 40,
                "more_gaps": 2}  # fmt: skip
    estimate = json.loads((plain / "case.json").read_text())["summary"]["estimate"]
    flagged = estimate["corroboration"]["findings"]
    at_most = {"value": None, "lower": 0, "upper": 31, "kind": "actual", "method": "tokens", "assumption": None}
    spans = {"from": "2026-08-28T00:00:00Z", "until": "2026-08-29T00:00:00Z"}
    case = doctored(
        plain, tmp_path,
        coverage={**estimate["coverage"], "nodes": [presence],
                  "sequence_holes": [{"pattern": "node-#", "missing": ["node-4"], "more": 1}]},
        corroboration={**estimate["corroboration"], "believable_tokens_per_second": 900.0, "more": 1,
                       "findings": [*flagged, {**flagged[0], "contradicts": True, "marks": ["took_a_full_prefill"]}]},
        aggregates=[{"log": "daily sums", "buckets": 9, "sampled": False, "first": None, "last": None, "window_cleared": False,
                     "hours_cleared": 24.0, "cleared": [spans], "at_most": at_most,
                     "over": [{**spans, "tokens": 5_000_000, "requests": None, "at_most": 7}], "more_over": 1}],
    )  # fmt: skip
    page = told(case, "html").decode()
    assert page.count("<details>") == 1  # forty gaps are folded, short tables are not
    for text in (" ".join(Elements(page).words), told(case, "markdown").decode(), told(case, "json").decode()):
        for shown in ("2026-08-30T01:02:00Z", "silent against its own habit", "node-4", "CONTRADICTS", "1 finding contradicts",
                      "daily sums", "5,000,000", "1 further finding is not listed", "Flagged responses by day"):  # fmt: skip
            assert shown in text or shown.replace(",", "") in text, shown
    tables = {b.id: b for s in report_page(open_case(case)).sections for b in s.blocks if isinstance(b, Table)}
    more = len(tables["coverage-silences"].rows) - 10
    assert f"{more} more rows are in the HTML and JSON reports." in told(case, "markdown").decode()
    assert tables["corroboration-findings"].rows[0][2] == "CONTRADICTS"
    assert "CONTRADICTS" in pdf_text(told(case, "pdf")).replace("\n", "")


def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    code = "from kvforensics.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code, "report", *arguments], env=environment, capture_output=True, check=False)


def test_the_command_writes_what_is_asked_for_and_says_so(plain: Path, tmp_path: Path) -> None:
    targets = [str(tmp_path / f"r{ending}") for ending in MEDIA.values()]
    done = run(str(plain), *(argument for target in targets for argument in ("-o", target)))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [f"written: {target}" for target in targets]
    assert Path(targets[0]).read_bytes() == told(plain, "html")
    printed = run(str(plain), "--format", "markdown")
    assert printed.stdout == told(plain, "markdown")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tenant", "team-1", "--worksheet"), ("--each-tenant", "x", "-o", "y.html"), ("-o", "report.docx"),
        ("--as-of", "yesterday"), ("--as-of", "2026-09-01T00:00:00"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(plain: Path, arguments: tuple[str, ...]) -> None:
    done = run(str(plain), *arguments)
    assert done.returncode == 2
    assert done.stdout == b""


def test_an_alias_file_names_the_tenant_in_findings_and_notices(tmp_path: Path) -> None:
    alias = tmp_path / "tenants.csv"
    alias.write_text("tenant,account\nacme,raw-1\nacme,raw-2\ncalm,raw-4\n")
    records = [call(n, tenant=f"raw-{n}") for n in (1, 2, 3)]
    records += [call(4, tenant="raw-4", usage={"prompt_tokens": 5, "completion_tokens": 1})]
    logs = write_logs(write_logs(tmp_path / "logs", records), records[:1], "again.jsonl")
    case = make_case(tmp_path / "case", logs, tenant_aliases=str(alias))
    rows = [json.loads(line) for line in (case / "findings.jsonl").read_text().splitlines()]
    assert sorted((row["disposition"], row["tenant"]) for row in rows) == [
        ("affected", "acme"), ("affected", "acme"), ("affected", "raw-3"), ("duplicate", "acme"),
    ]  # fmt: skip
    assert len(notices(case, tmp_path / "notices", "markdown")) == 2
    assert b"2 answers that you received were affected" in told(case, "markdown", tenant="acme")
    assert b"none of your requests was affected" in told(case, "markdown", tenant="calm")
    with pytest.raises(UsageError, match=r"counts 'raw-1' under another name.*'acme'"):
        told(case, "markdown", tenant="raw-1")


def test_the_report_and_the_notice_say_the_thresholds_of_the_nodes_not_only_the_incidents_own(tmp_path: Path) -> None:
    own = tmp_path / "incident.toml"
    own.write_text(
        load_incident().text.replace("prompt_tokens_over = 681280", "prompt_tokens_over = 1048569")
        + '\n[[node]]\nnames = ["prefill-1"]\nprompt_tokens_over = 681280\nuncertain_from = 681274\n'
    )  # fmt: skip
    records = [call(1, tenant="acme", node="prefill-1")]
    case = make_case(tmp_path / "case", write_logs(tmp_path / "logs", records), incident=str(own))
    notice = told(case, "markdown", tenant="acme").decode().replace("\\", "")
    assert "of more than 681,280 to 1,048,569 tokens, depending on the machine that answered" in notice
    assert "prefill-1" not in notice
    assert "to the model `@cf/zai-org/glm-5.3`.\n" in notice
    page = json.loads(told(case, "json"))
    assert [fact["text"][-1] for fact in page["facts"] if fact["name"] == "Threshold"] == [
        "at all times: more than 681,280 prompt tokens", "all others: more than 1,048,569 prompt tokens",
    ]  # fmt: skip
    assert '"side": "depends on the node"' in json.dumps(page)


@pytest.mark.parametrize(("tables", "wide", "words"), [(60, 20, "at most 25 rows"), (40, 1000, "Left out for the same")])
def test_a_ticket_is_never_longer_than_one_may_be_and_says_what_was_cut(tables: int, wide: int, words: str) -> None:
    rows = tuple((n, "x" * wide) for n in range(100))
    sections = tuple(
        Section(f"s{n}", f"Section {n}", (Table(f"t{n}", "Caption", (Column("a", "A"), Column("b", "B")), rows),))
        for n in range(tables)
    )
    text = markdown.render(Page("report", "Title", "subject", "", (), sections)).decode()
    assert len(text.encode()) <= 65_536
    assert words in text
    assert "more rows are in the HTML and JSON reports." in text
