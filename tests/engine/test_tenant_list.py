"""Does a list of tenants name the right requests, and only those?"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from kvforensics.engine.tenant_list import read_tenants
from kvforensics.errors import UsageError

ROOM = (1 << 62) + 1


def rows() -> pl.DataFrame:
    return pl.DataFrame(
        {"rid": ["a", "b", None, "zz", "c"], "room": [1, 2, ROOM, ROOM + 1, None], "tenant": ["own", None, None, "own", None]}
    ).with_columns(pl.col("tenant").cast(pl.Categorical()))


@pytest.mark.parametrize(
    ("text", "tenants"),
    [
        ("rid,tenant\nb,old\nb,blue\na,red\nq,x\nc,\n", ["red", "blue", None, "own", None]),
        (f"\ufeffbootstrap_room,tenant\n{ROOM},red\n2,blue\nx,y\n{1 << 64},z\n", ["own", "blue", "red", "own", None]),
        (f"bootstrap_room,rid,tenant\n{ROOM},,red\n1,zz,blue\n", ["blue", None, "red", "blue", None]),
    ],
    ids=["by id", "by room", "by both"],
)
def test_a_list_names_requests_by_id_before_room_and_leaves_the_others(
    tmp_path: Path, text: str, tenants: list[str | None]
) -> None:
    (tmp_path / "tenants.csv").write_text(text, encoding="utf-8")
    assert read_tenants(tmp_path / "tenants.csv").named(rows())["tenant"].to_list() == tenants


@pytest.mark.parametrize("data", [b"", b"rid,name\na,b\n", b"rid,tenant\na,\n", b"\xff\xfe\x00", b"rid,rid\na,b\n"])
def test_a_file_that_names_nobody_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "tenants.csv").write_bytes(data)
    with pytest.raises(UsageError):
        read_tenants(tmp_path / "tenants.csv")
