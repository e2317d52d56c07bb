"""Text logs are read by the patterns of their formats."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kvforensics import ingest as reading
from kvforensics.formats.envoy_text import FORMAT as ENVOY
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.spec import Format
from kvforensics.text_lines import TextReader

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
TEXT = Format(
    name="line-text", title="t", containers=("text",), signature=(),
    pattern=(
        r"^(?P<time>\S+) call (?P<model>\S+) (?P<status>\d{3}) (?P<tokens>\d+)$", r"^(?P<time>\S+) access (?P<status>\d{3})$",
    ),
    fields={"start": ("time",), "model": ("model",), "http_status": ("status",), "prompt": ("tokens",)},
    cache_rule="inclusive",
)  # fmt: skip
CHATTER = Format(
    name="engine-text", title="t", containers=("text",), signature=(), pattern=(r"^\[(?P<time>[^\]]+)\] .*$",),
    fields={}, chatter=True,
)  # fmt: skip
LINE = "2026-09-02T08:41:12Z call @cf/zai-org/glm-5.3 200 702114"


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    known = reading.all_formats()
    monkeypatch.setattr(reading, "all_formats", lambda: (TEXT, CHATTER, *known))

    def run(text: str) -> Any:
        path = tmp_path / "log"
        path.write_text(text)
        return ingest(IngestRequest((str(path),), INCIDENT, workers=1))

    return run


def test_the_first_pattern_that_takes_a_line_wins_and_the_rest_is_told() -> None:
    taken, left = TextReader((TEXT, CHATTER)).read([LINE, "noise", "[t] x", "2026 access 200", ""])
    assert [(t.format.name, t.rows) for t in taken] == [("line-text", [0]), ("line-text", [3]), ("engine-text", [2])]
    assert taken[0].groups.to_dicts() == [
        {"time": "2026-09-02T08:41:12Z", "model": "@cf/zai-org/glm-5.3", "status": "200", "tokens": "702114"}
    ]
    assert left == [1, 4]


def test_lines_become_records_and_other_text_is_framing_that_is_counted(read: Any) -> None:
    found = read(f"banner\n{LINE}\n2026-09-02T08:41:13Z access 200\n\nnoise\n")
    [report] = found.inputs
    assert (report.lines, report.records, report.framing, report.blank, report.rejected) == (5, 2, 2, 1, 0)
    assert (report.format, dict(report.framing_by)) == ("line-text", {"other_text": 2})
    first = found.records.sort_by("line").to_pylist()[0]
    assert (first["line"], first["prompt_tokens_max"], first["http_status"]) == (2, 702114, 200)
    assert LINE.encode() in found.raw(found.records)


def test_engine_chatter_is_framing_and_its_format_is_named(read: Any) -> None:
    [report] = read("[2026-09-02] Prefill batch\n[2026-09-02] Decode batch\n").inputs
    assert (report.lines, report.records, report.framing, report.format) == (2, 0, 2, "engine-text")
    assert report.problems == ()


def test_text_and_json_in_wrappers_are_read_in_one_file(read: Any) -> None:
    stamp = "2026-09-02T08:41:22.027Z"
    call = json.dumps({"model": "@cf/zai-org/glm-5.3", "usage": {"prompt_tokens": 702114}, "status": 200, "ts": stamp})
    cut = f"{stamp} stdout P {LINE[:20]}\n{stamp} stdout F {LINE[20:]}\n"
    docker = json.dumps({"log": LINE + "\n", "stream": "stdout", "time": stamp})
    found = read(f"{stamp} stdout F {LINE}\n{stamp} stdout F {call}\n{cut}{docker}\n")
    [report] = found.inputs
    assert (report.lines, report.records, report.framing) == (5, 4, 1)
    assert found.records["prompt_tokens_max"].to_pylist() == [702114] * 4
    assert dict(report.formats) == {"app-json": 1, "line-text": 3}


def test_colours_do_not_hide_a_line(read: Any) -> None:
    [report] = read(f"\x1b[32m{LINE}\x1b[0m\n").inputs
    assert report.records == 1


def test_the_quick_expression_of_an_envoy_line_says_what_the_other_says() -> None:
    dice = Random(7)
    fields = ["POST", "/ai/run/m", "HTTP/2", "200", "-", "5", '"-"', '"a"', '"', '" "', " ", "", "\t", "\x1c", ",", '/a "b']
    plain = ['"POST', "/p", 'HTTP/2"', "200", "-", "5", "6", "7", "8", '"ip"', '"agent"', '"id"', '"host"', '"up"']
    lines = [f"[2026-09-02T08:41:12.907Z] {' '.join(plain)}"]
    for _ in range(4000):
        odd = [dice.choice(fields) if dice.random() < 0.12 else f for f in plain]
        if dice.random() < 0.3:
            odd.insert(dice.randrange(len(odd)), dice.choice(fields))
        lines.append(f"[2026-09-02T08:41:12.907Z] {' '.join(odd)}")
    quick, full = ENVOY.pattern
    [found], rest = TextReader([replace(ENVOY, pattern=(quick,))]).read(lines)
    [every], _ = TextReader([replace(ENVOY, pattern=(full,))]).read(lines)
    assert set(found.rows) < set(every.rows)
    assert len(rest) > 100 < len(found.rows)
    at = dict(zip(every.rows, every.groups.to_dicts(), strict=True))
    assert found.groups.to_dicts() == [at[row] for row in found.rows]


def test_lines_behind_broken_bytes_keep_their_places(tmp_path: Path) -> None:
    asked = '[2026-09-02T08:41:12.907Z] "POST /ai/run/@cf/zai-org/glm-5.3 HTTP/2" 200 - 2935567 7 9 8 "ip" "%s" "%d" "h" "up"'
    lines = [(asked % (agent, i)).encode() for i, agent in enumerate(("curl", "Zürich", "curl"))]
    lines.insert(1, lines[0].replace(b"curl", b"\xff\xfe"))
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(lines))
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1))
    rows = found.records.sort_by("line")
    assert rows["byte_offset"].to_pylist() == [sum(len(b) + 1 for b in lines[:i]) for i in range(4)]
    assert rows["byte_length"].to_pylist() == list(map(len, lines))
    assert list(found.raw(rows)) == lines
