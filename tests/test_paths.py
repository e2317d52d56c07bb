"""Paths find a field wherever loggers put it."""

from __future__ import annotations

from typing import Any

import pytest

from kvforensics.paths import compile_path, lookup, text_of


@pytest.mark.parametrize(
    ("record", "path", "expected"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 1}, "a.b", 1),
        ({"x": {"a.b": {"c": 2}}}, "x.a.b.c", 2),
        ({"a": '{"b": 3}'}, "a.b", 3),
        ({"a": [{"b": 4}]}, "a.b", 4),
        ({"a": [{"b": 4}, {"b": 5}]}, "a.b", None),
        ({"a": [{"b": 4}, {"b": 5}]}, "a[1].b", 5),
        ({"h": {"CF-Ray": "r"}}, "h.~cf_ray", "r"),
        ({"a": {"x": {"usage": {"n": 6}}}}, "**.usage.n", 6),
        ({"a": [{"usage": {"n": 7}}]}, "**.usage.n", 7),
        ({"r": 'data: {"i": 1}\n\ndata: {"usage": {"n": 8}}\n\ndata: [DONE]\n'}, "r.usage.n", 8),
        ({"a": "plain"}, "a.b", None),
        ({"a": None}, "a.b", None),
        ({}, "a", None),
    ],
)
def test_a_path_finds_its_field(record: dict[str, Any], path: str, expected: object) -> None:
    assert lookup(record, compile_path(path)) == expected


def test_the_shallowest_match_wins_at_any_depth() -> None:
    record = {"deep": {"deeper": {"model": "inner"}}, "near": {"model": "outer"}}
    assert lookup(record, compile_path("**.model")) == "outer"


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), ("", None), (None, None), (True, "true"), (7, "7"), (7.5, "7.5"), ({"a": 1}, '{"a":1}')],
)
def test_values_become_canonical_text(value: object, text: str | None) -> None:
    assert text_of(value) == text
