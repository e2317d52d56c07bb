"""The same evidence gives the same bytes, with any number of workers, in any folder, zone and locale."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from kvforensics import cutting
from kvforensics import ingest as reading
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from rejected import rejected

ROW = {
    "cached": False, "created_at": "2026-09-02T08:41:12.907Z", "duration": 9120, "provider": "workers-ai", "success": True,
    "tokens_out": 1207, "status_code": 200,
}  # fmt: skip
CHECK = "import sys; from kvforensics.cli import main; main()"


def log(path: Path, count: int) -> Path:
    """A log with on-model, other and broken lines."""
    with path.open("w") as file:
        for i in range(count):
            model = "@cf/zai-org/glm-5.3" if i % 4 == 0 else "@cf/meta/llama-3.3"
            row = {"id": f"id-{i}", "model": model, "tokens_in": 700_000 if i % 40 == 0 else 900, **ROW}
            file.write((json.dumps(row) if i % 97 else '{"cut') + "\n")
    return path


def case_bytes(folder: Path) -> dict[str, bytes]:
    """Everything in a case but the facts of its run."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != "run.json")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


@pytest.mark.slow
def test_a_case_has_the_same_bytes_in_another_zone_locale_and_folder(tmp_path: Path) -> None:
    cases = []
    for place, zone, locale in (("one", "UTC", "C"), ("two", "America/Santiago", "tr_TR.UTF-8")):
        folder = tmp_path / place / "logs"
        folder.mkdir(parents=True)
        log(folder / "gateway.jsonl", 500)
        environment = {**os.environ, "TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": str(len(place) + len(zone))}
        run = subprocess.run(
            [sys.executable, "-c", CHECK, "check", "logs", "--case", "case"],
            cwd=folder.parent, env=environment, capture_output=True, check=False,
        )  # fmt: skip
        assert run.returncode == 10, run.stderr
        cases.append((case_bytes(folder.parent / "case"), run.stdout))
    assert cases[0] == cases[1]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
def test_pieces_on_several_cores_give_what_one_pass_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    path = log(tmp_path / "gateway.jsonl", 3000)
    incident = load_incident("cloudflare-workers-ai-glm-5.3")
    whole = ingest(IngestRequest((str(path),), incident, workers=1))
    monkeypatch.setattr(reading, "PARALLEL_FROM", 1)
    monkeypatch.setattr(reading, "RANGE_BYTES", 40_000)
    steps: list[tuple[int, int]] = []
    pieces = ingest(IngestRequest((str(path),), incident, workers=workers), lambda done, of: steps.append((done, of)))
    assert len(steps) > 5
    assert steps == sorted(steps)
    assert steps[-1] == (path.stat().st_size, path.stat().st_size)
    assert pieces.inputs == whole.inputs
    assert pieces.records.sort_by("line").to_pylist() == whole.records.sort_by("line").to_pylist()
    assert rejected(pieces).equals(rejected(whole))
    assert pieces.coverage[0].minutes.equals(whole.coverage[0].minutes)


@pytest.mark.slow
def test_many_files_on_several_cores_give_what_one_process_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, first, second = (tmp_path / name for name in ("logs", "first", "second"))
    for folder in (logs, first, second):
        folder.mkdir()
    for i in range(7):
        log(logs / f"gateway-{i}.jsonl", 200 + i)
    (logs / "empty").write_bytes(b"")
    incident = load_incident("cloudflare-workers-ai-glm-5.3")
    one = ingest(IngestRequest((str(logs),), incident, workers=1, spool=first, keep="open"))
    monkeypatch.setattr("kvforensics.ingest.PARALLEL_FROM", 40_000)
    many = ingest(IngestRequest((str(logs),), incident, workers=2, spool=second, keep="open"))
    assert one.inputs == many.inputs
    assert one.settled == many.settled
    assert one.records.equals(many.records)
    assert rejected(one).equals(rejected(many))


@pytest.mark.slow
def test_a_byte_order_mark_is_not_taken_for_a_change_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path / "gateway.jsonl", 500)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    monkeypatch.setattr(reading, "PARALLEL_FROM", 1)
    monkeypatch.setattr(reading, "RANGE_BYTES", 40_000)
    [report] = ingest(IngestRequest((str(path),), load_incident("cloudflare-workers-ai-glm-5.3"), workers=2)).inputs
    assert (report.lines, report.problems, report.broken) == (500, (), False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_pieces_of_a_table_on_several_cores_give_what_one_pass_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / f"gateway.{kind}"
    rows = []
    for i in range(3000):
        model = "@cf/zai-org/glm-5.3" if i % 4 == 0 else "@cf/meta/llama-3.3"
        row = {"id": f"id-{i}", "model": model, "tokens_in": 700_000 if i % 40 == 0 else 900, "note": f'a "b",\n{i}', **ROW}
        rows.append(row)
    if kind == "parquet":
        pl.DataFrame(rows).write_parquet(path, row_group_size=100)
    else:
        lines = pl.DataFrame(rows).write_csv().splitlines(keepends=True)
        data = "".join(line + ('x,"\n' if i % 500 == 3 else "") for i, line in enumerate(lines) if i % 701 or not i).encode()
        path.write_bytes(gzip.compress(data, mtime=0) if kind == "csv.gz" else data)
    incident = load_incident("cloudflare-workers-ai-glm-5.3")
    whole = ingest(IngestRequest((str(path),), incident, workers=1, keep="open"))
    assert whole.records.num_rows > 10
    monkeypatch.setattr(reading, "PARALLEL_FROM", 1)
    monkeypatch.setattr(cutting, "COLUMN_BYTES", 20_000)
    monkeypatch.setattr(cutting, "GROUP_BYTES", 3_000)
    pieces = ingest(IngestRequest((str(path),), incident, workers=2, keep="open"))
    assert pieces.inputs == whole.inputs
    assert pieces.settled == whole.settled
    assert pieces.records.sort_by("line").to_pylist() == whole.records.sort_by("line").to_pylist()
    assert rejected(pieces).equals(rejected(whole))
    assert pieces.coverage[0].minutes.equals(whole.coverage[0].minutes)
