"""Units in JSON documents."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics import json_scan
from kvforensics.envelope import compile_envelope
from kvforensics.framing_json import Framing, Item, Reject, Unit, json_units

PATHS = ("result[]", "data.*[].rows[]", "result", "[]", "")


class Dribble:
    """A stream that gives pieces of its own size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._pieces = [data[i : i + size] for i in range(0, len(data), size)]

    def read(self, _size: int = -1, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


class Halves:
    """A stream in two pieces."""

    def __init__(self, data: bytes, cut: int) -> None:
        self._pieces = [p for p in (data[:cut], data[cut:]) if p]

    def read(self, _size: int = -1, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def units(data: bytes, *paths: str, cap: int = 1 << 20) -> list[Item]:
    return list(json_units(io.BytesIO(data), paths, unit_cap=cap))


def texts(items: list[Item]) -> list[bytes | str]:
    return [i.data if isinstance(i, Unit) else i.reason if isinstance(i, Reject) else "framing" for i in items]


CASES: list[tuple[bytes, tuple[str, ...], list[bytes | str]]] = [
    (b'[{"a":1}, {"b":"}{]"} ,3,"x"]', ("[]",), [b'{"a":1}', b'{"b":"}{]"}', b"3", b'"x"']),
    (b'{"ok":true,"result":[{"a":[1,{}]},{}],"n":1}', ("result[]",), [b'{"a":[1,{}]}', b"{}"]),
    (b'{"result":{"a":1},"ok":true}', ("result[]", "result"), [b'{"a":1}']),
    (b'{"result":null}', ("result[]", "result"), [b'{"result":null}']),
    (b'{"result":[],"ok":1}', ("result[]", "result"), [b'{"result":[],"ok":1}']),
    (b"[]", ("[]",), []),
    (b'[{"a":1}]', ("[].spans[]",), [b'[{"a":1}]']),
    (b'[{"a":1},{"spans":[2,3]}]', ("[].spans[]", "[]"), [b'{"a":1}', b"2", b"3"]),
    (b'{"a":1}{"b":2}\n[3],{\n "c": 4\n}', ("",), [b'{"a":1}', b'{"b":2}', b"[3]", b'{\n "c": 4\n}']),
    (b'{"a":1}\n{"result":[{"b":2}]}\n', ("result[]", "[]", ""), [b'{"a":1}', b'{"b":2}']),
    (
        b'{"d":{"v":{"acc":[{"g1":[{"x":1},{"x":2}],"n":5},{"g2":[{"x":3}]}]}}}',
        ("d.v.acc[].*[]",),
        [b'{"x":1}', b'{"x":2}', b'{"x":3}'],
    ),
    (b'{"r\\u0065sult":[{"a":1}]}', ("result[]",), [b'{"a":1}']),
    (b'{"hits":{"total":2,"hits":[{"_id":1},{"_id":2}]}}', ("hits.hits[]",), [b'{"_id":1}', b'{"_id":2}']),
    (b'{"result":{"n":1}}', ("result.items[]", "result"), [b'{"n":1}']),
    (b'{"result":{"n":1,"items":[{"i":2}]}}', ("result.items[]", "result"), [b'{"i":2}']),
    (b'Connected, waiting...\nmore\n{"a":1}', ("",), ["framing", b'{"a":1}']),
    (b'{"a":1} trailing {"b":2}\n{"c":3}', ("",), [b'{"a":1}', "syntax", b'{"c":3}']),
    (b"no json here", ("",), ["syntax"]),
    (b'{"result":[{"a":1},{"b":', ("result[]",), [b'{"a":1}', "truncated"]),
    (b'{"result":[{"a":1}', ("result[]",), [b'{"a":1}', "truncated"]),
    (b'[{"a":1},{"b":"unclosed', ("[]",), [b'{"a":1}', "truncated"]),
    (b'{"a":1', ("",), ["truncated"]),
    (b'{"a":1', ("b[]",), ["truncated"]),
    (b'{"result":[{"a":1}}, {"b":1}\n{"c":1}', ("result[]",), [b'{"a":1}', "syntax", b'{"c":1}']),
    (b'{oops}\n{"c":1}', ("result[]",), ["syntax", b'{"c":1}']),
    (b"", ("",), []),
    (b" \r\n\t,\x1e", ("",), []),
    (b"\xef\xbb\xbf[1]", ("[]",), [b"1"]),
    (b'{"a":"\xff\x00"}', ("",), [b'{"a":"\xff\x00"}']),
    (b"[]]\n[7]", ("[]",), ["syntax", b"7"]),
    (b'{"a" 1}\n{"b":1}', ("x[]",), ["syntax", b'{"b":1}']),
    (b'{"a":}\n{"b":1}', ("x[]",), ["syntax", b'{"b":1}']),
]


@pytest.mark.parametrize(("data", "paths", "wanted"), CASES)
def test_units_and_rejects_come_out_as_told_wherever_the_stream_is_cut(
    data: bytes, paths: tuple[str, ...], wanted: list[bytes | str]
) -> None:
    whole = units(data, *paths)
    assert texts(whole) == wanted
    assert [i.ordinal for i in whole] == list(range(1, len(whole) + 1))
    for cut in range(len(data) + 1):
        assert list(json_units(Halves(data, cut), paths)) == whole
    assert list(json_units(Dribble(data, 1), paths)) == whole


@given(
    st.lists(
        st.sampled_from(
            [b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b" ", b"a", b'"result"', b'"a":1', b"\xff"]
        ),
        max_size=40,
    ).map(b"".join),
    st.integers(1, 7),
)
def test_any_bytes_give_disjoint_stretches_of_the_input_the_same_in_any_pieces(data: bytes, size: int) -> None:
    items = units(data, *PATHS)
    assert list(json_units(Dribble(data, size), PATHS)) == items
    at = 0
    for item in items:
        length = len(item.data) if isinstance(item, Unit) else item.length
        assert at <= item.offset
        assert item.offset + length <= len(data)
        if not isinstance(item, Framing):
            assert data[item.offset : item.offset + length].startswith(item.data)
        at = item.offset + length


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON, min_size=1, max_size=8), st.sampled_from([None, 1]), st.integers(1, 50))
def test_the_elements_of_an_array_come_back(values: list[Any], indent: int | None, size: int) -> None:
    data = json.dumps({"n": [1, {"result": [1]}], "result": values, "m": {}}, indent=indent).encode()
    found = list(json_units(Dribble(data, size), ("result[]",)))
    assert [json.loads(u.data) for u in found if isinstance(u, Unit)] == values
    assert len(found) == len(values)


