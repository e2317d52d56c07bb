"""Records that are outside each by another part may contradict each other: what is kept changes no answer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvforensics import clashes
from kvforensics.clashes import FAILED, KEPT, MORE, NOTHING, ON_MODEL, OVER, REPLAY, UNTOLD_REPLAY, lined, tied
from kvforensics.gather import gather
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import judge
from kvforensics.scanned import Keep
from kvforensics.store import Store

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL, OTHER = "@cf/zai-org/glm-5.3", "@cf/meta/llama-3.3"
ROW: dict[str, Any] = {
    "id": "a", "cached": False, "created_at": "2026-09-02T08:41:12.907Z", "duration": 9120, "model": MODEL,
    "provider": "workers-ai", "success": True, "tokens_in": 900, "tokens_out": 1207, "status_code": 200,
}  # fmt: skip
PADDING = [{**ROW, "id": f"z{i}", "model": OTHER} for i in range(40)]
"""Enough plain lines for the lane to learn what they look like."""


def answers(path: Path, keep: Keep) -> tuple[int, dict[str, Any]]:
    """How many records are kept, and all that is said of them."""
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep=keep))
    with Store(threads=1) as store:
        store.register("records", found.records)
        made = judge(store, INCIDENT, off_model_dropped=found.off_model_dropped, settled=found.settled)
    told = {"findings": made.findings.to_pylist(), "counts": made.counts, "warnings": made.warnings}
    return found.records.num_rows, told


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows as a log."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


CLASHES: dict[str, list[dict[str, Any]]] = {
    "a large prompt for another model": [{"model": OTHER, "tokens_in": 700_000}, {}],
    "one that is told in a response": [
        {"model": OTHER, "tokens_in": None, "response_head": {"usage": {"prompt_tokens": 700_000}}}, {},
    ],
    "one that is a text": [{"model": OTHER, "tokens_in": "700000"}, {}],
    "a replay of another model": [{"model": OTHER, "cached": True}, {"cached": None}],
    "another model beside one that failed, neither with a count": [
        {"model": OTHER, "tokens_in": None}, {"tokens_in": 0, "status_code": 500, "success": False},
    ],
    "a chain of ids": [
        {"model": OTHER, "tokens_in": 700_000}, {"model": OTHER, "response_head": {"id": "r"}},
        {"id": "b", "response_head": {"id": "r"}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", CLASHES.values(), ids=list(CLASHES))
@pytest.mark.parametrize("keep", ["open", "on-model"])
def test_records_that_contradict_each_other_are_brought_back(tmp_path: Path, rows: list[dict[str, Any]], keep: Keep) -> None:
    path = written(tmp_path / "log.jsonl", [*PADDING, *({**ROW, **row} for row in rows)])
    kept, told = answers(path, keep)
    assert (kept, told) == (len(rows), answers(path, "all")[1])
    assert told["counts"].responses.upper == 1
    assert [code for code, _ in told["warnings"]] == ["records_disagree"]


def test_a_prompt_in_the_uncertain_band_is_brought_back_as_a_lower_threshold_would_count_it(tmp_path: Path) -> None:
    rows = [{**ROW, "model": OTHER, "tokens_in": 681_280}, {**ROW, "tokens_in": 100}]
    assert answers(written(tmp_path / "log.jsonl", [*PADDING, *rows]), "open")[0] == 2


def test_two_attempts_with_a_small_prompt_bring_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = [{**ROW, "id": "y", "model": OTHER, "cached": True}, {**ROW, "id": "y"}]
    path = written(tmp_path / "log.jsonl", [*PADDING, {**ROW, "id": "z1"}, {**ROW, "id": "z2"}, *replayed])
    reads: list[int] = []

    def counted(*given: Any) -> Any:
        reads.append(1)
        return gather(*given)

    monkeypatch.setattr("kvforensics.ingest.gather", counted)
    assert answers(path, "open")[0] == 0
    assert len(reads) == 1


def test_every_way_to_keep_records_gives_the_same_answers(tmp_path: Path) -> None:
    chance = random.Random(5)
    rows = list(PADDING)
    for group in range(60):
        for _ in range(chance.randrange(1, 6)):
            row = {
                **ROW, "id": f"{group}{chance.choice('ab')}", "model": chance.choice([MODEL, MODEL, OTHER, OTHER, "default"]),
                "tokens_in": chance.choice([900, 900, 900, 681_273, 681_276, 700_000, 700_000, None]),
                "cached": chance.choice([False, False, False, None, True]), "status_code": chance.choice([200, 200, 200, 500]),
                "created_at": chance.choice([ROW["created_at"], ROW["created_at"], "2026-12-01T00:00:00Z"]),
            }  # fmt: skip
            head = {"response_head": {"id": f"{group}{chance.choice('rs')}"}}
            rows.append({**row, **(head if chance.random() < 0.2 else {})})
    path = written(tmp_path / "log.jsonl", rows)
    every, told = answers(path, "all")
    few, same = answers(path, "open")
    assert told == same == answers(path, "on-model")[1]
    assert few < every
    assert told["counts"].responses.upper > told["counts"].responses.lower > 0


def lines(*records: tuple[list[int], int]) -> pl.DataFrame:
    """The lines of records with these ids and tags."""
    width = max(len(ids) for ids, _ in records)
    columns = [pl.Series([ids[k] if k < len(ids) else None for ids, _ in records], dtype=pl.UInt64) for k in range(width)]
    return lined(columns, pl.Series([tag for _, tag in records], dtype=pl.UInt8))


def test_the_ids_of_a_record_stay_together() -> None:
    assert lines(([1, 2], OVER), ([3], 0)).rows() == [(1, OVER), (2, OVER | MORE), (3, 0)]


@pytest.mark.parametrize("held", [0, 1, 9])
@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([([1], OVER), ([1], ON_MODEL)], [1]),
        ([([1], OVER), ([1, 2], 0), ([2, 3], 0), ([3, 4], ON_MODEL), ([5], 0)], [1, 2, 3, 4]),
        ([([1], OVER), ([2], ON_MODEL)], []),
        ([([1], REPLAY), ([1], ON_MODEL)], []),
        ([([1], REPLAY), ([1], ON_MODEL | UNTOLD_REPLAY)], [1]),
        ([([1], OVER), ([1, 2], ON_MODEL), ([7], OVER), ([8], ON_MODEL)], [1, 2]),
        ([([1], FAILED), ([1], FAILED), ([2], FAILED), ([2], ON_MODEL)], []),
        ([([1], FAILED), ([1], 0), ([2], 0)], [1]),
        ([([1], FAILED), ([1, 2], ON_MODEL), ([2], REPLAY)], [1, 2]),
    ],
)  # fmt: skip
def test_a_clash_is_a_chain_from_one_kind_to_the_other(
    monkeypatch: pytest.MonkeyPatch, records: list[tuple[list[int], int]], found: list[int], held: int
) -> None:
    monkeypatch.setattr(clashes, "_FEW", held)
    parts = [lines(*records[:2]), *(lines(r) for r in records[2:])]
    assert tied(lambda: iter(parts), NOTHING).to_list() == found


@pytest.mark.parametrize("held", [0, 9])
def test_what_has_a_seed_comes_back_beside_what_clashes(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(clashes, "_FEW", held)
    parts = [lines(([1], OVER), ([2], 0), ([3], KEPT), ([4], 0)), lines(([1], ON_MODEL), ([5], FAILED), ([7], FAILED))]
    seeds = pl.Series([2, 3, 7, 9], dtype=pl.UInt64)
    assert tied(lambda: iter(parts), seeds).to_list() == [1, 2, 7]
    assert tied(lambda: iter([*parts, lines(([5, 6], 0))]), seeds).to_list() == [1, 2, 5, 6, 7]
    assert tied(lambda: iter(parts), NOTHING).to_list() == [1]
