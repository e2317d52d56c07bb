"""What is read of Parquet files, whoever reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvforensics import cutting, parquet_rows, scan
from kvforensics.cells import plain_columns
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.parquet_rows import BROKEN, ParquetRows, size_of

MODEL = "@cf/zai-org/glm-5.3"
REST = {"cached": False, "duration": 900, "path": "chat/completions", "provider": "workers-ai", "success": True}
NAMES = ["text", "whole", "when", "kind", "enum", "bytes", "flag", "price", "nested", "list", "nothing"]


def table(rows: int) -> pl.DataFrame:
    """A bit of everything, with nulls."""
    some = range(rows)
    return pl.DataFrame({
        "text": [None if i % 7 == 3 else f"text-{i}" for i in some],
        "whole": [None if i % 5 == 4 else i * 1000 for i in some],
        "when": [datetime(2026, 9, 1, 12, i % 60, tzinfo=UTC) for i in some],
        "kind": pl.Series([None if i % 6 == 5 else f"kind-{i % 3}" for i in some], dtype=pl.Categorical),
        "enum": pl.Series([("b", "a", None)[i % 3] for i in some], dtype=pl.Enum(["a", "b", "c"])),
        "bytes": [b"\xff%d" % i for i in some],
        "flag": [None if i % 4 == 1 else i % 2 == 0 for i in some],
        "price": [Decimal(i) / 100 for i in some],
        "nested": [{"model": f"m-{i}", "n": i} for i in some],
        "list": [[str(i)] * (i % 3) for i in some],
        "nothing": pl.Series([None] * rows, dtype=pl.Null),
    })  # fmt: skip


def read(
    path: Path, names: list[str], most: int, *, by_arrow: bool = False, groups: tuple[int, int] | None = None
) -> pl.DataFrame:
    """The columns, as JSON would say them."""
    with ParquetRows(str(path), *(groups or ())) as rows:
        if by_arrow:
            rows._scan = None
        return pl.concat([plain_columns(f)[0] for f in rows.frames(names, most)])


@pytest.mark.parametrize("most", [1, 7, 1000])
@pytest.mark.parametrize("groups", [None, (1, 2), (3, 1)])
def test_arrow_reads_what_polars_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, groups: tuple[int, int] | None
) -> None:
    monkeypatch.setattr(parquet_rows, "_FEWEST_ROWS", 4)
    path = tmp_path / "log.parquet"
    # Arrow's writer keeps the types of categories, and writes texts by dictionaries.
    pq.write_table(table(40).drop("nothing").to_arrow(), path, row_group_size=10)
    names = NAMES[:-1]
    told = read(path, names, most, groups=groups)
    first, count = groups or (0, 4)
    assert told["whole"].to_list() == table(40)["whole"].to_list()[first * 10 :][: count * 10]
    assert told.equals(read(path, names, most, by_arrow=True, groups=groups))
    assert set(told.select("text", "kind", "enum", "bytes", "when", "price").dtypes) == {pl.String}
    kinds = [None if i % 6 == 5 else f"kind-{i % 3}" for i in range(40)]
    assert told["kind"].to_list() == kinds[first * 10 :][: count * 10]


def test_a_text_that_many_rows_share_is_never_held_for_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "MOST_BYTES", 50_000)
    path = tmp_path / "log.parquet"
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), pa.array(["x" * 10_000]))
    pq.write_table(pa.table({"text": shared.cast(pa.string()), "kind": shared, "n": list(range(500))}), path)
    assert path.stat().st_size < 50_000
    for by_arrow in (False, True):
        with ParquetRows(str(path)) as rows:
            if by_arrow:
                rows._scan = None
            frames = list(rows.frames(["text", "kind", "n"], 500))
        assert max(map(size_of, frames)) <= 50_000
        assert pl.concat([f["n"] for f in frames]).to_list() == list(range(500))


@pytest.mark.parametrize("by_arrow", [False, True])
def test_what_is_before_a_broken_row_group_is_read(tmp_path: Path, *, by_arrow: bool) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(table(40).select("text", "whole").to_arrow(), path, row_group_size=10, compression="zstd")
    column = pq.read_metadata(path).row_group(2).column(0)
    data = bytearray(path.read_bytes())
    at = column.dictionary_page_offset
    data[at : at + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    seen: list[int] = []
    with ParquetRows(str(path)) as rows:
        if by_arrow:
            rows._scan = None
        with pytest.raises(BROKEN):
            seen.extend(frame.height for frame in rows.frames(["text", "whole"], 15))
    assert sum(seen) == 20


@pytest.mark.parametrize("dictionary", [False, True])
def test_a_text_that_is_no_utf8_is_unknown_and_its_row_says_so(tmp_path: Path, *, dictionary: bool) -> None:
    call = {"model": MODEL, "tokens_in": 700_000, "created_at": "2026-09-01T10:00:00Z", **REST}
    calls = [{"id": f"r-{i}", **call} for i in range(9)]
    others = [{**call, "id": f"o-{i}", "model": "@cf/meta/llama-3.3"} for i, call in enumerate(calls)]
    frame = pl.DataFrame([*others[:5], *calls, *others[5:]])
    names = [f"{m[:4]}\xff{m[5:]}" if i in (2, 8) else m for i, m in enumerate(frame["model"])]
    torn = pa.array([name.encode("latin-1") for name in names]).view(pa.string())
    table = frame.to_arrow().set_column(frame.columns.index("model"), "model", torn)
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, use_dictionary=dictionary)
    found = ingest(IngestRequest((str(path),), load_incident("cloudflare-workers-ai-glm-5.3"), keep="open"))
    [report] = found.inputs
    assert (report.lines, report.records, report.problems) == (18, 18, ())
    reasons = {r["line"]: (r["model_match"], r["reasons"]) for r in found.records.to_pylist()}
    whole = dict.fromkeys((6, 7, 8, *range(10, 15)), (True, []))
    assert reasons == dict.fromkeys((3, 9), (None, ["invalid_utf8"])) | whole


def test_a_time_that_no_calendar_has_is_its_number(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    times = pl.Series([0, 2**62, None, -(2**62)]).cast(pl.Datetime("us", "UTC"))
    days = pl.Series([0, 2**31 - 1, None, -(2**31)], dtype=pl.Int32).cast(pl.Date)
    pq.write_table(pl.DataFrame({"time": times, "day": days}).to_arrow(), path)
    told = read(path, ["time", "day"], 10)
    assert told["time"].to_list() == ["1970-01-01T00:00:00.000000Z", str(2**62), None, str(-(2**62))]
    assert told["day"].to_list() == ["1970-01-01", str(2**31 - 1), None, str(-(2**31))]


def test_a_file_that_is_replaced_by_another_one_while_it_is_read_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table(40).write_parquet(path, row_group_size=10)
    with ParquetRows(str(path)) as rows:
        rows._scan = None
        frames = rows.frames(NAMES, 10)
        for height in (40, 9):
            table(height).write_parquet(tmp_path / "other")
            (tmp_path / "other").replace(path)
            with pytest.raises(BROKEN):
                next(rows.frames(NAMES, 10))
        with pytest.raises(BROKEN):
            next(frames)
    with pytest.raises(BROKEN):
        ParquetRows(str(path), 2, 1)


def test_a_status_is_read_from_a_column_of_floating_point_numbers(tmp_path: Path) -> None:
    rows = {**REST, "created_at": "2026-09-02T08:41:12Z", "model": MODEL, "tokens_in": 700_000, "tokens_out": 0}
    statuses = [200.0, 500.0, 499.0, None, 20.0, 200.5]
    frame = pl.DataFrame([{"id": f"r{i}", **rows, "status_code": status} for i, status in enumerate(statuses)])
    frame.write_parquet(tmp_path / "log.parquet")
    frame.write_csv(tmp_path / "log.csv")
    frame.write_ndjson(tmp_path / "log.jsonl")
    for kind in ("parquet", "csv", "jsonl"):
        request = IngestRequest((str(tmp_path / f"log.{kind}"),), load_incident("cloudflare-workers-ai-glm-5.3"), workers=1)
        records = ingest(request).records.sort_by("line").to_pylist()
        assert [r["http_status"] for r in records] == [200, 500, 499, None, None, None]


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_a_duration_has_the_unit_of_its_type(tmp_path: Path, unit: str) -> None:
    rows = [{"request_id": f"r{i}", "ended_at": "2026-09-02T08:41:12Z", "model": MODEL} for i in range(4)]
    lasted = pl.Series([9_000, None, 0, -1], dtype=pl.Int64).cast(pl.Duration("ms")).cast(pl.Duration(unit))  # type: ignore[arg-type]
    pl.DataFrame(rows).with_columns(latency_ms=lasted).write_parquet(tmp_path / "log.parquet")
    request = IngestRequest((str(tmp_path / "log.parquet"),), load_incident("cloudflare-workers-ai-glm-5.3"), workers=1)
    records = ingest(request).records.sort_by("line").to_pylist()
    assert [r["duration_us"] for r in records] == [9_000_000, None, 0, None]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scan.Scanner, "table", lambda *_: None)
        assert ingest(request).records.sort_by("line").to_pylist() == records


@pytest.mark.parametrize(("group", "most", "rows"), [
    (4, 10, [8, 8, 4]),  # whole groups
    (4, 4, [4, 4, 4, 4, 4]),
    (30, 8, [8, 8, 4]),  # none is whole
    (7, 10, [7, 7, 6]),
])  # fmt: skip
def test_frames_end_where_row_groups_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, most: int, rows: list[int]
) -> None:
    path = tmp_path / "log.parquet"
    frame = pl.DataFrame({"n": range(20)})
    frame.write_parquet(path, row_group_size=group)
    monkeypatch.setattr(parquet_rows, "_FEWEST_ROWS", most)
    with ParquetRows(str(path)) as read:
        frames = list(read.frames(["n"], most))
    assert ([f.height for f in frames], pl.concat(frames).equals(frame)) == (rows, True)


def test_a_long_reading_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"model": ["m"] * 9, "prompt_tokens": range(9), "started_at": [1788338472] * 9}).write_parquet(
        path, row_group_size=3
    )
    monkeypatch.setattr(cutting, "GROUP_BYTES", 1)
    told: list[tuple[int, int]] = []
    request = IngestRequest((str(path),), load_incident("cloudflare-workers-ai-glm-5.3"), workers=1)
    ingest(request, lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told == [(size // 3, size), (size * 2 // 3, size), (size, size), (size, size)]


@pytest.mark.parametrize(("sizes", "lengths"), [
    ([10] * 8, [2, 2, 2, 2]), ([10, 10, 11, 10, 10, 9], [2, 1, 2, 1]), ([90, 1, 1, 1], [1, 3]), ([1, 1, 1, 90], [3, 1]),
    ([0, 0], [2]), ([-70, -70, 3], [3]), ([5], [1]), ([], [None]),
])  # fmt: skip
def test_row_groups_are_shared_out_evenly(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], lengths: list[int | None]
) -> None:
    groups = SimpleNamespace(
        num_row_groups=len(sizes), row_group=lambda i: SimpleNamespace(total_byte_size=sizes[i])
    )  # fmt: skip
    monkeypatch.setattr(cutting.pq, "read_metadata", lambda _: groups)
    monkeypatch.setattr(cutting, "GROUP_BYTES", 20)
    pieces = list(cutting.parquet_pieces("log", None, None, 2))  # type: ignore[arg-type]
    assert [p.length or None for p in pieces] == lengths
    assert [p.offset for p in pieces] == [sum(n or 0 for n in lengths[:i]) for i in range(len(lengths))]
