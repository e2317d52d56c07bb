"""Rows read by whole columns give what rows read one by one give."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics import ingest as ingest_module
from kvforensics import parquet_rows, parquet_tables, scan, workers
from kvforensics.formats import all_formats, by_name
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.scanned import Keep
from kvforensics.text_lane import TextLane
from rejected import rejected

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL, OTHER = "@cf/zai-org/glm-5.3", "@cf/meta/llama-3.3"
KEEPS: tuple[Keep, ...] = ("open", "on-model", "all")
TABULAR = [f for f in all_formats() if {"csv", "parquet"} & set(f.containers) and f.accepts]
PLAIN = {
    "request_id": "r-1", "started_at": "2026-09-02T08:41:12.907Z", "model": MODEL, "provider": "workers-ai",
    "status_code": "200", "latency_ms": "9120", "prompt_tokens": "702114", "completion_tokens": "1207", "cache": "",
    "team": "team-a", "metadata": "", "usage": "", "error": "",
}  # fmt: skip
VALUES: dict[str, list[str]] = {
    "model": [OTHER, "", "default", "glm-5.3", '{"id":"@cf/zai-org/glm-5.3"}', "gpt-4o", " ", MODEL.upper()],
    "prompt_tokens": ["900", "681280", "681274", "-4", "12.5", "900.0", "1e3", "x", "", "true"],
    "started_at": ["2026-08-26T23:59:59Z", "2026-12-01 00:00:00", "1788338472", "", "soon", "2026-09-01"],
    "metadata": [
        '{"team":"b"}', '{"model":"@cf/meta/llama-3.3"}', '{"cf_ray":"a"}', "{", "data: {}", '{"mod\\u0065l":"x"}',
        '{"created_at":"2026-09-03T00:00:00Z"}',
    ],
    "usage": ['{"prompt_tokens":700000}', '{"cache_read_input_tokens":5,"input_tokens":7}', "7"],
    "cache": ["HIT", "MISS", "true", "0"], "request_id": ["r-2", "", "0", "unknown"], "status_code": ["400", "499", ""],
    "error": ["timeout", "{}", '{"code":429}'], "provider": ["zai", "", "openai"], "latency_ms": ["", "x", "1.5"],
}  # fmt: skip
CHANGES = st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in VALUES.items()})
NAMES = st.lists(st.sampled_from(sorted(PLAIN)), unique=True, min_size=2)
COLUMNS = NAMES.map(lambda names: [*dict.fromkeys(["model", *names])])
ODD_ROWS = st.sampled_from(["", "one", 'a,"b', ",,,", '{"model":"a","model":"b"}', "\udcff,\udcfe"])


def everything(path: Path, keep: Keep, workers: int = 1) -> dict[str, Any]:
    """What is kept of a file, and what is counted."""
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=workers, keep=keep))
    return {
        "records": found.records.sort_by("line").to_pylist(), "inputs": found.inputs, "settled": found.settled,
        "dropped": found.off_model_dropped, "rejects": rejected(found).to_pylist(),
        "minutes": [(c.minutes.to_pylist(), c.first_us, c.last_us, c.sampled) for c in found.coverage],
        "raw": sorted(found.raw(found.records)),
    }  # fmt: skip


def assert_both_ways_agree(path: Path, keeps: Sequence[Keep] = KEEPS) -> None:
    for keep in keeps:
        by_columns = everything(path, keep)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(scan.Scanner, "table", lambda *_: None)
            one_by_one = everything(path, keep)
        assert by_columns == one_by_one


def as_csv(names: Sequence[str], rows: Sequence[dict[str, str]], odd: Sequence[tuple[int, str]] = ()) -> bytes:
    """The rows as delimited text, with other lines put between them."""
    lines = []
    for cells in (names, *([row[n] for n in names] for row in rows)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        lines.append(text.getvalue())
    for at, line in odd:
        lines.insert(1 + at % len(lines), line + "\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


@settings(max_examples=cases(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=COLUMNS, changes=st.lists(CHANGES, min_size=1, max_size=12),
    odd=st.lists(st.tuples(st.integers(2, 20), ODD_ROWS), max_size=2),
)  # fmt: skip
def test_delimited_text(tmp_path: Path, names: list[str], changes: list[dict[str, str]], odd: list[tuple[int, str]]) -> None:
    path = tmp_path / "log.csv"
    rows = [PLAIN, *({**PLAIN, **change} for change in changes)]
    path.write_bytes(as_csv(names, rows, odd))
    assert_both_ways_agree(path)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("cell", ['{"team":"b"}', "two\nlines", 'a "quote', ""], ids=["JSON", "lines", "quote", "nothing"])
def test_delimited_text_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, mark: bytes) -> None:
    path = tmp_path / "log.csv"
    rows = [{**PLAIN, "request_id": f"r-{i}", "metadata": cell if i % 7 == 5 else ""} for i in range(40)]
    path.write_bytes(mark + as_csv(sorted(PLAIN), rows, [(30, 'a,"b')] if cell else []))
    whole = everything(path, "open")
    for name, size in (("PARALLEL_FROM", 1), ("LEAST_RANGE", 300), ("RANGE_BYTES", 300)):
        monkeypatch.setattr(ingest_module, name, size)
    monkeypatch.setattr(workers, "pool", ThreadPoolExecutor)
    assert everything(path, "open", workers=2) == whole


TYPED = st.fixed_dictionaries(
    {"model": st.sampled_from([MODEL, OTHER, None, "default"])},
    optional={
        "id": st.sampled_from(["a", "b", None]),
        "started_at": st.sampled_from([None, 1788338472, 1788338472000]),
        "prompt_tokens": st.sampled_from([None, 5, 700_000, -1]),
        "latency": st.sampled_from([None, 1.5, 90.0, 1e16]),
        "cached": st.sampled_from([None, True, False]),
        "usage": st.sampled_from([None, {"prompt_tokens": 700_000}, {"prompt_tokens": 3}]),
        "tags": st.sampled_from([None, [], ["x", "y"]]),
        "error": st.sampled_from([None, "timeout", ""]),
        "status": st.sampled_from([None, 200, 499]),
    },
)
SCHEMA = {
    "id": pl.String, "model": pl.String, "started_at": pl.Int64, "prompt_tokens": pl.Int64, "latency": pl.Float64,
    "cached": pl.Boolean, "usage": pl.Struct({"prompt_tokens": pl.Int64}), "tags": pl.List(pl.String), "error": pl.String,
    "status": pl.Int32,
}  # fmt: skip
KINDS: dict[str, list[Any]] = {
    "started_at": [
        pl.Int64, pl.Datetime("us", "UTC"), pl.Datetime("ns", "America/Santiago"), pl.Datetime("ms", "UTC"), pl.Datetime("us"),
        pl.Date, pl.String,
    ],
    "prompt_tokens": [pl.Int64, pl.Int32, pl.UInt64, pl.Int128, pl.Float32, pl.String, pl.Decimal(38, 0)],
    "latency": [pl.Float64, pl.UInt16, pl.Int8, pl.Int64, pl.Float32, pl.String],
    "cached": [pl.Boolean, pl.Int8, pl.String], "status": [pl.Int32, pl.Int16, pl.UInt64, pl.String],
}  # fmt: skip
"""As which a column may be held."""


@settings(max_examples=cases(7), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(TYPED, min_size=1, max_size=12), columns=st.sets(st.sampled_from(sorted(SCHEMA))),
    group=st.sampled_from([1, 5]), seen=st.sampled_from([0, 1 << 20]),
    kinds=st.fixed_dictionaries({k: st.sampled_from(v) for k, v in KINDS.items()}),
)  # fmt: skip
def test_parquet(
    tmp_path: Path, rows: list[dict[str, Any]], columns: set[str], group: int, seen: int, kinds: dict[str, Any]
) -> None:
    path = tmp_path / "log.parquet"
    schema = {k: v for k, v in SCHEMA.items() if k == "model" or k in columns}
    frame = pl.DataFrame([{k: row.get(k) for k in schema} for row in rows], schema=schema)
    if isinstance(kinds["started_at"], pl.Datetime) and "started_at" in columns:
        frame = frame.with_columns(pl.from_epoch(pl.col("started_at") % 2_000_000_000).dt.replace_time_zone("UTC"))
    frame = frame.with_columns(pl.col(k).cast(v, strict=False) for k, v in kinds.items() if k in columns)
    frame.write_parquet(path, row_group_size=group)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parquet_tables, "_BATCH", 3)
        patched.setattr(parquet_tables, "_CAREFUL_BATCH", 2)
        patched.setattr(parquet_tables, "_WORTH_SETTLING", 4)
        patched.setattr(parquet_tables, "_SEEN_BYTES", seen)
        patched.setattr(parquet_rows, "_FEWEST_ROWS", 2)
        assert_both_ways_agree(path)


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt16, pl.Int64], ids=str)
def test_a_duration_of_any_width_is_read(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "log.parquet"
    frame = pl.DataFrame({"model": [MODEL], "prompt_tokens": [700_000], "started_at": [1788338472], "latency_ms": [90]})
    frame.with_columns(pl.col("latency_ms").cast(kind)).write_parquet(path)
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1))
    assert (found.inputs[0].problems, found.records["duration_us"].to_pylist()) == ((), [90_000])


def cell(value: Any) -> str:
    """A value as an export would write it."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


