"""Does a packed table give back what was put in, and the rows of one request together?"""

from __future__ import annotations

import polars as pl
import pytest

from kvforensics.engine import packed
from kvforensics.engine.packed import PARTS, Packed

SCHEMA = {"rid": pl.String, "line": pl.Int64, "tenant": pl.Categorical()}


def filled(rows: int) -> Packed:
    """A table of `rows` rows, three of each request, which came in small frames; every fifth has no id."""
    table = Packed(SCHEMA)
    for start in range(0, rows, 7):
        lines = list(range(start, min(start + 7, rows)))
        rids = [None if n % 5 == 0 else f"r{n % (rows // 3)}" for n in lines]
        frame = pl.DataFrame({"rid": rids, "line": lines, "tenant": [f"t{n % 4}" for n in lines]})
        table.add(frame.cast({"tenant": pl.Categorical()}))
    return table


@pytest.mark.parametrize("piece", [10_000, 100])
def test_every_row_comes_back_whole_and_in_parts_that_keep_requests_together(
    monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(packed, "PIECE", piece)
    table = filled(330)
    assert table.parts == (PARTS if piece == 100 else 1)
    assert table.height == 330
    assert sorted(table.whole()["line"]) == list(range(330))
    parts = [table.part(n, PARTS) for n in range(PARTS)]
    assert sorted(line for part in parts for line in part["line"]) == list(range(330))
    homes: dict[str | None, set[int]] = {}
    for number, part in enumerate(parts):
        for rid in part["rid"]:
            homes.setdefault(rid, set()).add(number)
        assert part.drop_nulls("rid").group_by("rid").agg(pl.col("line").diff().drop_nulls().min() > 0)["line"].all()
    assert {len(numbers) for numbers in homes.values()} == {1}


def test_changed_rows_are_all_changed_and_some_columns_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "PIECE", 100)
    changed = filled(330).changed(lambda rows: rows.with_columns(pl.col("line") + 1))
    pieces = list(changed.pieces(("line",)))
    assert {tuple(p.columns) for p in pieces} == {("line",)}
    assert sorted(line for p in pieces for line in p["line"]) == list(range(1, 331))
