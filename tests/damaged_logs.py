"""What does a log with a known truth look like after somebody has been careless with it?

`made` writes a home-made log whose number of affected responses is known; `damaged` removes fields and offsets, cuts lines, and
repeats lines, also damaged ones. Whatever is done, the truth is what it was.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

START, END = datetime(2026, 8, 27, tzinfo=UTC), datetime(2026, 9, 9, 14, tzinfo=UTC)
MODEL, OTHER = "@cf/zai-org/glm-5.3", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"
OVER = 681_280
FIELDS = (
    "started_at", "requestId", "tenant", "model", "provider", "status", "latency_ms", "usage", "usage.prompt_tokens",
    "usage.completion_tokens", "usage.total_tokens", "response_id", "key_alias",
)  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Log:
    """The lines of a log, and how many affected responses of how many tenants it was made of."""

    lines: tuple[str, ...]
    responses: int
    tenants: int


def made(chance: random.Random) -> tuple[list[Row], int, int]:
    """The rows of an undamaged log, and the truth."""
    rows, affected, tenants = [], 0, set()
    for n in range(chance.randrange(5, 60)):
        start = START + timedelta(seconds=chance.uniform(-2, 15.5) * 86_400)
        tokens = chance.choice((OVER + 1, 690_000, 900_000, 1_030_000, 700_000 + n, 681_277, 5_000, 200_000))
        status = chance.choice((200,) * 6 + (400, 502))
        model = chance.choice((MODEL,) * 3 + (OTHER,))
        tenant = f"team-{chance.randrange(6)}"
        usage = {"prompt_tokens": tokens, "completion_tokens": 12, "total_tokens": tokens + 12}
        rows.append(
            {
                "evt": "llm_call", "started_at": start.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", "requestId": f"r-{n}",
                "tenant": tenant, "model": model, "provider": "cloudflare", "status": status,
                "latency_ms": chance.randrange(500, 90_000), "key_alias": f"key-{chance.randrange(9)}",
                "response_id": f"chatcmpl-{n}",
                "usage": usage if status == 200 else None,
            }
        )  # fmt: skip
        if model == MODEL and status == 200 and tokens > OVER and START <= start < END:
            affected += 1
            tenants.add(tenant)
    return rows, affected, len(tenants)


def damaged(seed: int) -> Log:
    """One damaged log."""
    chance = random.Random(seed)
    rows, responses, tenants = made(chance)
    much = chance.choice((0.02, 0.1, 0.3))
    rows += [json.loads(json.dumps(chance.choice(rows))) for _ in range(int(len(rows) * much))]
    chance.shuffle(rows)
    lines = []
    for row in rows:
        if chance.random() < much:
            _remove(row, chance)
        if chance.random() < much and isinstance(row.get("started_at"), str):
            row["started_at"] = row["started_at"].removesuffix("Z")
        line = json.dumps(row)
        if chance.random() < much:
            line = line[: chance.randrange(1, len(line))]
        lines.append(line)
    lines += [chance.choice(lines) for _ in range(int(len(lines) * much / 2))]
    return Log(tuple(lines), responses, tenants)


def _remove(row: Row, chance: random.Random) -> None:
    for name in chance.sample(FIELDS, chance.randrange(1, 4)):
        first, _, second = name.partition(".")
        if not second:
            row.pop(first, None)
        elif isinstance(row.get(first), dict):
            row[first].pop(second, None)
