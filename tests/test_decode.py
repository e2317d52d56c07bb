"""A broken field is not a broken record, and a reject has a named reason."""

from __future__ import annotations

import pytest

from kvforensics.decode import decode_unit, may_repeat_keys, repeated_keys, told_once


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1', "truncated"),
        (b'{"a": "x', "truncated"),
        (b'{"a": }', "syntax"),
        (b"2026-09-05 ERROR upstream", "syntax"),
        (b'["a"]', "not_an_object"),
        (b"7", "not_an_object"),
        (b'{"a": "\xff', "encoding"),
        (b'{"a": "x\x00y"}', "syntax"),
        (b'{"a":' * 100_000, "too_deep"),
    ],
)
def test_what_is_no_record_is_rejected_with_a_reason(data: bytes, reason: str) -> None:
    assert decode_unit(data).reject == reason


@pytest.mark.parametrize(
    ("data", "value", "reasons"),
    [
        (b'{"a": NaN, "b": 1}', {"a": None, "b": 1}, ("not_a_number:NaN",)),
        (b'{"a": "\xff", "b": "ok"}', {"a": None, "b": "ok"}, ("invalid_utf8",)),
        (b'{"a": "\\ud800", "b": 1}', {"a": None, "b": 1}, ()),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}, ()),
    ],
)
def test_a_broken_field_leaves_the_record(data: bytes, value: object, reasons: tuple[str, ...]) -> None:
    decoded = decode_unit(data)
    assert (decoded.value, decoded.reasons, decoded.reject) == (value, reasons, None)


def test_a_key_given_twice_with_different_values_is_unknown() -> None:
    data = b'{"tokens": 700000, "tokens": 5, "tokens": 700000, "ok": 1, "ok": 1}'
    assert may_repeat_keys(data, decode_unit(data).value)
    assert repeated_keys(data) == ({"tokens": None, "ok": 1}, ("tokens",))


def test_a_key_given_twice_in_one_object_is_not_unknown_in_another() -> None:
    assert repeated_keys(b'[{"v":1,"v":2,"v":2},{"v":3}]') == ([{"v": None}, {"v": 3}], ("v",))


@pytest.mark.parametrize("data", [b'{"a" :1,"b":2,"b":3}', b'{"a\\\\":1,"b":2,"b":3}', b'{"a":{"b":2,"b":3}}'])
def test_the_cheap_look_for_repeated_keys_never_misses_one(data: bytes) -> None:
    assert may_repeat_keys(data, decode_unit(data).value)


def test_a_value_that_tells_each_key_once_stays_itself_and_an_added_key_stays_in_it() -> None:
    plain, twice = b'{"a":1,"b":{"c":2}}', b'{"a":1,"b":2,"b":3}'
    value = {**decode_unit(plain).value, "more": {"x": 1}}
    assert told_once(plain, value, "more") == (value, ())
    assert told_once(twice, {"a": 1, "b": 3, "more": 4}, "more") == ({"a": 1, "b": None, "more": 4}, ("b",))
    assert told_once(twice, {"a": 1, "b": 3}) == ({"a": 1, "b": None}, ("b",))
