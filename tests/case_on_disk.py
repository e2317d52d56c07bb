"""Cases for the tests of what reads cases: made by the program itself, from logs that strangers filled as they liked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvforensics.case import Case, CheckOptions, RunFacts

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', '=HYPERLINK("http://evil.example")',
    "\x1b[31mred\x1b]52;c;AAAA\x07", "\u202egnp.exe", "a\x00b", "\ud800lone", "`]](javascript:alert(1)) | # x",
    '#eval("1") $x$ @ref *b* #image("/etc/passwd")',
    "M" * 1_000_000, "مرحبا", "漢字", "{{ 7*7 }}{% raw %}", "${jndi:ldap://x}", "line\nbreak\r\ttab", "\\x41 \\\\ &amp; %00",
)  # fmt: skip
"""Names that act somewhere: markup, script, formulas, escape sequences, direction marks, NUL, surrogates, one of 1 MB."""
PROMPT = "the-text-of-a-prompt-that-nobody-may-see"


def call(number: int, **changed: Any) -> dict[str, Any]:
    record = {
        "request_id": f"request-{number:05d}", "started_at": f"2026-09-{2 + number % 6:02d}T08:{number % 60:02d}:00.000Z",
        "model": "@cf/zai-org/glm-5.3", "provider": "cloudflare", "tenant": f"team-{number}", "status": 200, "latency_ms": 900,
        "usage": {"prompt_tokens": 702_114, "completion_tokens": 5, "total_tokens": 702_119},
        "messages": [{"role": "user", "content": PROMPT}], "client_ip": f"192.0.2.{number % 250}", "api_key": f"key-{number}",
    }  # fmt: skip
    return {**record, **changed}


def write_logs(folder: Path, records: list[dict[str, Any]], name: str = "app.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return folder


def make_case(target: Path, logs: Path, **options: Any) -> Path:
    with Case() as case:
        case.check(CheckOptions((str(logs),), case_dir=str(target), **options))
        case.write_case(str(target), RunFacts(1.0, "here", 1))
    return target


def hostile_case(folder: Path) -> Path:
    records = [call(n, tenant=name, user_agent=name, request_id=f"{n} {name}") for n, name in enumerate(HOSTILE)]
    records += [call(40, usage=None, tenant=HOSTILE[0])]
    return make_case(folder / "case", write_logs(folder / "logs", records, "<b>=1+1\u202e.jsonl"))


def plain_case(folder: Path, tenants: int = 4) -> Path:
    records = [call(n, tenant=f"team-{n % tenants}") for n in range(3 * tenants)]
    records += [call(90, usage=None), call(91, usage={"prompt_tokens": 5, "completion_tokens": 1}), call(92, cache="HIT")]
    return make_case(folder / "case", write_logs(folder / "logs", records))
