"""Is the store locked before anything runs in it?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from kvforensics.catalog import parse_query
from kvforensics.errors import KvForensicsError, UsageError
from kvforensics.store import Store

HEADER = "-- title: t\n-- question: q?\n-- parameters: {}\n-- limits: none\n"
NUMBERS = pa.table({"x": [1, 2, 3]})


def ask(sql: str, parameters: str = "none"):  # type: ignore[no-untyped-def]
    return parse_query("000_test", (HEADER.format(parameters) + sql).encode())


def test_tables_and_data_sets_are_read_by_the_names_they_are_given(tmp_path: Path) -> None:
    pq.write_table(NUMBERS, tmp_path / "numbers.parquet")
    with Store() as store:
        store.register("numbers", NUMBERS)
        assert store.run(ask("SELECT sum(x)::BIGINT AS s FROM numbers")).to_pylist() == [{"s": 6}]
        store.register("numbers", pads.dataset(tmp_path / "numbers.parquet"))
        assert store.run(ask("SELECT max(x) AS m FROM numbers WHERE x < $y", "y"), {"y": 3}).to_pylist() == [{"m": 2}]


def test_a_query_s_answer_can_be_kept_as_a_table(tmp_path: Path) -> None:
    with Store(spool=tmp_path, memory_bytes=256 << 20, threads=2) as store:
        store.register("numbers", NUMBERS)
        store.create_table_as("big", ask("SELECT x FROM numbers WHERE x > $y", "y"), {"y": 1})
        assert store.run(ask("SELECT count(*) AS n FROM big")).to_pylist() == [{"n": 2}]
        store.drop("big")
        with pytest.raises(KvForensicsError, match="big"):
            store.run(ask("SELECT count(*) AS n FROM big"))


@pytest.mark.parametrize(
    "sql",
    ["SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "SELECT content FROM read_text('/etc/passwd')",
     "SELECT * FROM glob('/*')", "SELECT * FROM NUMBERS_OF_THE_TEST", "SELECT getenv('HOME')"],
)  # fmt: skip
def test_a_query_cannot_reach_out_of_the_store(sql: str) -> None:
    NUMBERS_OF_THE_TEST = NUMBERS  # noqa: F841, N806 - a local that a replacement scan would find
    with Store() as store, pytest.raises(UsageError):
        store.select(sql)


@pytest.mark.parametrize(
    "sql",
    ["CREATE TABLE t (x INT)", "DROP TABLE numbers", "SET threads = 1", "ATTACH ':memory:' AS b", "INSTALL httpfs",
     "COPY (SELECT 1) TO 'x.csv'", "SELECT 1; SELECT 2", "", "PRAGMA version", "SELEC 1", "INSERT INTO numbers VALUES (1)"],
)  # fmt: skip
def test_a_user_can_run_one_select_and_nothing_else(sql: str) -> None:
    with Store() as store:
        store.register("numbers", NUMBERS)
        with pytest.raises(UsageError):
            store.select(sql)
        assert store.select("SELECT count(*) AS n FROM numbers").to_pylist() == [{"n": 3}]


@pytest.mark.parametrize("name", ["", "a b", 'x"', "X", "1a", "x" * 64])
def test_a_relation_has_a_plain_name(name: str) -> None:
    with Store() as store, pytest.raises(KvForensicsError):
        store.register(name, NUMBERS)


def test_the_configuration_stays_locked() -> None:
    with Store() as store:
        with pytest.raises(KvForensicsError, match="lock"):
            store.create_table_as("t", ask("SELECT 1 AS x; SET enable_external_access = true"))
        names = ("enable_external_access", "lock_configuration", "TimeZone", "autoload_known_extensions")
        found = {n: store.select(f"SELECT current_setting('{n}') AS v").to_pylist()[0]["v"] for n in names}
    assert found == {
        "enable_external_access": False, "lock_configuration": True, "TimeZone": "UTC", "autoload_known_extensions": False,
    }  # fmt: skip


def test_nothing_is_drawn_on_standard_output_where_the_program_looks_interactive() -> None:
    asked = "SELECT current_setting('enable_progress_bar') AS v"
    program = f'from kvforensics.store import Store; print(Store().select("{asked}").to_pylist())'
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "[{'v': False}]\n"


def test_a_spool_folder_with_a_quote_in_its_name_works(tmp_path: Path) -> None:
    spool = tmp_path / "it's"
    spool.mkdir()
    with Store(spool=spool) as store:
        assert store.select("SELECT 1 AS x").to_pylist() == [{"x": 1}]