@given(
    st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=1, max_size=8),
    st.sampled_from(["", "\n", " ,\n", "\r\n"]),
    st.integers(1, 50),
)
def test_documents_one_after_the_other_come_back(values: list[Any], gap: str, size: int) -> None:
    data = gap.join(json.dumps(v) for v in values).encode()
    found = list(json_units(Dribble(data, size)))
    assert [json.loads(u.data) for u in found if isinstance(u, Unit)] == values
    assert [u.document_index for u in found if isinstance(u, Unit)] == list(range(len(values)))


@pytest.mark.parametrize(
    ("opening", "gap", "closing", "paths"),
    [
        ("[", ", ", "]", ("[]",)),
        ("[\n", "\n ,", "\n]", ("[]", "")),
        ("", "\n", "\n", ("x[]", "[]", "")),
        ("", "", "", ("",)),
    ],
)
def test_long_runs_come_out_like_one_by_one(opening: str, gap: str, closing: str, paths: tuple[str, ...]) -> None:
    values = [
        {"id": i, "t": 'x"}, {"id": ' * (i % 7), "m": [{"id": 1}, {"id": 2}], "y": [] if i % 3 else None, "x": []}
        for i in range(3000)
    ]
    data = (opening + gap.join(json.dumps(v) for v in values) + closing).encode()
    fast = list(json_units(io.BytesIO(data), paths))
    slow = list(json_units(Dribble(data, 777), paths))
    assert fast == slow
    assert [json.loads(u.data) for u in fast if isinstance(u, Unit)] == values
    assert all(data[u.offset : u.offset + len(u.data)] == u.data for u in fast if isinstance(u, Unit))


def test_an_envelope_among_plain_documents_is_opened_even_in_a_long_run() -> None:
    plain = [json.dumps({"id": i, "t": "y" * 50}) for i in range(2000)]
    plain[1500] = json.dumps({"id": 1, "result": [{"id": 2}]})
    plain[1700] = '{"id": 1, "\\u0072esult": [{"id": 3}]}'
    found = units("\n".join(plain).encode(), "result[]", "")
    assert len(found) == 2000
    assert {texts(found)[1500], texts(found)[1700]} == {b'{"id": 2}', b'{"id": 3}'}


def test_a_broken_element_does_not_spoil_a_long_run() -> None:
    parts = [json.dumps({"id": i, "t": "y" * 50}) for i in range(2000)]
    parts[1000] = '{"id": 1 broken, "t": nan}'
    found = units(("[" + ",".join(parts) + "]").encode(), "[]")
    assert texts(found) == [p.encode() for p in parts]


