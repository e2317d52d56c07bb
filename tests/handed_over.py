"""What does a case look like that is to be handed over?

A small case with every disposition, rules, rejected lines, and text of strangers in every field that reaches an export.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvforensics.case import Case, CheckOptions, RunFacts
from kvforensics.case_reader import StoredCase, open_case

CANARY = "zebra-quartz-prompt-canary"
HOSTILE = (
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1", "a;=1", '",=1',
    "<script>alert(1)</script>", "](javascript:alert(1))", "`|`", "\x1b[31mred\x1b]8;;http://x\x07", "\x1b]52;c;eA==\x07",
    "\u202eevil", "\u2066a\u2069", "zero\u200bwidth", "\x9b31m", "nul\x00nul", "\U000e0041tag", "_x0041_", "' OR 1=1 --",
    "../../etc/passwd", "~root", "\ufeffbom", "<r>&</r>", "long " + "x" * 1_000_000,
)  # fmt: skip


def call(number: int, **changed: Any) -> dict[str, Any]:
    """One record of an affected response; keyword arguments change it."""
    record = {
        "request_id": f"r{number}", "started_at": f"2026-09-02T08:{number % 60:02d}:{number // 60:02d}.000Z",
        "model": "@cf/zai-org/glm-5.3", "provider": "cloudflare", "tenant": f"team-{number % 7}", "user": f"u-{number}",
        "status": 200, "latency_ms": 900, "messages": [{"role": "user", "content": f"{CANARY} {number}"}],
        "usage": {"prompt_tokens": 702_114, "completion_tokens": 5, "total_tokens": 702_119},
        "choices": [{"message": {"content": f"{CANARY} answer"}}],
    }  # fmt: skip
    return {**record, **changed}


def records() -> list[dict[str, Any]]:
    """Records of every kind."""
    return [
        *(call(n) for n in range(30)),
        call(40, usage=None), call(41, started_at=None), call(42, status=500, choices=None), call(43, model="@cf/meta/llama"),
        call(44, user_agent="loadtest/1"), call(45, cache="HIT", cf_aig_cache_status="HIT"), call(3),
        *(call(50 + n, tenant=text, user=text, user_agent=text, client_ip=text) for n, text in enumerate(HOSTILE)),
    ]  # fmt: skip


def logs(folder: Path, given: list[dict[str, Any]] | None = None) -> Path:
    """A folder of logs below `folder`, with these records among others."""
    place = folder / "logs"
    place.mkdir(parents=True)
    lines = [json.dumps(record) for record in given or records()]
    broken = f'{{"messages": "{CANARY} broken'
    (place / "app.jsonl").write_text("\n".join([*lines, "", broken, ""]), encoding="utf-8")
    (place / "=cmd \u202e\x1b[31m.jsonl").write_text(json.dumps(call(90)) + "\n", encoding="utf-8")
    other = call(7, model="@cf/meta/llama", usage=None)
    (place / "proxy.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    return place


def rules(folder: Path) -> str:
    """A file of exclusion rules, with a list beside it."""
    (folder / "agents.txt").write_text("loadtest/*  # ours\n", encoding="utf-8")
    path = folder / "rules.toml"
    path.write_text(
        'schema = "kvforensics.exclusions/1"\n[[rule]]\nid = "load"\ncategory = "test"\nreason = "=Load test"\n'
        'approved_by = "lead"\nuser_agent = "@agents.txt"\n',
        encoding="utf-8",
    )
    return str(path)


def made_case(folder: Path, given: list[dict[str, Any]] | None = None, **options: Any) -> StoredCase:
    """A case folder made from these logs."""
    place = logs(folder, given)
    target = folder / "case"
    with Case() as case:
        case.check(CheckOptions((str(place),), exclusions=(rules(folder),), workers=1, **options))
        case.write_case(str(target), RunFacts(1.0, "here", 1))
    return open_case(target)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by name."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
