"""Every line has its place in the ledger, whatever the bytes are."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics import ingest as ingest_module
from kvforensics import raw, workers
from kvforensics.detect import ranked_plans
from kvforensics.formats import all_formats
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.spooled import REJECT_SCHEMA, Spooled, reject_table
from kvforensics.wrappers import all_wrappers
from rejected import rejected

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
ROW = {
    "id": "01M1GMF1YBVDSE8P8M2W5DJV87", "cached": False, "created_at": "2026-09-02T08:41:12.907Z", "duration": 9120,
    "model": "@cf/zai-org/glm-5.3", "provider": "workers-ai", "success": True, "tokens_in": 702114, "tokens_out": 1207,
    "status_code": 200,
}  # fmt: skip
OTHER = {**ROW, "id": "01M1GMF1YBVDSE8P8M2W5DJV88", "model": "@cf/meta/llama-3.3"}
LINES = st.sampled_from(
    [
        json.dumps(ROW).encode(), json.dumps(OTHER).encode(), b"", b"  ", b"{", b"[1]", b"plain text", b'{"a": "\xff"}',
        b'{"level": "info"}',
    ]
)


def read(path: Path) -> Any:
    return ingest(IngestRequest((str(path),), INCIDENT, workers=1))


def adds_up(found: Any) -> bool:
    return all(i.lines == i.records + i.rejected + i.blank + i.framing for i in found.inputs)


@settings(max_examples=cases(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rest=st.lists(LINES, max_size=30), end=st.sampled_from([b"\n", b"\r\n"]), final=st.booleans())
def test_physical_lines_are_all_accounted_for(tmp_path: Path, rest: list[bytes], end: bytes, final: bool) -> None:
    lines = [json.dumps(ROW).encode(), *rest]
    path = tmp_path / "log.jsonl"
    path.write_bytes(end.join(lines) + (end if final else b""))
    found = read(path)
    [report] = found.inputs
    expected = len(lines) - (0 if final or lines[-1] else 1)
    assert report.lines == expected
    assert adds_up(found)
    assert report.blank == sum(not line.strip() for line in lines[:expected])
    assert rejected(found).num_rows == report.rejected
    models = [line for line in lines if b"@cf/meta" in line]
    assert found.off_model_dropped == len(models)


@settings(max_examples=cases(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400) | st.text(alphabet='{}[]",:abc1\n\\ ', max_size=200).map(str.encode))
def test_no_bytes_break_the_reader(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd"
    path.write_bytes(data)
    assert adds_up(read(path))


PLACES = cases(2)
SAMPLES = [(f.name, text) for f in all_formats() for text in f.accepts]


@pytest.mark.parametrize(("name", "text"), SAMPLES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SAMPLES)])
def test_damaged_samples_stay_accounted_for(tmp_path: Path, name: str, text: str) -> None:
    clean = (text + "\n").encode() * 3
    path = tmp_path / name
    # Each sample at other places, so that all of them together are damaged everywhere.
    first = sum(clean) % (len(clean) // PLACES)
    for at in range(first, len(clean), len(clean) // PLACES):
        inserted, replaced = clean[:at] + b"\x00" + clean[at:], clean[:at] + b"}" + clean[at + 1 :]
        for damaged in (clean[:at], inserted, replaced, clean[at:] + clean):
            path.write_bytes(damaged)
            assert adds_up(read(path))


def test_the_fast_and_the_careful_path_agree(tmp_path: Path) -> None:
    rows = [
        {**(ROW if i % 3 else OTHER), "id": str(i), "created_at": f"2026-09-02T08:{i % 60:02d}:12Z"} for i in range(2000)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    fast = read(path)
    careful = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep="all"))
    assert fast.inputs == careful.inputs
    on_model = careful.records.filter(careful.records["model_match"])
    assert fast.records.sort_by("line").to_pylist() == on_model.sort_by("line").to_pylist()
    assert fast.coverage[0].minutes.equals(careful.coverage[0].minutes)


def test_a_log_that_a_crash_padded_with_nul_bytes_is_still_read(tmp_path: Path) -> None:
    row = json.dumps(ROW).encode() + b"\n"
    path = tmp_path / "log.jsonl"
    path.write_bytes(row + b"\x00" * 300 + b"\n" + row)
    [report] = read(path).inputs
    assert (report.records, report.rejected, report.lines) == (2, 1, 3)


def test_a_log_that_starts_in_the_middle_of_a_line_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"cut": "\n' + (json.dumps(ROW).encode() + b"\n") * 3)
    [report] = read(path).inputs
    assert (report.records, report.rejected, report.lines) == (3, 1, 4)


def test_trying_the_formats_on_another_file_makes_no_extractor_again(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b'{"a":1}\n'
    ranked_plans(head, all_formats(), whole=True, wrappers=all_wrappers())
    made: list[str] = []
    monkeypatch.setattr(raw.Extractor, "__init__", lambda _, fmt, *__: made.append(fmt.name))
    ranked_plans(head, all_formats(), whole=True, wrappers=all_wrappers())
    assert made == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"7z\xbc\xaf\x27\x1c" + bytes(40), "7z"), (b"\x04\x22\x4d\x18" + bytes(40), "lz4"), (b"PAR1" + bytes(40), "parquet"),
        (b"a.jsonl".ljust(257, b"\0") + b"ustar\x0000" + bytes(300), "tar"),
    ],
)  # fmt: skip
def test_an_archive_or_table_that_cannot_be_opened_is_broken_evidence(tmp_path: Path, data: bytes, kind: str) -> None:
    (tmp_path / "log").write_bytes(data)
    [report] = read(tmp_path / "log").inputs
    assert (report.broken, report.problems) == (True, ("not_understood", f"unsupported: {kind}"))


def test_a_picture_between_the_logs_is_no_broken_evidence(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    [report] = read(tmp_path / "log").inputs
    assert (report.broken, report.problems) == (False, ("not_understood",))


def test_rejects_of_many_sources_come_in_the_order_of_the_sources_however_they_were_added(tmp_path: Path) -> None:
    for path in (None, tmp_path / "rejected.arrow"):
        rejects = Spooled(REJECT_SCHEMA, path)
        rejects.add("b", reject_table("b", [(2, 5, 1, "syntax", b"x"), (1, 0, 4, "syntax", b"\xff")]))
        alone = Spooled(REJECT_SCHEMA, None)
        alone.add("a", reject_table("a", [(1, None, None, "wrong_columns", b"")]))
        rejects.take(alone)
        rejects.add("b", reject_table("b", [(3, 7, 1, "truncated", b"{")]))
        rejects.close()
        rows = [row for name in ("a", "none", "b") for batch in rejects.of(name) for row in batch.to_pylist()]
        assert [(r["source"], r["line"], r["reason"]) for r in rows] == [
            ("a", 1, "wrong_columns"), ("b", 1, "syntax"), ("b", 2, "syntax"), ("b", 3, "truncated"),
        ]  # fmt: skip
        assert rows[1]["excerpt"] == b"\xff"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_file_that_changes_while_its_last_piece_is_scanned_is_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"log.{kind}"
    if kind == "parquet":
        pl.DataFrame([ROW, OTHER]).write_parquet(path)
    else:
        path.write_text(json.dumps(ROW) + "\n" + json.dumps(OTHER) + "\n")
    scanned = ingest_module.run_pieces

    def then_changed(*given: Any) -> Any:
        told = scanned(*given)
        os.utime(path, ns=(1, 1))
        return told

    monkeypatch.setattr(ingest_module, "PARALLEL_FROM", 1)
    monkeypatch.setattr(workers, "pool", ThreadPoolExecutor)
    request = IngestRequest((str(path),), INCIDENT, workers=2)
    assert ingest(request).inputs[0].problems == ()
    monkeypatch.setattr(ingest_module, "run_pieces", then_changed)
    assert ingest(request).inputs[0].problems == ("changed_while_read",)
