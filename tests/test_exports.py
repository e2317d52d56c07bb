"""Do real clients take every export, does nothing in one act, and is nothing lost or told that must not be?"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bagit
import jsonschema
import openpyxl
import polars as pl
import pyarrow.parquet as pq
import pytest
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema
from prov.model import ProvDocument
from timesketch_import_client.importer import ImportStreamer

from handed_over import CANARY, HOSTILE, call, files, made_case
from kvforensics.case_reader import StoredCase, open_case
from kvforensics.errors import EvidenceError, UsageError
from kvforensics.exports.bundle import BundleOptions, write_bundle
from kvforensics.exports.defused_csv import write_csv
from kvforensics.exports.ocsf import OcsfOptions, write_ocsf
from kvforensics.exports.parquet import write_parquet
from kvforensics.exports.public import PublicOptions, write_public
from kvforensics.exports.timesketch import write_timesketch
from kvforensics.exports.xlsx import write_xlsx
from kvforensics.finding_rows import LONGEST_CELL, defused, defused_columns, finding_rows, flat
from kvforensics.pseudonym import Pseudonyms

ACTS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\U000e0000-\U000e0fff]")
STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
FILES = {
    "timeline.jsonl": write_timesketch, "findings.csv": write_csv, "findings.xlsx": write_xlsx, "tables": write_parquet,
    "events.jsonl": lambda case, target: write_ocsf(case, target, OcsfOptions()),
    "public": lambda case, target: write_public(case, target, PublicOptions(names=Pseudonyms(b"k" * 32, "g"), group="g")),
    "bundle": lambda case, target: write_bundle(case, target, BundleOptions(evidence=False, by="A", at="2026-09-10T08:00:00Z")),
}  # fmt: skip


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> StoredCase:
    return made_case(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def out(case: StoredCase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    for name, write in FILES.items():
        write(case, folder / name)
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def findings(case: StoredCase) -> list[dict[str, Any]]:
    return lines(case.folder / "findings.jsonl")


def test_every_export_is_the_same_when_made_twice(case: StoredCase, out: Path, tmp_path: Path) -> None:
    for name, write in FILES.items():
        write(case, tmp_path / name)
    one, two = files(out), files(tmp_path)
    assert {n for n in one if one[n] != two.get(n)} == set()
    assert one.keys() == two.keys()


def test_findings_by_columns_say_what_they_say_one_by_one(case: StoredCase) -> None:
    by_columns = [row for columns in defused_columns(case) for row in zip(*columns, strict=True)]
    assert by_columns == [tuple(defused(flat(found)).values()) for found in finding_rows(case)]


def test_no_export_holds_a_prompt_or_an_answer(out: Path) -> None:
    assert {name for name, data in files(out).items() if CANARY.encode() in data} == set()
    for path in out.rglob("*.parquet"):
        assert CANARY not in str(pq.read_table(path).to_pylist())
    book = openpyxl.load_workbook(out / "findings.xlsx")
    assert CANARY not in str([[c.value for c in row] for sheet in book for row in sheet.iter_rows()])


def test_raw_evidence_goes_along_in_a_bundle_alone_and_in_one_folder(case: StoredCase, tmp_path: Path) -> None:
    write_bundle(case, tmp_path / "bag", BundleOptions())
    holding = [name for name, data in files(tmp_path / "bag").items() if CANARY.encode() in data]
    assert holding
    assert all(name.startswith("data/case/evidence/") for name in holding)


def test_a_line_of_the_bundle_says_where_a_rejected_line_was_but_not_what_it_held(out: Path) -> None:
    (rejected,) = lines(out / "bundle/data/case/rejected.jsonl")
    assert rejected["excerpt"] is None
    assert rejected["reason"]


def test_no_export_leaves_a_partial_file_behind(out: Path) -> None:
    assert {p.name for p in out.iterdir()} == set(FILES)


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_export_never_replaces_anything(case: StoredCase, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    if "." in name:
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "mine").write_text("mine")
    before = files(tmp_path)
    with pytest.raises(UsageError):
        FILES[name](case, target)
    assert files(tmp_path) == before


def test_the_bundle_is_a_valid_bag(out: Path) -> None:
    logging.getLogger("bagit").setLevel(logging.ERROR)
    assert bagit.Bag(str(out / "bundle")).validate()


def test_the_provenance_is_prov(case: StoredCase, out: Path) -> None:
    document = ProvDocument.deserialize(source=str(out / "bundle/data/provenance.json"), format="json")
    kinds = Counter(type(record).__name__ for record in document.get_records())
    assert kinds["ProvActivity"] == 1
    assert kinds["ProvUsage"] >= len(case.document["inputs"]) + 3
    assert kinds["ProvDerivation"] == len(case.document["inputs"])


def test_the_statement_has_the_digest_of_every_result(case: StoredCase, out: Path) -> None:
    statement = json.loads((out / "bundle/data/statement.json").read_bytes())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    subjects = {s["name"]: s["digest"]["sha256"] for s in statement["subject"]}
    assert subjects["findings.jsonl"] == case.files["findings.jsonl"]
    materials = {d["digest"]["sha256"] for d in statement["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert {i["sha256"] for i in case.document["inputs"]} <= materials


def test_every_event_is_ocsf(case: StoredCase, out: Path) -> None:
    schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version="1.8.0"))
    checks = {
        uid: jsonschema.Draft202012Validator(schema.get_class_schema(name, profiles=["incident"]))
        for uid, name in ((2004, "detection_finding"), (2005, "incident_finding"))
    }
    events = lines(out / "events.jsonl")
    for event in events:
        assert event["metadata"]["profiles"] == ["incident"]
        errors = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in checks[event["class_uid"]].iter_errors(event)]
        assert errors == []
    assert Counter(e["class_uid"] for e in events) == {2005: 1, 2004: len(findings(case))}


def test_verdicts_say_what_a_finding_is(out: Path) -> None:
    said = {(e["unmapped"]["kvf_disposition"], e["verdict_id"]) for e in lines(out / "events.jsonl")[1:]}
    assert said == {("affected", 4), ("replay", 4), ("possible", 7), ("excluded", 6), ("duplicate", 10)}


def test_the_incident_lists_what_is_flagged(case: StoredCase, out: Path) -> None:
    event = lines(out / "events.jsonl")[0]
    flagged = [f["finding_id"] for f in findings(case) if f["disposition"] in {"affected", "possible", "replay"}]
    assert [f["uid"] for f in event["finding_info_list"]] == flagged
    assert event["count"] == len(flagged)


def test_a_time_of_creation_is_what_a_person_gives(case: StoredCase, tmp_path: Path) -> None:
    write_ocsf(case, tmp_path / "e.jsonl", OcsfOptions(1_789_027_200_000_000, "blue team"))
    events = lines(tmp_path / "e.jsonl")
    assert {e["time"] for e in events} == {1_789_027_200_000}
    assert events[0]["assignee_group"] == {"name": "blue team"}


class _Sketch:
    """As much of a sketch as the importer asks for before it sends."""

    id = 1
    api = SimpleNamespace(api_root="http://localhost", fetch_resource_data=lambda _: {})


def test_the_timesketch_importer_takes_every_row_as_it_is(case: StoredCase, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    def keep(self: ImportStreamer, end_stream: bool, *_: object, **__: object) -> None:
        sent.extend(self._data_lines)

    monkeypatch.setattr(ImportStreamer, "_upload_data_buffer", keep)
    streamer = ImportStreamer()
    streamer.set_sketch(_Sketch())
    streamer.add_file(str(out / "timeline.jsonl"))
    streamer.flush()
    rows = lines(out / "timeline.jsonl")
    assert len(sent) == len(rows) == len(findings(case)) + 3 + len(case.incident().timeline)
    for taken, row in zip(sent, rows, strict=True):
        assert {k: v for k, v in taken.items() if k != "datetime"} == {k: v for k, v in row.items() if k != "datetime"}


def test_a_timeline_row_has_what_the_server_checks(out: Path) -> None:
    for row in lines(out / "timeline.jsonl"):
        assert {"message", "datetime", "timestamp", "timestamp_desc"} <= row.keys()
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", row["datetime"])
        moment = pl.Series([row["datetime"]]).str.to_datetime("%+", time_unit="us")[0]
        assert round(moment.timestamp() * 1e6) == row["timestamp"]
        assert not {"_id", "_type", "_index", "_source", "__ts_timeline_id"} & row.keys()
        assert all(len(v.encode()) <= 32_766 for v in row.values() if isinstance(v, str))
        assert not ACTS.search(row["message"])


def test_a_finding_without_a_time_is_in_the_timeline_and_says_so(out: Path) -> None:
    odd = [r for r in lines(out / "timeline.jsonl") if "Not Known" in r["timestamp_desc"]]
    assert [r["kvf_time_basis"] for r in odd] == ["missing"]
    assert "kvf_started_earliest" not in odd[0]


def test_no_cell_of_the_csv_acts_and_the_row_says_what_was_changed(case: StoredCase, out: Path) -> None:
    with (out / "findings.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(findings(case))
    for row, exact in zip(rows, findings(case), strict=True):
        for text in row.values():
            assert not ACTS.search(text)
            assert not text.startswith(STARTS)
            assert not re.search(r'[;,]\s*"?[=+\-@]', text)
        for name in ("tenant", "user", "user_agent", "source", "record_id"):
            assert (row[name] == (exact[name] or "")) or name in row["altered"].split()
    assert any("tenant" in row["altered"].split() for row in rows)
    assert max(len(cell) for row in rows for cell in row.values()) == LONGEST_CELL


def test_openpyxl_reads_the_workbook_and_no_cell_is_a_formula_or_a_link(case: StoredCase, out: Path) -> None:
    book = openpyxl.load_workbook(out / "findings.xlsx")
    assert book.sheetnames == ["Summary", "Findings", "Inputs", "Exclusions", "About"]
    assert book["Findings"].max_row == len(findings(case)) + 1
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type in {"s", "n", "b", "inlineStr"}
                assert cell.hyperlink is None
                assert not (isinstance(cell.value, str) and (ACTS.search(cell.value) or cell.value.startswith(STARTS)))
    heads = [c.value for c in book["Findings"][1]]
    assert [r[heads.index("prompt_tokens_min")].value for r in book["Findings"].iter_rows(min_row=2)] == [
        f["prompt_tokens_min"] for f in findings(case)
    ]


def test_nothing_is_lost_from_json_and_parquet(case: StoredCase, out: Path) -> None:
    wanted = {text.strip() for text in HOSTILE}
    exact = {f["tenant"] for f in findings(case)}
    assert {t for t in wanted if t not in exact and t not in {e and e.strip() for e in exact}} == set()
    assert {e["metadata"].get("tenant_uid") for e in lines(out / "events.jsonl")[1:]} == exact
    assert set(pq.read_table(out / "tables/findings.parquet")["tenant"].to_pylist()) == exact
    assert "excerpt" not in pq.read_table(out / "tables/rejected.parquet").column_names


def test_what_goes_by_the_wire_is_plain_ascii(out: Path) -> None:
    for name in ("timeline.jsonl", "events.jsonl", "bundle/bag-info.txt", "bundle/data/provenance.json"):
        assert (out / name).read_bytes().isascii()


def test_names_of_files_are_never_from_a_log(out: Path) -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]+", name) for name in files(out))


def test_a_hostile_title_stays_on_its_line_of_the_bag(tmp_path: Path) -> None:
    from kvforensics.incident import template

    incident = tmp_path / "incident.toml"
    text = template().replace("What happened, in one line", "x\\nContact-Email: evil@example.com\\u001b[31m " + "word " * 40)
    incident.write_text(text.replace('ids = ["provider/maker/model-1"]', 'ids = ["@cf/zai-org/glm-5.3"]'))
    made = made_case(tmp_path, [call(1)], incident=str(incident))
    write_bundle(made, tmp_path / "bag", BundleOptions(contact_name="A\nPayload-Oxum: 0.0"))
    logging.getLogger("bagit").setLevel(logging.ERROR)
    bag = bagit.Bag(str(tmp_path / "bag"))
    assert bag.validate()
    assert "Contact-Email" not in bag.info
    assert "evil@example.com" in bag.info["External-Description"]


def test_the_public_export_has_no_text_of_a_log(case: StoredCase, out: Path) -> None:
    told = b"".join(data for name, data in files(out / "public").items()).decode()
    for found in findings(case):
        for key in ("tenant", "user", "record_id", "source", "user_agent", "finding_id", "sha256"):
            text = found[key]
            assert text is None or len(text) < 4 or text not in told


def test_the_public_export_hides_small_counts_and_keeps_days(case: StoredCase, out: Path) -> None:
    summary = json.loads((out / "public/summary.json").read_bytes())
    assert summary["excluded"] is None
    with (out / "public/by_day.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["day"] for r in rows[:2]] == ["2026-08-27", "2026-08-28"]
    told = [int(r[d]) for r in rows for d in ("affected", "possible", "replay") if r[d]]
    assert all(n == 0 or n >= 11 for n in told)


def test_a_group_sees_pseudonyms_where_the_number_of_tenants_may_be_told(tmp_path: Path) -> None:
    given = [call(n, tenant=f"tenant-{n % 12}") for n in range(240)]
    given += [call(300 + n, tenant=f"tenant-{n % 12}", usage=None) for n in range(24)]
    made = made_case(tmp_path, given)
    names = Pseudonyms(b"k" * 32, "customers")
    options = PublicOptions(names=names, group="customers", marking="TLP:AMBER")
    assert write_public(made, tmp_path / "public", options) == 3
    with (tmp_path / "public/by_tenant.csv").open(newline="") as file:
        rows = {r["tenant"]: r for r in csv.DictReader(file)}
    assert Counter(r["affected"] for r in rows.values())["20"] >= 10
    assert {names.name(f"tenant-{n}") for n in range(12)} <= rows.keys()
    assert "tenant-3" not in (tmp_path / "public/by_tenant.csv").read_text()
    summary = json.loads((tmp_path / "public/summary.json").read_bytes())
    assert summary["recipients"] == {"group": "customers", "key_id": names.key_id, "by_tenant": True}


def test_a_group_gets_no_table_where_the_number_of_tenants_is_small(tmp_path: Path) -> None:
    made = made_case(tmp_path, [call(n, tenant=f"tenant-{n % 5}") for n in range(100)])
    write_public(made, tmp_path / "public", PublicOptions(names=Pseudonyms(b"k" * 32, "g"), group="g"))
    assert not (tmp_path / "public/by_tenant.csv").exists()
    summary = json.loads((tmp_path / "public/summary.json").read_bytes())
    assert summary["recipients"]["by_tenant"] is False
    assert summary["tenants"] == {"affected": None, "possible": None, "upper": None}


def test_a_case_whose_files_were_changed_is_not_handed_over(case: StoredCase, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(case.folder, tmp_path / "case")
    for name in ("records.parquet", "findings.parquet", "rejected.jsonl"):
        data = (tmp_path / "case" / name).read_bytes()
        (tmp_path / "case" / name).write_bytes(data + b"\n")
        with pytest.raises(EvidenceError, match="differs"):
            write_bundle(open_case(tmp_path / "case"), tmp_path / "bag", BundleOptions())
        (tmp_path / "case" / name).write_bytes(data)
    assert not (tmp_path / "bag").exists()