@pytest.mark.parametrize("fmt", TABULAR, ids=[f.name for f in TABULAR])
def test_samples_of_every_tabular_format(fmt: Any, tmp_path: Path) -> None:
    samples = [row for text in fmt.accepts if isinstance(row := json.loads(text), dict)]
    for i, sample in enumerate(samples):
        rows = []
        for model in (None, OTHER, MODEL, "default"):
            row = {k: cell(v) for k, v in sample.items()}
            rows.append({k: model if "model" in k.lower() and model else v for k, v in row.items()})
        path = tmp_path / f"{i}.csv"
        path.write_bytes(as_csv(list(sample), rows))
        assert_both_ways_agree(path, ["open"])
        pl.DataFrame(rows).write_parquet(tmp_path / f"{i}.parquet")
        assert_both_ways_agree(tmp_path / f"{i}.parquet", ["all"])


TEXT_LINES = [text for f in all_formats() if f.pattern for text in (*f.accepts, *f.refuses)]
ACCESS = [
    *(text for name in ("nginx-combined", "envoy-text", "apache-combined", "haproxy") for text in by_name(name).accepts),
    '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "GET /a HTTP/1.1" 200 13 "-" "curl"',
    '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST /ai/run/@cf/meta/llama-3.3 HTTP/1.1" 200 13 "-" "curl"',
    '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST /ai/run/{} HTTP/1.1" 200 13 "-" "\udcff"',
]


