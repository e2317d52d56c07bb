"""Do logs of text lines give the right records, and is an engine's own talk none?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kvforensics.formats import all_formats, by_name
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
UVICORN = 'INFO:     192.0.2.17:24469 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXT = [f for f in all_formats() if f.pattern]


def read(folder: Path, *lines: str, name: str = "x.log") -> tuple[Any, list[dict[str, Any]]]:
    log = folder / name
    log.write_text("".join(line + "\n" for line in lines))
    result = ingest(IngestRequest((str(log),), INCIDENT, timezones=((None, "Europe/Amsterdam"),), workers=1, keep="all"))
    return result.inputs[0], result.records.sort_by("line").to_pylist()


@pytest.mark.parametrize("fmt", TEXT, ids=[f.name for f in TEXT])
def test_a_file_of_samples_is_recognised_and_every_line_has_its_place(fmt: Any, tmp_path: Path) -> None:
    ledger, rows = read(tmp_path, *fmt.accepts, "something else", "")
    assert ledger.format == fmt.name
    assert (ledger.lines, ledger.blank, ledger.rejected) == (len(fmt.accepts) + 2, 1, 0)
    assert ledger.records == len(rows)
    assert ledger.framing == len(fmt.accepts) + 1 - len(rows)
    assert bool(rows) is not fmt.chatter


def test_an_access_line_of_an_engine_is_its_own_talk_and_elsewhere_a_record(tmp_path: Path) -> None:
    engine = "INFO 09-02 10:41:12 [logger.py:62] Received request chatcmpl-1: params: SamplingParams(n=1)"
    assert read(tmp_path, engine, UVICORN, engine)[0].framing == 3
    ledger, rows = read(tmp_path, UVICORN, UVICORN)
    assert (ledger.format, ledger.records) == ("uvicorn", 2)
    assert (rows[0]["model_match"], rows[0]["started_latest"], rows[0]["http_status"]) == (None, None, 200)


@pytest.mark.parametrize(
    ("name", "sample", "times"),
    [
        # The end of the request, of which the duration is known or not.
        ("nginx-combined", 2, ("2026-09-02T08:41:12.880000", "2026-09-02T08:41:13.879999")),
        ("nginx-combined", 0, ("2026-09-02T07:41:22", "2026-09-02T08:41:22.999999")),
        ("apache-combined", 0, ("2026-09-02T07:41:12", "2026-09-02T08:41:12.999999")),
        # The start, in UTC, with an offset, or in the zone that was stated.
        ("envoy-text", 0, ("2026-09-02T08:41:12.907000", "2026-09-02T08:41:12.907999")),
        ("traefik-clf", 0, ("2026-09-02T08:41:12", "2026-09-02T08:41:12.999999")),
        ("haproxy", 0, ("2026-09-02T08:41:12.907000", "2026-09-02T08:41:12.907999")),
        ("alb", 0, ("2026-09-02T08:41:12.907000", "2026-09-02T08:41:12.907000")),
    ],
)
def test_each_server_has_its_own_rule_of_time(name: str, sample: int, times: tuple[str, str], tmp_path: Path) -> None:
    _, rows = read(tmp_path, by_name(name).accepts[sample])
    span = (rows[0]["started_earliest"], rows[0]["started_latest"])
    assert span == tuple((datetime.fromisoformat(f"{t}+00:00") - EPOCH) // timedelta(microseconds=1) for t in times)


@pytest.mark.parametrize(("name", "sample"), [("envoy-text", 1), ("haproxy", 1), ("alb", 1)])
def test_a_client_that_left_was_neither_served_nor_refused(name: str, sample: int, tmp_path: Path) -> None:
    _, rows = read(tmp_path, by_name(name).accepts[sample])
    assert rows[0]["outcome"] == "aborted"
    assert rows[0]["http_status"] is None


def test_json_behind_a_stamp_of_the_engine_is_its_request_log(tmp_path: Path) -> None:
    finished, received = by_name("sglang-requests").accepts
    noise = by_name("sglang-log").accepts[2]
    ledger, rows = read(tmp_path, f"[2026-09-02 10:41:13] {received}", noise, f"[2026-09-02 10:41:22] {finished}")
    assert (ledger.records, ledger.framing) == (1, 2)
    assert (rows[0]["line"], rows[0]["prompt_tokens_min"]) == (1, 702114)


@pytest.mark.parametrize("prefix", ["", "2026-09-02T08:41:13.000000000Z stdout F "])
def test_a_request_log_that_begins_after_a_long_start_is_not_lost(prefix: str, tmp_path: Path) -> None:
    start = [f"{prefix}{by_name('sglang-log').accepts[2]}"] * 1000
    requests = [f"{prefix}[2026-09-02 10:41:13] {text}" for text in reversed(by_name("sglang-requests").accepts)]
    ledger, rows = read(tmp_path, *start, *requests)
    assert (ledger.lines, ledger.records) == (1002, 1)
    assert (rows[0]["line"], rows[0]["prompt_tokens_min"]) == (1001, 702114)


def test_two_events_of_a_request_in_a_wrapper_keep_the_bytes_of_the_second(tmp_path: Path) -> None:
    finished, received = by_name("sglang-requests").accepts
    lines = [f"2026-09-02T08:41:13.000000000Z stdout F {received}", f"2026-09-02T08:41:22.100000000Z stdout F {finished}"]
    _, rows = read(tmp_path, *lines)
    assert [(r["line"], r["byte_offset"], r["byte_length"]) for r in rows] == [(1, len(lines[0]) + 1, len(lines[1]))]


def test_a_line_that_only_httpd_writes_is_not_lost_late_in_a_log_that_looks_like_nginx(tmp_path: Path) -> None:
    late = by_name("apache-combined").accepts[1]
    ledger, rows = read(tmp_path, *[by_name("nginx-combined").accepts[0]] * 1000, late)
    assert (ledger.records, rows[-1]["line"], rows[-1]["http_status"]) == (1001, 1001, 504)
