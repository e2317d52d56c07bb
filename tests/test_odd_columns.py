"""Does a column that nobody reads, of an odd type or name, leave a table readable, and a value keep its meaning in any type?"""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvforensics import parquet_tables
from kvforensics.arrow_types import known
from kvforensics.case import Case, CheckOptions
from kvforensics.cells import records
from kvforensics.csv_rows import sniff_dialect
from kvforensics.parquet_rows import ParquetRows
from test_clashes import MODEL, OTHER, ROW, answers

ROWS = [{**ROW, "id": f"r{i}", "tokens_in": 700_000, "model": MODEL if i % 5 == 0 else OTHER} for i in range(60)]
LONG = 12
"""So many of them are on the model."""
AT = 1_788_338_472_907_000


def written(path: Path, more: dict[str, pa.Array], rows: list[dict[str, Any]] = ROWS) -> Path:
    """The rows as Parquet, with further columns, or others of the same name."""
    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]} | more
    pq.write_table(pa.table(columns), path, row_group_size=20)
    return path


def affected(path: Path) -> tuple[int, int | None]:
    """The bounds of the affected responses."""
    kept, told = answers(path, "open")
    assert told == answers(path, "all")[1]
    assert kept
    responses = told["counts"].responses
    return responses.lower, responses.upper


TYPES: dict[str, Callable[[], pa.Array]] = {
    "an offset for a zone": lambda: pa.array([AT] * 60, pa.timestamp("us", "+05:30")),
    "Z for a zone": lambda: pa.array([AT] * 60, pa.timestamp("us", "Z")),
    "no zone that anybody has": lambda: pa.array([AT] * 60, pa.timestamp("ns", "Mars/Olympus_Mons")),
    "an offset inside": lambda: pa.array([{"t": AT}] * 60, pa.struct([("t", pa.timestamp("us", "+05:30"))])),
    "a wide decimal": lambda: pa.array([Decimal(1)] * 60, pa.decimal256(60, 2)),
    "wide decimals": lambda: pa.array([[Decimal(1)]] * 60, pa.list_(pa.decimal256(60, 2))),
    "a view of a list": lambda: pa.array([[1, 2]] * 60, pa.list_view(pa.int64())),
    "a large view of a list": lambda: pa.array([["a"]] * 60, pa.large_list_view(pa.string())),
    "views inside": lambda: pa.array([[[1]]] * 60, pa.list_(pa.list_view(pa.int64()))),
    "a map to times": lambda: pa.array([[("k", AT)]] * 60, pa.map_(pa.string(), pa.timestamp("us", "+05:30"))),
    "a list of two": lambda: pa.array([[AT, AT]] * 60, pa.list_(pa.timestamp("us", "+05:30"), 2)),
    "JSON": lambda: pa.array(["{}"] * 60, pa.json_(pa.string())),
}


@pytest.mark.parametrize("more", TYPES.values(), ids=list(TYPES))
def test_a_column_of_a_type_that_polars_lacks_leaves_the_others_readable(tmp_path: Path, more: Callable[[], pa.Array]) -> None:
    assert affected(written(tmp_path / "log.parquet", {"beside": more()})) == (LONG, LONG)


@pytest.mark.parametrize("zone", ["+05:30", "Z", "Mars/Olympus_Mons", "Asia/Kolkata", "UTC", "localtime", "posix/UTC", "CET"])
def test_an_instant_is_the_same_whatever_its_zone_is_called(tmp_path: Path, zone: str) -> None:
    times = pa.array([AT] * 60, pa.timestamp("us", zone))
    path = written(tmp_path / "log.parquet", {"created_at": times})
    assert affected(path) == (LONG, LONG)
    found = answers(path, "open")[1]["findings"]
    assert {(f["started_earliest"], f["started_latest"]) for f in found} == {(AT - 1000 * ROW["duration"], AT)}


def test_types_that_polars_has_stay_what_they_are() -> None:
    for kind in (
        pa.string(), pa.timestamp("us"), pa.timestamp("us", "Europe/Paris"), pa.decimal128(38, 2), pa.list_(pa.int8(), 2),
        pa.dictionary(pa.int32(), pa.string()), pa.struct([("a", pa.large_list(pa.int8()))]),
    ):  # fmt: skip
        assert known(kind) == kind
    assert known(pa.dictionary(pa.int32(), pa.timestamp("us", "+01:00"))) == pa.timestamp("us", "UTC")


