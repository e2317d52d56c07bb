"""Where a record counts its prompt in two places, is it cleared only if no count is over the threshold?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvforensics import scan
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import judge
from kvforensics.scanned import Keep
from kvforensics.store import Store
from spans import chat, export
from spans import lines as requests

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL = "@cf/zai-org/glm-5.3"
Row = dict[str, Any]
Told = dict[int, tuple[str, int | None, int | None, bool]]


def told(path: Path, keep: Keep) -> tuple[Told, tuple[int, int]]:
    """By the places of records: what each is, its bounds, and whether its counts disagree; and how many were left out."""
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep=keep))
    with Store(threads=1) as store:
        store.register("records", found.records)
        rows = judge(store, INCIDENT, off_model_dropped=found.off_model_dropped, settled=found.settled).findings.to_pylist()
    return {
        r["line"]: (r["disposition"], r["prompt_tokens_min"], r["prompt_tokens_max"], "counts_disagree" in r["reasons"])
        for r in rows
    }, found.settled  # fmt: skip


def told_alike(path: Path) -> Told:
    """The same, whatever is kept."""
    few, settled = told(path, "open")
    assert few == told(path, "all")[0]
    assert sum(settled) >= SMALL
    return few


SMALL = 30
OPEN, OVER = ("possible", 5, 700_000, True), ("affected", 700_000, 700_000, False)
REST: dict[str, tuple[Row, Any]] = {
    "the answer tells more": ({"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 700_000}}}, OPEN),
    "the answer tells more as text": ({"tokens_in": 5, "response_head": '{"usage":{"prompt_tokens":700000}}'}, OPEN),
    "the answer tells less": ({"tokens_in": 700_000, "response_head": {"usage": {"prompt_tokens": 5}}}, OVER),
    "the cache is what is more": (
        {"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 9, "cache_creation_input_tokens": 4}}}, None,
    ),
    "the cache is not what is more": (
        {"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 700_000, "cache_creation_input_tokens": 5}}},
        ("possible", 5, 700_000, True),
    ),
    "no count": ({"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": "many"}}}, None),
    "no believable count": ({"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 10**9}}}, None),
    "both small": ({"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 6}}}, None),
}  # fmt: skip
HOME: dict[str, tuple[Row, Any]] = {
    "two usages": ({"asked": {"usage": {"prompt_tokens": 5}}, "billed": {"usage": {"prompt_tokens": 700_000}}}, OPEN),
    "two names": ({"prompt_tokens": 5, "input_tokens": 700_000}, OPEN),
    "two names, one as text": ({"prompt_tokens": 5, "input_tokens": "700000"}, OPEN),
    "two names, the first is higher": ({"prompt_tokens": 700_000, "input_tokens": 5}, OVER),
    "a usage beside a name": ({"usage": {"prompt_tokens": 5}, "tokens_in": 700_000}, OPEN),
    "an attempt in a list": ({"usage": {"prompt_tokens": 5}, "attempts": [{"usage": {"prompt_tokens": 700_000}}]}, OPEN),
    "an attempt beside a text that opens": (
        {"usage": {"prompt_tokens": 5}, "note": "[x]", "attempts": [{"usage": {"prompt_tokens": 700_000}}]}, OPEN,
    ),
    "a count of the uncached part": (
        {"usage": {"input_tokens": 5, "cache_read_input_tokens": 680_000}, "input_tokens": 680_005}, None,
    ),
    "a count in a prompt": ({"usage": {"prompt_tokens": 5}, "messages": [{"content": '"prompt_tokens":700000'}]}, None),
    "both small": ({"prompt_tokens": 5, "input_tokens": 9}, None),
}  # fmt: skip


def rest(number: int, **more: Any) -> Row:
    about = {"id": f"r-{number}", "created_at": f"2026-09-03T10:{number:02}:00Z", "cached": False, "success": True}
    return {**about, "model": MODEL, "provider": "workers-ai", "status_code": 200, **more}


def home(number: int, **more: Any) -> Row:
    return {"request_id": f"h-{number}", "started_at": f"2026-09-03T10:{number:02}:00Z", "model": MODEL, "status": 200, **more}


def as_lines(rows: list[Row], path: Path) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")


def as_array(rows: list[Row], path: Path) -> None:
    path.write_text("[" + ",\n".join(map(json.dumps, rows)) + "]", encoding="utf-8")


def in_cri(rows: list[Row], path: Path) -> None:
    text = "".join(f"2026-09-03T10:00:00.5Z stdout F {json.dumps(r)}\n" for r in rows)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("write", [as_lines, as_array, in_cri])
@pytest.mark.parametrize(
    ("make", "kinds", "small"),
    [
        (rest, REST, {"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 6}}}),
        (home, HOME, {"prompt_tokens": 5, "input_tokens": 6}),
    ],
    ids=["gateway", "home-made"],
)  # fmt: skip
def test_a_record_is_cleared_only_by_all_of_its_counts(
    tmp_path: Path, write: Callable[[list[Row], Path], None], make: Callable[..., Row], kinds: dict[str, tuple[Row, Any]],
    small: Row,
) -> None:  # fmt: skip
    rows = [make(n, **small) for n in range(SMALL)] + [make(SMALL + k, **row) for k, (row, _) in enumerate(kinds.values())]
    write(rows, tmp_path / "log")
    found = told_alike(tmp_path / "log")
    assert {name: found.get(SMALL + 1 + k) for k, name in enumerate(kinds)} == {name: e for name, (_, e) in kinds.items()}


TABLE: dict[str, tuple[Row, Any]] = {
    name: (row, expected) for name, (row, expected) in REST.items() if type(row["response_head"]) is dict
}


def as_csv(rows: list[Row], path: Path) -> None:
    texts = [{**r, "response_head": json.dumps(r["response_head"])} for r in rows]
    pl.DataFrame(texts, infer_schema_length=None).write_csv(path)


def as_parquet(rows: list[Row], path: Path) -> None:
    texts = [{**r, "response_head": json.dumps(r["response_head"])} for r in rows]
    pl.DataFrame(texts, infer_schema_length=None).write_parquet(path)


def as_nested_parquet(rows: list[Row], path: Path) -> None:
    kept = [{**r, "response_head": {"usage": {"prompt_tokens": None, **r["response_head"]["usage"]}}} for r in rows]
    whole = [r for r in kept if type(r["response_head"]["usage"]["prompt_tokens"]) is int]
    pl.DataFrame(whole, infer_schema_length=None).write_parquet(path)


@pytest.mark.parametrize("write", [as_csv, as_parquet, as_nested_parquet])
def test_a_row_of_a_table_is_cleared_only_by_all_of_its_counts(
    tmp_path: Path, write: Callable[[list[Row], Path], None]
) -> None:
    kinds = {n: k for n, k in TABLE.items() if write is not as_nested_parquet or n != "no count"}
    small = {"tokens_in": 5, "response_head": {"usage": {"prompt_tokens": 6}}}
    rows = [rest(n, **small) for n in range(SMALL)] + [rest(SMALL + k, **row) for k, (row, _) in enumerate(kinds.values())]
    write(rows, tmp_path / "log")
    found = told_alike(tmp_path / "log")
    first = SMALL + 1 + (write is as_csv)
    assert {name: found.get(first + k) for k, name in enumerate(kinds)} == {name: e for name, (_, e) in kinds.items()}


@pytest.mark.parametrize("write", ["write_csv", "write_parquet"])
def test_two_columns_of_counts_are_read_as_two_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    counts = [(5, 6)] * SMALL + [(5, 700_000), (700_000, 5), (5, None), (None, 700_000)]
    rows = [home(n, prompt_tokens=a, input_tokens=b) for n, (a, b) in enumerate(counts)]
    getattr(pl.DataFrame(rows, infer_schema_length=None), write)(tmp_path / "log")
    monkeypatch.setattr(scan.Scanner, "row", lambda *_: pytest.fail("a row was looked at by itself"))
    found = told_alike(tmp_path / "log")
    assert [found[line] for line in sorted(found)] == [OPEN, OVER, OVER]


def test_lines_of_which_both_counts_are_small_need_no_close_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_lines([home(n, prompt_tokens=5, input_tokens=6) for n in range(SMALL)], tmp_path / "log")
    monkeypatch.setattr(scan.Scanner, "unit", lambda *_: pytest.fail("a line was looked at by itself"))
    assert ingest(IngestRequest((str(tmp_path / "log"),), INCIDENT, workers=1, keep="open")).settled == (0, SMALL, 0)


SPANS: dict[str, tuple[Row, Any]] = {
    "two conventions": ({"llm.usage.prompt_tokens": 700_000}, OPEN),
    "the cache is what is more": ({"llm.usage.prompt_tokens": 8, "gen_ai.usage.cache_read_input_tokens": 3}, None),
    "no count": ({"llm.usage.prompt_tokens": "many"}, None),
    "both small": ({"llm.usage.prompt_tokens": 9}, None),
}


def test_a_span_is_cleared_only_by_all_of_its_counts(tmp_path: Path) -> None:
    small = [chat(n, 5, own={"trace": n}, **{"llm.usage.prompt_tokens": 6}) for n in range(1, SMALL + 1)]
    odd = [chat(100 + k, 5, own={"trace": 100 + k}, **more) for k, (more, _) in enumerate(SPANS.values())]
    path = tmp_path / "spans.jsonl"
    path.write_text(requests(export(*small), *map(export, odd)), encoding="utf-8")
    found = told_alike(path)
    assert {name: found.get(SMALL + 1 + k) for k, name in enumerate(SPANS)} == {name: e for name, (_, e) in SPANS.items()}


def test_what_counts_something_else_than_the_prompt_contradicts_no_count(tmp_path: Path) -> None:
    about = {"generation_id": "gen-1", "created_at": "2026-09-03 10:00:00.1", "cancelled": "false", "tokens_completion": 5}
    row = {**about, "model_permaslug": "z-ai/glm-5.3", "provider_name": "Cloudflare", "finish_reason_normalized": "stop"}
    counts = enumerate([("680000", "700000"), ("", "700000"), ("700000", "5")])
    rows = [{**row, "generation_id": f"g-{n}", "tokens_prompt": b, "native_tokens_prompt": a} for n, (a, b) in counts]
    pl.DataFrame(rows).write_csv(tmp_path / "activity.csv")
    assert {line: d for line, (d, *_) in told(tmp_path / "activity.csv", "all")[0].items()} == {3: "affected", 4: "affected"}


@pytest.mark.parametrize("unread", [True, "x", "x" * 70])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_count_beside_one_that_is_no_number_is_heard(tmp_path: Path, unread: Any, kind: str) -> None:
    row = {"id": "a", "model": MODEL, "started_at": "2026-09-02T08:41:12Z", "promptTokens": 700_000, "total_tokens": 7}
    path = tmp_path / f"log.{kind}"
    if kind == "jsonl":
        path.write_text(json.dumps({**row, "usage": {"prompt_tokens": unread}}) + "\n", encoding="utf-8")
    else:
        pl.DataFrame([{**row, "usage.prompt_tokens": unread}]).write_parquet(path)
    found = told(path, "open")[0]
    assert found[1][0] == "possible"
    assert found[1][2:] == (700_000, True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scan.Scanner, "table", lambda *_: None)
        assert told(path, "open")[0] == found
