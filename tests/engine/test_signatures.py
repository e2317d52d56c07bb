"""Does each signature alone give the bound that it can give, and not more?"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kvforensics.cli import main
from kvforensics.engine.signatures import NAMES, RELIABILITY, Signatures, signatures
from simulation import engine, logs


def simulated(tmp_path: Path, seed: int) -> object:
    incident = engine.simulate(seed, page=64, dp=4, per_rank=60)
    logs.write(incident, tmp_path)
    return incident


def only(tmp_path: Path, name: str, *parts: str) -> str:
    """The lines of a log that hold one of the parts, as a log of its own."""
    lines = (tmp_path / f"{name}.log").read_text().splitlines(keepends=True)
    path = tmp_path / "only.log"
    path.write_text("".join(line for line in lines if any(p in line for p in parts)), encoding="utf-8")
    return str(path)


def of(found: Signatures, kind: str) -> list[dict[str, object]]:
    return [row for row in found.rows if str(row["signature"]).startswith(kind)]


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_error_lines_alone_give_those_of_the_first_rank_and_prove_nothing_by_themselves(tmp_path: Path, seed: int) -> None:
    incident = simulated(tmp_path, seed)
    found = signatures((only(tmp_path, "prefill", "exceeds the maximum"),))
    printed = [r for r in incident.affected if r.prefill_rank == 0]
    assert sorted(row["tokens_low"] for row in of(found, "S1")) == sorted(r.prompt for r in printed)
    assert len(printed) < len(incident.affected)
    assert (found.certain, found.exit_status) == (0, 11 if printed else 12)


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_unequal_page_counts_alone_give_every_affected_request_with_a_bracket_and_no_name(tmp_path: Path, seed: int) -> None:
    incident = simulated(tmp_path, seed)
    found = signatures((only(tmp_path, "prefill", "prefill_state_indices", "server_args"),))
    brackets = sorted((row["tokens_low"], row["tokens_high"]) for row in of(found, "S2"))
    assert found.certain == len(brackets) == len(incident.affected)
    for (low, high), prompt in zip(brackets, sorted(r.prompt for r in incident.affected), strict=True):
        assert low <= prompt <= high
        assert high - low == 63
    assert {row["rid"] for row in of(found, "S2")} == {None}


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_the_population_alone_gives_every_affected_request_but_no_proof(tmp_path: Path, seed: int) -> None:
    incident = simulated(tmp_path, seed)
    path = only(tmp_path, "decode", "ReqTimeStats", "request.finished")
    found = signatures((path,), first_rejected=incident.limit)
    assert {row["rid"] for row in of(found, "S5")} == {logs.rid(r, "decode") for r in incident.affected}
    assert (found.certain, found.exit_status) == (0, 11)
    unasked = signatures((path,))
    assert of(unasked, "S5") == []
    assert any("S5" in text for text in unasked.not_asked)


def test_both_sides_prove_every_affected_request_and_invent_none(tmp_path: Path) -> None:
    incident = simulated(tmp_path, 1)
    found = signatures((str(tmp_path / "prefill.log"), str(tmp_path / "decode.log")))
    assert {row["rid"] for row in of(found, "S4")} == {logs.rid(r, "decode") for r in incident.affected}
    assert found.certain == len(incident.affected)
    assert found.exit_status == 10


def test_every_signature_has_a_reliability_and_the_text_names_the_bound(tmp_path: Path) -> None:
    assert list(RELIABILITY) == [f"S{n}" for n in range(1, 16)] == list(NAMES)[:-1]
    incident = simulated(tmp_path, 1)
    result = CliRunner().invoke(main, ["signatures", str(tmp_path)])
    assert result.exit_code == 10
    count = len(incident.affected)
    assert result.stdout.startswith(f"At least {count} affected request{' is' if count == 1 else 's are'} proved.")
    assert "  S2     unequal page counts: " in result.stdout


def test_what_no_engine_log_can_tell_is_said_and_weak_signs_prove_nothing(tmp_path: Path) -> None:
    log = (
        '2026-09-03 12:14:08  INFO http_request{method=POST uri=/v1 version=HTTP/1.1 request_id="chatcmpl-a" '
        "status_code=200 latency=970000}: smg::response: src/middleware.rs:357: finished processing request\n"
        "[2026-09-03 14:14:07 DP0 TP0] Prefill batch [3], #new-seq: 1, #new-token: 64, #cached-token: 0, token usage: 0.4\n"
        "[2026-09-03 14:14:08] ReqTimeStats(rid=d, bootstrap_room=7, input_len=900000, cached_input_len=0, output_len=5, "
        "type=decode): bootstrap_duration=1.00ms, alloc_wait_duration=1.00ms, transfer_duration=968.00ms, "
        "queue_duration=0.00ms, forward_duration=90.00ms, entry_time=1788437647.000\n"
    )
    (tmp_path / "x.log").write_text(log, encoding="utf-8")
    found = signatures((str(tmp_path / "x.log"),), first_rejected=500_000, page_size=64)
    assert [row["signature"] for row in found.rows] == ["S5+S6", "S8", "S12"]
    assert found.requests["joined_to_gateway"] == 1
    assert (found.certain, found.exit_status) == (0, 11)
    assert [text[:3] for text in found.not_told] == ["S11", "S12", "S13"]
    weak = signatures((str(tmp_path / "x.log"),))
    assert (weak.certain, weak.exit_status) == (0, 12)


def test_logs_of_no_engine_are_told_once_what_was_not_asked(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("nothing of an engine\n", encoding="utf-8")
    assert [text[:3] for text in signatures((str(tmp_path / "x.log"),)).not_asked] == ["S2 ", "S5 "]
