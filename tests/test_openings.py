"""Are the two events of a request one record, and does none get lost?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvforensics import openings
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.openings import Event, Openings

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")


def received(rid: str, second: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2026-09-02T08:41:{second:02}", "event": "request.received", "rid": rid, "obj": {"rid": rid}}


def finished(rid: str, tokens: int = 702114) -> dict[str, Any]:
    meta = {"finish_reason": {"type": "stop"}, "prompt_tokens": tokens, "completion_tokens": 5}
    return {"timestamp": "2026-09-02T08:50:00", "event": "request.finished", "rid": rid, "out": {"meta_info": meta}}


def read(folder: Path, *events: dict[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
    log = folder / "requests.log"
    log.write_text("".join(json.dumps(e) + "\n" for e in events))
    result = ingest(IngestRequest((str(log),), INCIDENT, timezones=((None, "UTC"),), workers=1))
    rows = result.records.sort_by("line").to_pylist()
    return result.inputs[0], rows


def test_a_request_has_the_line_and_start_of_its_first_event_and_the_rest_of_its_second(tmp_path: Path) -> None:
    first, second, late, end = received("a", 1), received("b", 2), finished("b", 700001), finished("a")
    ledger, rows = read(tmp_path, first, second, late, end)
    assert (ledger.lines, ledger.records, ledger.framing, ledger.rejected) == (4, 2, 2, 0)
    assert [(r["line"], r["record_id"], r["prompt_tokens_min"]) for r in rows] == [(1, "a", 702114), (2, "b", 700001)]
    assert [r["time_text"] for r in rows] == ["2026-09-02T08:41:01", "2026-09-02T08:41:02"]
    assert rows[0]["byte_offset"] == sum(len(json.dumps(e)) + 1 for e in (first, second, late))


def test_a_request_that_never_finished_is_a_record_of_which_only_the_arrival_is_known(tmp_path: Path) -> None:
    ledger, rows = read(tmp_path, received("a"), received("b"), finished("a"))
    assert (ledger.lines, ledger.records, ledger.framing) == (3, 2, 1)
    assert (rows[1]["record_id"], rows[1]["prompt_tokens_max"], rows[1]["has_output"]) == ("b", None, None)
    assert rows[1]["sha256"]


def test_a_second_event_without_its_first_is_a_record_at_its_own_line(tmp_path: Path) -> None:
    ledger, rows = read(tmp_path, finished("a"), received("b"), finished("b"), finished("b"))
    assert (ledger.records, ledger.framing) == (3, 1)
    assert [r["line"] for r in rows] == [1, 2, 4]


def test_a_key_that_opens_twice_is_two_records(tmp_path: Path) -> None:
    ledger, rows = read(tmp_path, received("a", 1), received("a", 2), finished("a"))
    assert (ledger.records, ledger.framing) == (2, 1)
    assert [(r["line"], r["prompt_tokens_min"]) for r in rows] == [(1, None), (2, 702114)]


def test_open_requests_are_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openings, "MAX_OPEN", 2)
    monkeypatch.setattr(openings, "MAX_HELD", 4)
    waiting = Openings(("event", "request.received", "rid"))
    settled = [waiting.take(Event(received(r), n, n, 3, b"abc", ())) for n, r in enumerate("abc")]
    assert [[e.line for e in records] for records, _ in settled] == [[], [], [0]]
    assert [(e.line, e.data) for e in waiting.rest()] == [(1, None), (2, b"abc")]


def test_a_key_that_the_second_event_gives_twice_is_unknown_and_the_start_stays(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    twice = json.dumps(finished("a")).replace('"prompt_tokens": 702114', '"prompt_tokens": 702114, "prompt_tokens": 5')
    log.write_text(json.dumps(received("a", 1)) + "\n" + twice + "\n")
    row = ingest(IngestRequest((str(log),), INCIDENT, workers=1)).records.to_pylist()[0]
    assert (row["line"], row["prompt_tokens_max"], row["time_text"]) == (1, None, "2026-09-02T08:41:01")
    assert row["reasons"] == ["repeated_key:prompt_tokens"]