def test_the_members_of_enclosing_objects_before_a_unit_are_its_context() -> None:
    data = (
        b'{"resourceSpans":[{"resource":{"k":1},"scopeSpans":[{"scope":2,"spans":[{"s":1},{"s":2}]},{"spans":[{"s":3}]}]},'
        b'{"scopeSpans":[{"spans":[{"s":4}]}]}]}'
    )
    found = [u for u in units(data, "resourceSpans[].scopeSpans[].spans[]") if isinstance(u, Unit)]
    assert [u.context for u in found] == [
        (b"{}", b'{"resource":{"k":1}}', b'{"scope":2}'),
        (b"{}", b'{"resource":{"k":1}}', b'{"scope":2}'),
        (b"{}", b'{"resource":{"k":1}}', b"{}"),
        (b"{}", b"{}", b"{}"),
    ]


def test_a_member_of_more_than_64_kib_is_no_context() -> None:
    data = b'{"big":"' + b"x" * 70_000 + b'","small":1,"r":[{"a":1}]}'
    [unit] = units(data, "r[]")
    assert isinstance(unit, Unit)
    assert unit.context == (b'{"small":1}',)


@pytest.mark.parametrize(("paths", "wanted"), [(("[]",), [b"1", "too_deep", b"2"]), (("",), ["too_deep"])])
def test_a_unit_that_is_too_deep_is_rejected_and_the_next_is_read(
    paths: tuple[str, ...], wanted: list[bytes | str]
) -> None:
    data = b"[1," + b"[" * 600 + b"]" * 600 + b",2]"
    assert texts(units(data, *paths)) == wanted
    assert texts(list(json_units(Dribble(data, 100), paths))) == wanted


def test_depth_is_limited_in_long_runs_too() -> None:
    deep = b'{"id":' + b"[" * 600 + b"]" * 600 + b"}"
    parts = [b'{"id":%d}' % i for i in range(3000)]
    parts[2000] = deep
    assert texts(units(b"[" + b",".join(parts) + b"]", "[]"))[2000] == "too_deep"


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_a_unit_over_the_cap_is_rejected_and_the_next_is_read(size: int) -> None:
    data = b'[{"a":"' + b"x" * 2000 + b'"},{"b":1}]'
    found = list(json_units(Dribble(data, size), ("[]",), unit_cap=1000))
    assert texts(found) == ["oversize", b'{"b":1}']
    assert isinstance(found[0], Reject)
    assert (found[0].offset, found[0].length) == (1, 2008)


@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_a_document_over_the_cap_is_opened_where_a_path_matches_and_rejected_where_none_does(size: int) -> None:
    members = b",".join(b'"k%d":"%s"' % (i, b"x" * 100) for i in range(40))
    found = list(json_units(Dribble(b"{" + members + b',"result":[{"a":1}]}', size), ("result[]",), unit_cap=1000))
    assert texts(found) == [b'{"a":1}']
    found = list(json_units(Dribble(b"{" + members + b"}", size), ("result[]",), unit_cap=1000))
    assert texts(found) == ["oversize"]


def test_memory_does_not_grow_with_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0
    grow = json_scan.Window.more

    def watched(self: json_scan.Window) -> bool:
        nonlocal most
        answer = grow(self)
        most = max(most, len(self.buf))
        return answer

    monkeypatch.setattr(json_scan.Window, "more", watched)
    data = b'{"head":"' + b"h" * 300_000 + b'","result":[' + b",".join([b'{"a":"%s"}' % (b"x" * 1000)] * 3000) + b"]}"
    assert sum(1 for _ in json_units(Dribble(data, 10_000), ("result[]",))) == 3000
    assert most < 330_000


@pytest.mark.parametrize(
    ("path", "steps"),
    [("", ()), ("[]", ("[]",)), ("a.b[].*[]", ("a", "b", "[]", "*", "[]")), ("a[][]", ("a", "[]", "[]"))],
)
def test_envelope_paths_compile_to_steps(path: str, steps: tuple[str, ...]) -> None:
    assert compile_envelope(path) == steps


@pytest.mark.parametrize("size", [7, 100, 1 << 20])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a]":', b"}"), (b'[1,"}",', b',"{"]')])
def test_a_very_deep_value_is_passed_by_runs_of_brackets_and_ends_at_its_own(
    opening: bytes, closing: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    byte = json_scan.Window.byte
    def looked_at(window: json_scan.Window, at: int) -> int:
        looks.append(at)
        return byte(window, at)

    monkeypatch.setattr(json_scan.Window, "byte", looked_at)
    value = opening * 3000 + b"1" + closing * 3000
    data = value + b"]" * 20
    window = json_scan.Window(Dribble(data, size))
    window.more()
    assert json_scan.ValueScan(window, 0, 1 << 20).end == len(value)
    assert len(looks) < 20 + 4 * len(data) // size
