"""Does the replay find who wrote the pages, with honest intervals, and does it say when it cannot know?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kvforensics.cli import main
from kvforensics.engine import packed
from kvforensics.engine.exposure_document import document_of
from kvforensics.engine.pages import Schedule, replay
from kvforensics.engine.trace import Trace, TraceOptions, trace
from simulation import engine, logs

SEEDS = (1, 2, 3)


@cache
def simulated(seed: int) -> engine.Incident:
    """One of page size 1 or 64, with two ranks and more."""
    return engine.simulate(seed, page=(1, 64)[seed % 2], dp=1 + seed % 8, per_rank=36)


def traced(seed: int, folder: Path, *, coarse: bool = False, missing: float = 0.0) -> tuple[object, Trace, set[int]]:
    incident = simulated(seed)
    folder.mkdir()
    left_out = logs.write(incident, folder, coarse=coarse, missing=missing)
    return incident, trace(TraceOptions((str(folder / "prefill.log"), str(folder / "decode.log")))), left_out


def scored(incident: object, found: Trace, left_out: set[int]) -> Iterator[tuple[bool, list[bool], bool]]:
    """For each response: superset holds, which intervals hold, top source among the first three."""
    by_rid = {logs.rid(r, "decode"): r for r in incident.requests}
    for exposed in found.exposed:
        request = by_rid[found.ranks[exposed.rank].rid[exposed.request]]
        rows: dict[str, int] = {}
        for writer, count in request.truth.items():
            if writer >= 0:
                tenant = incident.requests[writer].tenant
                rows[tenant] = rows.get(tenant, 0) + count
        visible = {incident.requests[w].tenant for w in request.truth if w >= 0 and w not in left_out}
        shares = {s.tenant: s for s in exposed.tenants}
        inside = [
            shares[t].low <= rows.get(t, 0) <= shares[t].high if t in shares else rows.get(t, 0) == 0
            for t in {*rows, *shares}
        ]
        best = max(rows.values(), default=0)
        first = not rows or any(rows.get(s.tenant, 0) == best for s in exposed.tenants[:3])
        yield visible <= set(exposed.earlier_tenants), inside, first


@pytest.mark.parametrize(("coarse", "missing"), [(False, 0.0), (True, 0.01)], ids=["full logs", "whole seconds, 1 % missing"])
def test_affected_requests_sources_and_shares_are_found(tmp_path: Path, coarse: bool, missing: float) -> None:
    superset, inside, first = [], [], []
    for seed in SEEDS:
        incident, found, left_out = traced(seed, tmp_path / str(seed), coarse=coarse, missing=missing)
        expected = sorted(logs.rid(r, "decode") for r in incident.affected)
        assert sorted(found.ranks[e.rank].rid[e.request] for e in found.exposed) == expected
        assert found.absent == len(left_out)
        for holds, intervals, top in scored(incident, found, left_out):
            superset.append(holds)
            inside += intervals
            first.append(top)
    assert all(superset)
    assert np.mean(inside) >= 0.9
    assert np.mean(first) >= 0.9


def test_logs_to_the_second_or_with_holes_lower_the_confidence_and_say_why(tmp_path: Path) -> None:
    _, whole, _ = traced(1, tmp_path / "whole")
    assert document_of(whole)["confidence"] == "replay"
    assert all(r["superset"]["whole"] for r in document_of(whole)["responses"])
    _, poor, left_out = traced(1, tmp_path / "poor", coarse=True, missing=0.2)
    document = document_of(poor)
    assert document["confidence"] == "superset"
    assert not any(r["superset"]["whole"] for r in document["responses"])
    assert document["handed_over_without_a_decode_record"] == len(left_out) > 0
    assert any("to the second only" in doubt for doubt in document["doubts"])
    assert min(r["completeness"] for r in document["ranks"]) < 0.98


def test_the_same_logs_give_the_same_document_packed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, one, _ = traced(3, tmp_path / "one")
    monkeypatch.setattr(packed, "PIECE", 50)
    _, other, _ = traced(3, tmp_path / "other")
    assert json.dumps(document_of(one)) == json.dumps(document_of(other))


def schedule(*rows: tuple[float, float, float, int, int, bool]) -> Schedule:
    columns = list(zip(*rows, strict=True))
    floats = [np.array(c, np.float64) for c in columns[:3]]
    return Schedule(*floats, np.array(columns[3]), np.array(columns[4]), np.array(columns[5], np.bool_))


def test_two_affected_requests_in_a_row_expose_the_same_older_writer() -> None:
    reads = replay(
        schedule((0, 1, 2, 40, 1, False), (3, 4, 5, 40, 1, True), (6, 7, 8, 40, 1, True)), pool_tokens=40, page=10
    )
    found = list(zip(reads.reader.tolist(), reads.writer.tolist(), reads.rows.tolist(), strict=True))
    # The first page of the second one is what the first one wrote there.
    assert found == [(1, 0, 30), (2, 0, 30)]


def test_a_restart_clears_the_memory_and_later_responses_read_only_what_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(1, tmp_path / "before")
    later = engine.simulate(4, page=64, dp=2, per_rank=24)
    renamed = [replace(r, number=r.number + 10_000, tenant=f"late-{r.tenant}") for r in later.requests]
    monkeypatch.setattr(logs, "EPOCH", logs.EPOCH + timedelta(hours=1))
    (tmp_path / "after").mkdir()
    logs.write(replace(later, requests=renamed), tmp_path / "after")
    for name in ("prefill", "decode"):
        both = [(tmp_path / part / f"{name}.log").read_text() for part in ("before", "after")]
        (tmp_path / f"{name}.log").write_text("".join(both), encoding="utf-8")
    found = trace(TraceOptions((str(tmp_path / "prefill.log"), str(tmp_path / "decode.log"))))
    document = document_of(found)
    assert {(r["dp"], r["run"], r["pool_tokens"]) for r in document["ranks"]} == {
        *((dp, 0, simulated(1).decode_pool) for dp in range(2)), *((dp, 1, later.decode_pool) for dp in range(2)),
    }  # fmt: skip
    seen = [r["superset"]["tenants"] for r in document["responses"] if str(r["tenant"]).startswith("late-")]
    assert len(seen) == len(later.affected) > 0
    assert all(name.startswith("late-") for names in seen for name in names)
    assert document["confidence"] == "replay"


def test_a_log_that_begins_later_than_its_process_says_that_the_superset_lacks_what_came_before(tmp_path: Path) -> None:
    traced(1, tmp_path / "whole")
    text = (tmp_path / "whole" / "decode.log").read_text().splitlines(keepends=True)
    (tmp_path / "whole" / "decode.log").write_text("".join(text[20:]), encoding="utf-8")
    incident = simulated(1)
    found = trace(TraceOptions(
        (str(tmp_path / "whole"),), pool_tokens=incident.decode_pool, page_size=incident.page, first_rejected=incident.limit
    ))  # fmt: skip
    assert any("its start is not in the logs" in doubt for doubt in found.doubts)
    assert not any(r["superset"]["whole"] for r in document_of(found)["responses"])


def test_a_flush_hands_out_the_lowest_pages_again_and_clears_nothing() -> None:
    rows = ((0, 1, 2, 20, 1, False), (5, 6, 7, 20, 1, True))
    plain = replay(schedule(*rows), pool_tokens=80, page=10)
    assert plain.writer.tolist() == [-1]
    flushed = replay(structs.replace(schedule(*rows), flushes=np.array([3.0])), pool_tokens=80, page=10)
    assert (flushed.writer.tolist(), flushed.rows.tolist()) == ([0], [10])


def test_a_fresh_pool_exposes_nobody() -> None:
    reads = replay(schedule((0, 1, 2, 25, 1, True)), pool_tokens=40, page=10)
    assert (reads.writer.tolist(), reads.rows.tolist()) == ([-1], [15])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_replay_never_gives_a_page_to_two_requests(data: st.DataObject) -> None:
    page = data.draw(st.sampled_from([1, 4, 16]))
    pool = page * data.draw(st.integers(4, 40))
    count = data.draw(st.integers(1, 25))
    starts = data.draw(st.lists(st.integers(0, 200), min_size=count, max_size=count))
    rows = []
    for start in starts:
        span = data.draw(st.integers(1, 60))
        rows.append((float(start), start + 0.5, float(start + span), data.draw(st.integers(1, pool)),
                     data.draw(st.integers(1, 30)), data.draw(st.booleans())))  # fmt: skip
    reads = replay(schedule(*rows), pool, page)
    by_reader: dict[int, int] = {}
    for reader, writer, count_of in zip(reads.reader.tolist(), reads.writer.tolist(), reads.rows.tolist(), strict=True):
        assert count_of > 0
        assert writer != reader
        by_reader[reader] = by_reader.get(reader, 0) + count_of
    assert all(total == rows[reader][3] - page for reader, total in by_reader.items())


def test_the_command_prints_the_matrix_and_ends_with_ten(tmp_path: Path) -> None:
    traced(1, tmp_path / "logs")
    result = CliRunner().invoke(main, ["whose", str(tmp_path / "logs"), "--workers", "1"])
    assert result.exit_code == 10
    assert "tenant-" in result.stdout


def test_without_a_pool_the_command_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "decode.log").write_text("[2026-09-03 14:14:21] nothing\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["whose", str(tmp_path)])
    assert result.exit_code == 12


def stats(number: int, minute: int, tokens: int = 40) -> str:
    """Time statistics of a request, in the compose dress, on a clock two hours ahead of UTC."""
    return (
        f"decode-1  | [2026-09-03 14:{minute:02d}:10 DP0 TP0] ReqTimeStats(rid=r{number}, bootstrap_room={number + 9}, "
        f"input_len={tokens}, cached_input_len=0, output_len=5, type=decode): bootstrap_duration=1.00ms, "
        "alloc_wait_duration=1.00ms, transfer_duration=1.00ms, queue_duration=0.00ms, forward_duration=7.00ms, "
        f"entry_time={1788436810 + 60 * minute:.3f}\n"
    )


@pytest.mark.parametrize(
    ("entry", "runs"),
    [
        (lambda found: found[0], [["r1", "r2", "r3", "r4"], ["r5", "r6", "r7"]]),
        (lambda _: "start_time=5000.1", [["r1", "r2", "r3", "r4"], ["r5", "r6", "r7"]]),
        (lambda found: f"entry_time={float(found[1]) + 3600 * (found[1] > '178843800'):.3f}", [[f"r{n}" for n in range(1, 8)]]),
    ],
    ids=["its clock is told", "all is local", "its clock changed"],
)
def test_a_restart_in_another_file_parts_the_requests_where_its_time_is_told(
    tmp_path: Path, entry: Callable[[re.Match[str]], str], runs: list[list[str]]
) -> None:
    start = (
        "decode-1  | [2026-09-03 14:{m}:00] server_args=ServerArgs(disaggregation_mode='decode', page_size=10, dp_size=1)\n"
        "decode-1  | [2026-09-03 14:{m}:05 DP0 TP0] max_total_num_tokens=400, chunked_prefill_size=1, context_len=900\n"
    )
    lines = [re.sub(r"entry_time=(\S+)", entry, stats(n, minute)) for n, minute in enumerate((5, 6, 7, 8, 25, 26, 27), 1)]
    (tmp_path / "a.log").write_text("".join((start.format(m="00"), *lines[:3], start.format(m="20"))), encoding="utf-8")
    (tmp_path / "b.log").write_text("".join(lines[3:]), encoding="utf-8")
    found = trace(TraceOptions((str(tmp_path),), first_rejected=100))
    assert [sorted(log.rid) for log in found.ranks] == runs
