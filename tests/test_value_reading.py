"""Does a reading take what it should of a value, and nothing else?"""

from __future__ import annotations

from typing import Any

import pytest

from kvforensics.value_reading import read_value

SUFFIX = "/^(.+)_cache_hit[0-9.]+$/"
BUCKETS = "+input_* cache_* !input_tokens"


@pytest.mark.parametrize(
    ("value", "reading", "expected"),
    [
        ("chatcmpl-1_cache_hit1788757800.214", SUFFIX, "chatcmpl-1"),
        ("chatcmpl-1", SUFFIX, None),
        (None, SUFFIX, None),
        ("", SUFFIX, None),
        ("a/b", "/^(.+)/b$/", "a"),
        (True, "/^true$/=cancelled", "cancelled"),
        ("false", "/^true$/=cancelled", None),
        ("00000000-0000", "/^([0-9-]*[1-9][0-9-]*)$/", None),
    ],
)
def test_an_expression_gives_its_group_or_our_word(value: Any, reading: str, expected: str | None) -> None:
    assert read_value(value, reading) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"input": 9, "input_cached_tokens": 4, "cache_read_input_tokens": 5}, "9"),
        ({"input": 9, "input_tokens": 4}, None),
        ({"input_a": "4", "input_b": 5.0}, "9"),
        ('{"input_a": 4, "cache_b": null}', "4"),
        ({"input_a": 4, "input_b": -1}, "-1"),
        ({"input_a": "many", "input_b": 1}, "many"),
        ({"input_a": 0}, "0"),
        ([1], None),
        ("text", None),
        (None, None),
    ],
)
def test_members_are_added_up_and_one_that_is_no_count_makes_the_sum_unreadable(value: Any, expected: str | None) -> None:
    assert read_value(value, BUCKETS) == expected


def test_a_hostile_text_is_looked_at_only_so_far() -> None:
    assert read_value("a" * 10_000_000 + "_cache_hit1", SUFFIX) is None
