"""Reading by shape gives what looking up gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvforensics.paths import compile_path, lookup
from kvforensics.shapes import Uncacheable, places, shape_of, value_at

KEYS = st.sampled_from(["model", "Model", "usage", "prompt_tokens", "a", "a.b", "b", "status_code", "StatusCode"])
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | st.sampled_from(["x", '{"model": 1}']),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3), max_leaves=12,
)  # fmt: skip
RECORDS = st.dictionaries(KEYS, VALUES, max_size=5)
PATHS = [
    "model", "~model", "**.model", "**.~model", "**.usage.prompt_tokens", "a.b", "**.a.b", "a[1].b", "**.~statuscode",
    "usage.**.b",
]  # fmt: skip


@given(RECORDS, st.sampled_from(PATHS))
def test_the_first_place_that_is_not_null_is_what_lookup_finds(record: dict[str, Any], path: str) -> None:
    steps = compile_path(path)
    try:
        shape_of(record)
    except Uncacheable:
        return
    values = (value_at(record, place) for place in places(record, steps))
    assert next((v for v in values if v is not None), None) == lookup(record, steps)


@given(RECORDS, RECORDS)
def test_records_of_one_shape_have_their_fields_at_the_same_places(one: dict[str, Any], two: dict[str, Any]) -> None:
    try:
        same = shape_of(one) == shape_of(two)
    except Uncacheable:
        return
    if same:
        for path in PATHS:
            steps = compile_path(path)
            assert list(places(one, steps)) == list(places(two, steps))
