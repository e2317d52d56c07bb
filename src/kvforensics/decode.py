"""What JSON value do these bytes hold, and what is wrong with them?

The fast parser reads nearly every unit. What it refuses gets a second opinion from the standard library, so that a
broken field (NaN, a huge integer, a stray byte) does not cost the record, and a reject always has a named reason.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Struct

_decode = msgspec.json.Decoder().decode


class Decoded(Struct, frozen=True):
    """A value with the reasons why parts of it are unknown, or no value and the reason of the reject."""

    value: Any = None
    reasons: tuple[str, ...] = ()
    reject: str | None = None


def decode_unit(data: bytes) -> Decoded:
    """Decode one unit strictly."""
    try:
        value = _decode(data.decode("utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _second_opinion(data)
    if type(value) is dict:
        return Decoded(value)
    return Decoded(reject="not_an_object")


def _second_opinion(data: bytes) -> Decoded:
    reasons: list[str] = []
    try:
        text = data.decode("utf-8")
        stray = False
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        stray = True
        reasons.append("invalid_utf8")
    try:
        value = json.loads(text, parse_constant=lambda name: reasons.append(f"not_a_number:{name}"))
    except RecursionError:
        return Decoded(reject="too_deep")
    except ValueError as error:
        return Decoded(reject=_why(text, error, stray=stray))
    if type(value) is not dict:
        return Decoded(reject="not_an_object")
    try:
        return Decoded(_readable(value, stray=stray), tuple(dict.fromkeys(reasons)))
    except RecursionError:
        return Decoded(reject="too_deep")


def _why(text: str, error: ValueError, *, stray: bool) -> str:
    if stray:
        return "encoding"
    at_end = isinstance(error, json.JSONDecodeError) and error.pos >= len(text.rstrip())
    open_string = isinstance(error, json.JSONDecodeError) and error.msg.startswith("Unterminated string")
    return "truncated" if text.lstrip()[:1] in ("{", "[") and (at_end or open_string) else "syntax"


def _readable(value: Any, *, stray: bool) -> Any:
    """The value with texts that no text column can hold set to unknown."""
    if type(value) is dict:
        return {str(_text(k, stray=stray)): _readable(v, stray=stray) for k, v in value.items()}
    if type(value) is list:
        return [_readable(v, stray=stray) for v in value]
    return _text(value, stray=stray) if type(value) is str else value


def _text(value: str, *, stray: bool) -> str | None:
    if stray and "\ufffd" in value:
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return value


def count_keys(value: Any) -> int:
    """How many keys a decoded value has, at all depths."""
    count, inner = (len(value), value.values()) if type(value) is dict else (0, value)
    for held in inner:
        if type(held) is dict or type(held) is list:
            count += count_keys(held)
    return count


def may_repeat_keys(data: bytes, value: Any) -> bool:
    """Whether the bytes hold more keys than the decoded value kept: cheap, and never wrongly no."""
    if b"\\\\" in data or b" :" in data or b"\t:" in data or b"\n:" in data or b"\r:" in data:
        return True
    try:
        return data.count(b'":') - data.count(b'\\":') != count_keys(value)
    except RecursionError:
        return True


def repeated_keys(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """The value with keys that are given twice with different values set to unknown, and their names."""
    names: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key, value in items:
            if key in built and built[key] != value:
                names.append(key)
                built[key] = None
            else:
                built[key] = value
        return built

    try:
        value = json.loads(data, object_pairs_hook=pairs, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None, ()
    return _readable(value, stray=False), tuple(dict.fromkeys(names))


def told_once(data: bytes, value: Any, added: str | None = None) -> tuple[Any, tuple[str, ...]]:
    """The value of the bytes with keys that are given twice with different values set to unknown, and their names.

    `added` is a key of the value that is not in the bytes.
    """
    own = {k: v for k, v in value.items() if k != added} if added is not None and added in value else value
    if not may_repeat_keys(data, own):
        return value, ()
    again, names = repeated_keys(data)
    return ({**again, added: value[added]} if names and own is not value else again), names


def once(data: bytes, value: Any) -> tuple[Any, tuple[str, ...]]:
    """The decoded value with keys that are given twice with different values set to unknown, and the reasons."""
    if not may_repeat_keys(data, value):
        return value, ()
    read, names = repeated_keys(data)
    return (read, tuple(f"repeated_key:{n[:64]}" for n in names)) if names else (value, ())
