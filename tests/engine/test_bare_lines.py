"""Does reading by whole columns give what reading line by line gives?"""

from __future__ import annotations

from pathlib import Path

import pytest

from kvforensics.engine import bare_lines
from kvforensics.engine.evidence import Evidence, read_evidence
from simulation import engine, logs

STATS = (
    "[2026-09-03 14:14:0{n}{ranks}] ReqTimeStats(rid={rid}, bootstrap_room={room}, input_len={tokens}, cached_input_len=0, "
    "output_len=5, attempts=1, type=decode): bootstrap_duration=1.50ms, alloc_wait_duration=0.25ms, "
    "transfer_duration={transfer}, queue_duration=0.10ms, forward_duration=90.00ms, entry_time={entry}"
)
FINISHED = (
    '{{"timestamp": "{at}", "event": "request.finished", "rid": "x", "obj": {{"rid": "x", "bootstrap_room": {room}, '
    '"custom_labels": {{"tenant": {tenant}}}, "text": "{{\\"event\\": 1}}"}}, "out": {{"meta_info": {{"id": "{rid}", '
    '"finish_reason": {reason}, "prompt_tokens": {tokens}, "completion_tokens": 5, "dp_rank": 1}}}}}}'
)
EXPORT = (
    '{{"request_parameters": "{{\\"bootstrap_room\\": {room}, \\"team\\": \\"red\\"}}", "id": "{rid}", '
    '"prompt_tokens": {tokens}, "completion_tokens": 5, "request_received_ts": 1788437647.25, '
    '"decode_finished_ts": 1788437649.75}}'
)
BATCH = "[2026-09-03 14:14:09 DP1 TP1] Decode batch, #running-req: {n}, #token: {tokens}, token usage: 0.41, #queue-req: 0"


def odd_lines() -> list[str]:
    """Lines in the common shapes, among them such as nobody should write."""
    whole = {"n": 1, "ranks": " DP3 TP3 EP3", "room": 1 << 62, "tokens": 5, "transfer": "2.00ms", "entry": "1788437647.125"}
    lines = [STATS.format(**{**whole, "rid": f"r{n}", **change}) for n, change in enumerate((
        {}, {"ranks": ""}, {"room": "None"}, {"room": 1 << 63}, {"room": "9" * 19}, {"tokens": "9" * 25},
        {"transfer": "1.2.3ms"}, {"transfer": "9" * 40 + "ms"}, {"entry": "17884376470.5"}, {"entry": "x"},
        {"rid": "HEALTH_CHECK_1"}, {"rid": "a b"}, {"ranks": " PP0 ATTN_CP1 TP1 EP1"}, {"n": 0}, {},
    ))]  # fmt: skip
    lines += ["[2026-13-03 14:14:01] ReqTimeStats(rid=bad-date, bootstrap_room=1, input_len=1, output_len=1, type=decode): "]
    lines += [lines[0] + "\r", "progress\r" + lines[0], f"2026-09-03T12:14:01.5Z stderr F {lines[1]}"]
    told = {"at": "2026-09-03T14:14:08.250000", "room": 7, "tenant": '"blue"', "reason": '{"type": "stop"}', "tokens": 9}
    for n, change in enumerate((
        {}, {"at": "2026-09-03T14:14:08+02:00"}, {"at": "soon"}, {"tenant": '"\\ud800"'}, {"tenant": "5"},
        {"reason": '{"type": "length", "length": 0}'}, {"reason": "null"}, {"tokens": "1e3"}, {"tokens": "true"},
        {"room": 1 << 70}, {"room": "[1, 2]"}, {},
    )):  # fmt: skip
        line = FINISHED.format(**{**told, "rid": f"f{n}", **change})
        lines += [line, f"[2026-09-03 14:14:0{n % 10}] {line}"]
    lines += [line.replace('"out": {', '"out": [{').replace("}}}", "}}]}") for line in lines[-3:]]
    lines += [EXPORT.format(rid=f"e{n}", room=n, tokens=n) for n in range(5)]
    lines += [BATCH.format(n=n, tokens=100 + n) for n in range(5)]
    return [*lines, "[2026-09-03 14:14:09 DP1 TP1] Cache flushed successfully!"]


def compared(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Evidence, Evidence]:
    by_columns = read_evidence((str(path),), None)
    monkeypatch.setattr(bare_lines.Lane, "take", lambda _self, lines, _first: lambda: range(len(lines)))
    return by_columns, read_evidence((str(path),), None)


@pytest.mark.parametrize("of", ["simulated", "odd"])
def test_columns_and_lines_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    if of == "simulated":
        logs.write(engine.simulate(5, page=64, dp=3, per_rank=12), tmp_path)
    else:
        text = "\n".join(odd_lines()) + "\n"
        (tmp_path / "odd.log").write_text(text, encoding="utf-8", newline="")
    taken = []
    monkeypatch.setattr(bare_lines._Bare, "_kept", lambda self, rows, first, kept=bare_lines._Bare._kept: (
        taken.append(rows.height), kept(self, rows, first))[1])  # fmt: skip
    fast, slow = compared(tmp_path, monkeypatch)
    assert sum(taken) > 20
    for name in ("stats", "answers", "events"):
        one, other = (getattr(e, name).whole().sort("source", "line") for e in (fast, slow))
        assert one.equals(other), name
    assert fast.stats.height + fast.answers.height > 30
    assert [(s.line, s.role_hints.keys()) for s in fast.starts] == [(s.line, s.role_hints.keys()) for s in slow.starts]
