"""A unit is seen as an object that paths can be tried on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.terms import compile_term, compile_terms, meets
from kvforensics.views import VIEWS, attribute, attributes, hex_id, view

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(
        ["attributes", "key", "value", "traceId", "spanId", "name", "op_name", "summary", "usage", "arrayValue", "values"]
    ), inner, max_size=5),
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "held"),
    [
        ({"stringValue": "a"}, "a"), ({"intValue": "12"}, "12"), ({"intValue": 12}, 12), ({"doubleValue": 0.5}, 0.5),
        ({"boolValue": True}, True), ({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": 1}]}}, ["a", 1]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}}, {"k": "v"}),
        ({"string_value": "a"}, "a"), ({}, None), ("plain", "plain"), ({"other": 1}, {"other": 1}),
    ],
)  # fmt: skip
def test_an_attribute_holds_one_value(value: object, held: object) -> None:
    assert attribute(value) == held


def test_an_attribute_given_twice_alike_is_known_and_otherwise_unknown() -> None:
    pairs = [{"key": k, "value": {"stringValue": v}} for k, v in (("a", "1"), ("a", "1"), ("b", "1"), ("b", "2"))]
    assert attributes(pairs) == ({"a": "1", "b": None}, ("repeated_key:b",))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("5B8EFFF798038103", "5b8efff798038103"), ("k8tD1cRXhQFvQZOwrrqXhg==", "93cb43d5c45785016f4193b0aeba9786"),
        ("eg4svb2yTnc=", "7a0e2cbdbdb24e77"), ("", None), (7, None), ("no base64 at all, hmm=", "no base64 at all, hmm="),
    ],
)  # fmt: skip
def test_ids_are_compared_as_lower_case_hex(text: object, read: object) -> None:
    assert hex_id(text) == read


def test_a_span_has_its_own_fields_apart_from_attributes_of_the_same_name() -> None:
    raw = {"traceId": "A", "spanId": "B", "name": "n", "attributes": [{"key": "span", "value": {"stringValue": "x"}}]}
    seen, _ = view(
        VIEWS, raw, (b'{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"h"}}]}}', b"{}")
    )
    assert seen["span"]["traceId"] == "a"
    assert seen["resource"] == {"host.name": "h"}


def test_what_a_caller_says_in_metadata_is_seen_as_metadata() -> None:
    pairs = [{"key": "traceloop.association.properties.team", "value": {"stringValue": "t"}}]
    assert view(VIEWS, {"traceId": "a", "spanId": "b", "name": "n", "attributes": pairs})[0]["metadata"] == {
        "team": "t"
    }


def test_a_time_of_zero_is_unknown() -> None:
    seen, _ = view(VIEWS, {"traceId": "a", "spanId": "b", "startTimeUnixNano": "0"})
    assert seen["span"]["startTimeUnixNano"] is None


@given(JSON)
def test_no_value_breaks_a_view_and_seeing_twice_changes_nothing(value: object) -> None:
    seen, _ = view(VIEWS, value, (b"{", b"[]"))
    again, _ = view(VIEWS, seen)
    assert view(VIEWS, again)[0] == again


def test_deep_values_do_not_break_a_view() -> None:
    deep: dict[str, object] = {"stringValue": "x"}
    for _ in range(500):
        deep = {"arrayValue": {"values": [deep]}}
    assert attribute(deep) is not None


@pytest.mark.parametrize(
    ("term", "record", "holds"),
    [
        ("a.b", {"a": {"b": 0}}, True), ("a.b", {"a.b": 1}, True), ("a", {"a": None}, False), ("!a", {"a": None}, True),
        ("a=LLM", {"a": "llm"}, True), ("a=ai.*", {"a": "ai.x"}, True), ("a=ai.*", {}, False), ("!a=ai.*", {}, True),
        ("!a=ai.*", {"a": "ai.x"}, False), ("a=1", {"a": 1}, True), ("a=llm", {"a": "llm\n"}, False),
    ],
)  # fmt: skip
def test_a_term_holds(term: str, record: object, holds: bool) -> None:
    assert compile_term(term).holds(record) is holds


def test_one_alternative_is_enough_and_needs_all_its_terms() -> None:
    asked = compile_terms((("a", "b"), ("c",)))
    assert [meets(r, asked) for r in ({"a": 1}, {"a": 1, "b": 1}, {"c": 1}, {})] == [False, True, True, False]
