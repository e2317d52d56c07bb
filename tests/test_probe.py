"""The probe agrees with the careful parser on every line, however the neighbours are broken."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.decode import decode_unit
from kvforensics.probe import Probe


class Line(msgspec.Struct):
    """What is read of a line."""

    model: str | None = None
    at: str | int | None = None


GOOD = st.builds(
    lambda model, at, pad: json.dumps({"model": model, "at": at, "pad": pad}).encode(),
    st.sampled_from(["m", "n", None]), st.sampled_from(["2026-09-01T00:00:00Z", 1788220800, None]), st.text(max_size=5),
)  # fmt: skip
BAD = st.sampled_from(
    [
        b'{"a":[{"b":1}', b'{"c":2}]}', b'{"x":1},{"y":2}', b'{"model":"m"', b"", b"  ", b'"text"', b"[1]", b"\xff",
        b'{"model":{}}', b"null",
    ]
)


@given(st.lists(GOOD | BAD, min_size=1, max_size=40))
def test_a_line_that_the_probe_reads_is_a_record_with_that_model(lines: list[bytes]) -> None:
    rows, whole = Probe(Line).block(b"\n".join(lines) + b"\n", b"\n", len(lines))
    assert whole == (None not in rows)
    for line, row in zip(lines, rows, strict=True):
        decoded = decode_unit(line)
        if row is not None:
            assert decoded.reject is None
            assert (decoded.value.get("model"), decoded.value.get("at")) == (row.model, row.at)
        elif decoded.reject is None:
            assert not isinstance(decoded.value.get("model"), str)