ODD_LINES = st.sampled_from(["", " x", "\x1b[1mx", "web | y", "{", '{"model":"@cf/zai-org/glm-5.3"}'])


@settings(max_examples=cases(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from(ACCESS) | st.sampled_from(TEXT_LINES) | ODD_LINES, min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_lines_of_text(tmp_path: Path, lines: list[str], end: str) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(end.join([ACCESS[0], *lines, ""]).encode("utf-8", "surrogateescape"))
    for keep in KEEPS:
        by_columns = everything(path, keep)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(TextLane, "take", lambda *_: None)
            one_by_one = everything(path, keep)
        assert by_columns == one_by_one


def test_plain_lines_of_text_are_not_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "access.log"
    path.write_text("".join(f"{line}\n" for line in [ACCESS[0], ACCESS[-2], ACCESS[-3]] * 30))
    monkeypatch.setattr(scan.Scanner, "inner", lambda *_: pytest.fail("a line was read by itself"))
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep="open"))
    assert (found.off_model_dropped, found.records.num_rows, found.inputs[0].framing) == (30, 30, 30)


def test_plain_rows_are_not_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    rows = [{**PLAIN, "request_id": f"r-{i}", "model": OTHER if i % 3 else MODEL} for i in range(90)]
    path.write_bytes(as_csv(sorted(PLAIN), rows))
    monkeypatch.setattr(scan.Scanner, "row", lambda *_: pytest.fail("a row was read by itself"))
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep="open"))
    assert (found.off_model_dropped, found.records.num_rows, found.inputs[0].lines) == (60, 30, 91)
