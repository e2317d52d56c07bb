"""Splunk's XML export: every result has its place, whatever is broken."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from kvforensics.envelope import Reject
from kvforensics.framing_xml import Result, xml_results
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
CALL = {
    "started_at": "2026-09-02T08:41:12.907Z", "request_id": "r", "tenant": 'a<b&"c"', "model": "@cf/zai-org/glm-5.3",
    "provider": "cloudflare", "status": 200, "usage": {"prompt_tokens": 702114, "completion_tokens": 7},
}  # fmt: skip


def result(number: int, raw: str) -> str:
    marked = escape(raw).replace("cloudflare", '<sg h="1">cloudflare</sg>')
    return (
        f"\t<result offset='{number}'>\n\t\t<field k='_time'>\n\t\t\t<value><text>2026-09-02T10:41:52+02:00</text></value>\n"
        "\t\t</field>\n<field k='tag'><value><text>a</text></value><value><text>b</text></value></field>\n"
        f"\t\t<field k='_raw'><v xml:space='preserve' trunc='0'>{marked}</v></field>\n\t</result>\n"
    )


def document(*results: str, preview: int = 0) -> str:
    meta = "<meta>\n<fieldOrder>\n<field>_raw</field>\n</fieldOrder>\n</meta>\n"
    return f"<?xml version='1.0' encoding='UTF-8'?>\n<results preview='{preview}'>\n{meta}{''.join(results)}</results>\n"


def event(number: int, **more: Any) -> str:
    return result(number, json.dumps({**CALL, "request_id": f"r{number}", **more}))


def read(folder: Path, data: bytes) -> Any:
    path = folder / "export.xml"
    path.write_bytes(data)
    return ingest(IngestRequest((str(path),), INCIDENT, workers=1))


def ledger(found: Any) -> tuple[int, int, int, int]:
    [i] = found.inputs
    return i.lines, i.records, i.rejected, i.framing


def test_results_are_records_with_what_is_inside_their_raw_event(tmp_path: Path) -> None:
    data = document(event(0), preview=1) + document(event(0), event(1), result(2, "Server started"))
    found = read(tmp_path, data.encode())
    assert found.inputs[0].format == "splunk > app-json"
    assert ledger(found) == (4, 2, 0, 2)
    row = found.records.sort_by("line").to_pylist()[0]
    assert (row["line"], row["tenant"], row["prompt_tokens_min"]) == (2, 'a<b&"c"', 702_114)
    piece = data.encode()[row["byte_offset"] : row["byte_offset"] + row["byte_length"]]
    assert hashlib.sha256(piece).hexdigest() == row["sha256"]
    assert piece.startswith(b"<result offset='0'>")
    assert piece.endswith(b"</result>")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (document(event(0), event(1))[:-300].encode(), (2, 1, 1, 0)),
        (document(event(0), event(1).replace("<text>a<", "<text>&no;<")).encode(), (2, 1, 1, 0)),
        (b"\xef\xbb\xbf" + document(event(0)).encode(), (1, 1, 0, 0)),
        (document(event(0)).encode("utf-16"), (1, 1, 0, 0)),
        (document(event(0)).replace("<results", '<!DOCTYPE r [<!ENTITY e "x">]><results').encode(), (1, 1, 0, 0)),
    ],
)
def test_what_is_cut_or_broken_is_one_rejected_line(
    tmp_path: Path, data: bytes, expected: tuple[int, int, int, int]
) -> None:
    assert ledger(read(tmp_path, data)) == expected


def test_a_result_over_the_cap_is_rejected_and_the_next_one_is_read() -> None:
    data = document(event(0), result(1, "x" * 5000), event(2), event(3)[:-40])
    items = list(xml_results(Slow(data.encode()), 2000))
    assert [(type(i), i.ordinal) for i in items] == [(Result, 1), (Reject, 2), (Result, 3), (Reject, 4)]
    assert [i.reason for i in items if isinstance(i, Reject)] == ["oversize", "truncated"]
    for item in items[:3]:
        assert data.encode()[item.offset :].startswith(b"<result offset=")


def test_other_xml_is_no_export(tmp_path: Path) -> None:
    found = read(tmp_path, b"<html><body><results/><p>x</p></body></html>\n")
    assert found.inputs[0].records == 0


class Slow(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 7, 7))