@pytest.mark.parametrize("name", ["", "^.*$", "^model$", "^t.*$", "*", "^(?!x).*$", "**", "[0]", "~model"])
@pytest.mark.parametrize(
    "more",
    [
        pa.array(["z"] * 60), pa.array([b"z"] * 60), pa.array([AT] * 60, pa.timestamp("us", "UTC")),
        pa.array(["z"] * 60).dictionary_encode(), pa.array([{"a": "z"}] * 60), pa.array([Decimal(1)] * 60), pa.array(range(60)),
    ],
    ids=lambda more: str(more.type)[:20],
)  # fmt: skip
def test_no_name_of_a_column_is_a_pattern(tmp_path: Path, name: str, more: pa.Array) -> None:
    assert affected(written(tmp_path / "log.parquet", {name: more})) == (LONG, LONG)


@pytest.mark.parametrize("bare", [str, str.encode])
@pytest.mark.parametrize(
    ("model", "usage"),
    [
        ("request", lambda m: {"model": m}), ("response", lambda m: {"model": m, "usage": {"prompt_tokens": 700_000}}),
        ("llm", lambda m: {"model": m}), ("request", lambda m: {"model": [m]}),
    ],
)  # fmt: skip
def test_a_name_in_bytes_is_the_name(
    tmp_path: Path, bare: Callable[[str], Any], model: str, usage: Callable[[Any], Any]
) -> None:
    rows = [
        {"request_id": f"r{i}", "started_at": "2026-09-02T08:41:12Z", "status_code": 200, "usage": {"prompt_tokens": 700_000}}
        for i in range(60)
    ]
    path = written(tmp_path / "log.parquet", {model: pa.array([usage(bare(MODEL))] * 60)}, rows)
    assert affected(path)[1] == 60


@pytest.mark.parametrize("kind", [pa.decimal128(30, 0), pa.decimal256(60, 0), pa.uint64(), pa.float64(), pa.string()])
def test_a_count_inside_is_a_count_in_any_type(tmp_path: Path, kind: pa.DataType) -> None:
    count = pa.array([700_000] * 60).cast(pa.decimal128(30, 0) if pa.types.is_decimal(kind) else kind).cast(kind)
    usage = pa.StructArray.from_arrays([count], ["prompt_tokens"])
    rows = [
        {"request_id": f"r{i}", "started_at": "2026-09-02T08:41:12Z", "status_code": 200, "model": MODEL} for i in range(60)
    ]
    assert affected(written(tmp_path / "log.parquet", {"usage": usage}, rows)) == (60, 60)


def test_nested_values_are_what_json_would_have() -> None:
    at = datetime(2026, 9, 1, 12, 0, 0, 5, tzinfo=UTC)
    values = {
        "bytes": b"a\xff", "decimal": Decimal("7.10"), "instant": at, "local": at.replace(tzinfo=None),
        "day": date(2026, 9, 1), "time": time(1, 2), "lasted": timedelta(seconds=1.5), "none": None, "list": [b"b"],
    }  # fmt: skip
    [found] = records(pl.DataFrame({"held": [values]}))
    assert found["held"] == {
        "bytes": "a\ufffd", "decimal": "7.10", "instant": "2026-09-01T12:00:00.000005Z",
        "local": "2026-09-01T12:00:00.000005", "day": "2026-09-01", "time": "01:02:00", "lasted": "1500000us", "none": None,
        "list": ["b"],
    }  # fmt: skip


def test_two_columns_of_one_name_are_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    columns = [*(pa.array([row[name] for row in ROWS]) for name in ROW), pa.array(["x"] * 60)]
    pq.write_table(pa.Table.from_arrays(columns, [*ROW, "model"]), path)
    with Case() as case:
        summary = case.check(CheckOptions(paths=(str(path),))).summary
    assert summary["inputs"][0]["format"] is None
    assert [w["code"] for w in summary["warnings"]] == ["not_understood_mentions_model"]


