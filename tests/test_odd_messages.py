"""Is a line in a wrapper whose message is odd read alike both ways, and cleared only if nothing in it may be a call?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import judge
from kvforensics.store import Store
from rejected import rejected

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL, OTHER = "@cf/zai-org/glm-5.3", "gpt-4o"
PLAIN = 30
Told = dict[int, str]


def body(model: str, count: int) -> str:
    return json.dumps({"ts": "2026-09-03T10:00:00Z", "status": 200, "model": model, "usage": {"prompt_tokens": count}})


def docker(message: Any, **more: Any) -> str:
    return json.dumps({"log": message, "stream": "stdout", "time": "2026-09-03T10:00:00.5Z", **more})


def pino(message: Any, **more: Any) -> str:
    return json.dumps({"level": 30, "time": "2026-09-03T10:00:00.5Z", "msg": message, **more})


def told(path: Path, keep: Any) -> tuple[tuple[int, int, int, int], Told]:
    """The ledger, and by lines what was flagged or rejected."""
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep=keep))
    with Store(threads=1) as store:
        store.register("records", found.records)
        rows = judge(store, INCIDENT, off_model_dropped=found.off_model_dropped, settled=found.settled).findings.to_pylist()
    [i] = found.inputs
    flagged = {r["line"]: r["disposition"] for r in rows} | {r["line"]: r["reason"] for r in rejected(found).to_pylist()}
    return (i.lines, i.records, i.rejected, i.framing), flagged


def told_alike(path: Path, lines: list[str]) -> tuple[tuple[int, int, int, int], Told]:
    """The same by either way; `lines` come after plain ones."""
    plain = [lines[-1].replace(MODEL, OTHER)] * PLAIN
    path.write_text("".join(line + "\n" for line in (*plain, *lines)), encoding="utf-8")
    quick = told(path, "open")
    assert quick == told(path, "all")
    return quick


LISTS: dict[str, tuple[Any, str | None]] = {
    "a piece": (["a"], None),
    "pieces": (["a", "b\n"], None),
    "bytes": ([97, 98], None),
    "a record": ([body(MODEL, 700_001)], "affected"),
    "records": ([body(OTHER, 9), body(MODEL, 700_001)], "affected"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_message_that_is_a_list_is_a_line_of_its_own(tmp_path: Path, name: str) -> None:
    message, expected = LISTS[name]
    ledger, flagged = told_alike(tmp_path / "log", [docker(message), docker(body(MODEL, 700_000) + "\n")])
    assert ledger == (PLAIN + 2, PLAIN + 1 + (expected is not None), 0, int(expected is None))
    assert flagged == ({PLAIN + 1: expected} if expected else {}) | {PLAIN + 2: "affected"}


@pytest.mark.parametrize("around", [docker, pino])
@pytest.mark.parametrize(("payload", "expected"), [(body(MODEL, 700_000), "unknown_record"), (body(OTHER, 700_000), None)])
def test_an_empty_message_beside_a_call_is_no_framing(tmp_path: Path, around: Any, payload: str, expected: str | None) -> None:
    end = "\n" if around is docker else ""
    lines = [around(end, kept=payload), around(body(MODEL, 700_000) + end, kept="x")]
    ledger, flagged = told_alike(tmp_path / "log", lines)
    assert ledger == (PLAIN + 2, PLAIN + 1, int(expected is not None), int(expected is None))
    assert flagged == ({PLAIN + 1: expected} if expected else {}) | {PLAIN + 2: "affected"}


BESIDE: dict[str, tuple[dict[str, Any], str | None]] = {
    "a call": ({"model": MODEL, "prompt_tokens": 700_000}, "possible"),
    "a call in an object": ({"upstream": {"model": MODEL, "usage": {"prompt_tokens": 700_000}}}, "possible"),
    "a call as text": ({"kept": body(MODEL, 700_000)}, "possible"),
    "a short call": ({"model": MODEL, "prompt_tokens": 9}, None),
    "another call": ({"model": OTHER, "prompt_tokens": 700_000}, None),
    "a mention": ({"note": f"about {MODEL}"}, None),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_call_beside_a_message_of_another_model_is_not_cleared(tmp_path: Path, name: str) -> None:
    beside, expected = BESIDE[name]
    lines = [docker(body(OTHER, 9) + "\n", **beside), docker(body(OTHER, 9) + "\n", note="about gpt-5.3")]
    ledger, flagged = told_alike(tmp_path / "log", lines)
    assert ledger == (PLAIN + 2, PLAIN + 2, 0, 0)
    assert flagged == ({PLAIN + 1: expected} if expected else {})


@pytest.mark.parametrize("around", [docker, pino])
@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (body(MODEL, 700_000), body(OTHER, 9), "repeated_key"),
        (body(MODEL, 700_000), body(MODEL, 9), "repeated_key"),
        (body(OTHER, 9), body(MODEL, 700_000), "repeated_key"),
        (body(MODEL, 700_000), body(MODEL, 700_000), "affected"),
        (body(MODEL, 9), body(MODEL, 9), None),
    ],
)
def test_a_message_that_is_given_twice_is_not_cleared(
    tmp_path: Path, around: Any, first: str, last: str, expected: str | None
) -> None:
    key, end = ('"log"', "\n") if around is docker else ('"msg"', "")
    plain = around(body(OTHER, 9) + end)
    twice = around(last + end).replace(key, f"{key}: {json.dumps(first + end)}, {key}")
    ledger, flagged = told_alike(tmp_path / "log", [twice, plain])
    rejected_ = int(expected == "repeated_key")
    assert ledger == (PLAIN + 2, PLAIN + 2 - rejected_, rejected_, 0)
    assert flagged == ({PLAIN + 1: expected} if expected else {})
