"""Is every query file complete, and bound by exactly what it names?"""

from __future__ import annotations

import re

import pytest

from kvforensics.catalog import all_queries, digests, parse_query, query
from kvforensics.errors import KvForensicsError

GOOD = b"-- title: T\n-- question: Q?\n-- parameters: a, b\n-- limits: L\n--   goes on\nSELECT $a AS a, $b AS b\n"


def test_a_header_is_read_to_its_end() -> None:
    found = parse_query("101_good", GOOD)
    assert (found.title, found.question, found.parameters, found.limits) == ("T", "Q?", ("a", "b"), "L goes on")
    assert found.sql == "SELECT $a AS a, $b AS b"
    assert found.bind({"b": 1, "a": None}) == {"a": None, "b": 1}


@pytest.mark.parametrize("values", [None, {"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_exactly_the_named_parameters_are_bound(values: dict[str, int] | None) -> None:
    with pytest.raises(KvForensicsError, match="101_good"):
        parse_query("101_good", GOOD).bind(values)


@pytest.mark.parametrize(
    "data",
    [GOOD.replace(b"-- title: T\n", b""), GOOD.replace(b"a, b", b"a"), GOOD.replace(b"$b", b"1"), GOOD.replace(b"--  ", b"-- "),
     b"SELECT 1"],
)  # fmt: skip
def test_an_incomplete_header_is_refused(data: bytes) -> None:
    with pytest.raises(KvForensicsError):
        parse_query("101_bad", data)


@pytest.mark.parametrize("stem", ["good", "1_good", "101-good", "101_Good"])
def test_a_stem_is_digits_and_words(stem: str) -> None:
    with pytest.raises(KvForensicsError):
        parse_query(stem, GOOD)


def test_a_missing_query_is_named() -> None:
    with pytest.raises(KvForensicsError, match="999_nothing"):
        query("999_nothing")


def test_digests_are_those_of_the_files() -> None:
    assert [stem for stem, _ in digests()] == [q.stem for q in all_queries()]
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for _, digest in digests())


@pytest.mark.parametrize("stem", [q.stem for q in all_queries()])
def test_every_query_is_one_select_with_a_question(stem: str) -> None:
    found = query(stem)
    assert found.question.endswith("?")
    assert ";" not in re.sub(r"--[^\n]*", "", found.sql)
    assert re.match(r"(SELECT|WITH|--)", found.sql)