@pytest.mark.parametrize("place", ["first", "last", "both"])
def test_a_column_without_a_name_leaves_the_others_readable(tmp_path: Path, place: str) -> None:
    before, after = place != "last", place != "first"
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*[""] * before, *ROW, *[""] * after])
        for at, row in enumerate(ROWS):
            cells = [str(v).lower() if isinstance(v, bool) else v for v in row.values()]
            rows.writerow([*[at] * before, *cells, *[""] * after])
    assert affected(path) == (LONG, LONG)


@pytest.mark.parametrize("groups", [20, 60])
def test_what_is_said_of_a_row_does_not_hang_on_the_rows_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    monkeypatch.setattr(parquet_tables, "_CAREFUL_BATCH", 4)
    texts = pa.Array.from_buffers(pa.string(), 60, pa.array([b"\xff"] * 60).buffers())
    odd = pa.array([None] * 59 + [{"a": 1}])
    path = tmp_path / "log.parquet"
    columns = {name: pa.array([row[name] for row in ROWS]) for name in ROW}
    pq.write_table(pa.table({**columns, "note": texts, "request": odd}), path, row_group_size=groups)
    with Case() as case:
        result = case.check(CheckOptions(paths=(str(path),), workers=1))
    assert result.summary["responses"]["affected"] == LONG
    assert result.findings["reasons"].to_pylist() == [[]] * LONG


@pytest.mark.parametrize("first", ["", "28/Aug/2026:10:00:00 +0000"])
def test_a_row_with_gaps_is_no_header(first: str) -> None:
    gaps = f"{first},{MODEL},workers-ai,ten-a,,ok,\n"
    rows = "".join(f"2026-08-20T00:00:0{n}Z,{MODEL},workers-ai,ten-b,1200,200,r{n}\n" for n in range(9))
    found = sniff_dialect((gaps + rows).encode())
    assert found is not None
    assert not found.header


@pytest.mark.parametrize("text", [str, str.encode])
@pytest.mark.parametrize(
    ("more", "bounds"), [([], (60, 60)), ([700_000], (60, 60)), ([1_200], (0, 60)), ([1_200, 700_000], (0, 60))],
)  # fmt: skip
def test_a_key_that_a_map_gives_twice_with_different_values_is_unknown(
    tmp_path: Path, text: Callable[[str], Any], more: list[int], bounds: tuple[int, int]
) -> None:
    entries = [(text("completion_tokens"), 5), *((text("prompt_tokens"), count) for count in (700_000, *more))]
    usage = pa.array([entries] * 60, pa.map_(pa.string() if text is str else pa.binary(), pa.int64()))
    rows = [
        {"request_id": f"r{i}", "started_at": "2026-09-02T08:41:12Z", "status_code": 200, "model": MODEL} for i in range(60)
    ]
    assert affected(written(tmp_path / "log.parquet", {"usage": usage}, rows)) == bounds


def test_maps_are_objects_wherever_they_are(tmp_path: Path) -> None:
    entries = pa.map_(pa.string(), pa.int64())
    table = pa.table({
        "map": pa.array([[("a", 1), ("b", 2), ("a", 1)], None], entries),
        "struct": pa.array([{"of": [("a", 1), ("a", 2)]}, {"of": None}], pa.struct([("of", entries)])),
        "list": pa.array([[[("a", 1)], None], []], pa.list_(entries)),
        "deep": pa.array([[("a", [("b", 2)])], []], pa.map_(pa.string(), entries)),
        "keys": pa.array([[({"a": 1}, 2)], None], pa.map_(pa.struct([("a", pa.int64())]), pa.int64())),
        "pairs": pa.array([[{"key": "a", "value": 1}], None]),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "maps.parquet")
    with ParquetRows(str(tmp_path / "maps.parquet")) as rows:
        [frame] = rows.frames(rows.empty.columns, 9)
    assert list(records(frame)) == [
        {"map": {"a": 1, "b": 2}, "struct": {"of": {"a": None}}, "list": [{"a": 1}, None], "deep": {"a": {"b": 2}},
         "keys": {'{"a":1}': 2}, "pairs": [{"key": "a", "value": 1}]},
        {"map": None, "struct": {"of": None}, "list": [], "deep": {}, "keys": None, "pairs": None},
    ]  # fmt: skip
