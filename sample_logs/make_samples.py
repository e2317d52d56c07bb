"""What do the sample logs hold, and what is the truth about them?

Writes `customer/`, `provider/`, `engine/`, `expected.json` and `expected-engine.json` beside itself, or into the folder
given as the only argument.
Everything is made up; the same bytes come out every time (in `.gz` files: the same content). The truth is worked out
here, from the calls as they were made, not by the program that reads the logs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from make_engine import write_engine

MODEL = "@cf/zai-org/glm-5.3"
OTHER_MODELS = (
    "@cf/meta/llama-3.3-70b-instruct-fp8-fast", "@cf/zai-org/glm-5.3-flash", "@cf/zai-org/glm-5.2",
    "@cf/openai/gpt-oss-120b",
)  # fmt: skip
BASE_URL = "https://api.cloudflare.com/client/v4/accounts/00000000000000000000000000000000/ai/v1"
FIRST, LAST = datetime(2026, 8, 24, tzinfo=UTC), datetime(2026, 9, 12, tzinfo=UTC)
START, END = datetime(2026, 8, 27, tzinfo=UTC), datetime(2026, 9, 9, 14, tzinfo=UTC)
TAIL = datetime(2026, 9, 9, 14, 52, tzinfo=UTC)
OVER, UNCERTAIN_FROM = 681_280, 681_274
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
AGENTS = ("acme-assistant/2.4", "python-httpx/0.28.1", "opencode/1.3.0", "review-bot/0.9")
AFFECTED_AT_PROVIDER, TENANTS_AT_PROVIDER = 155, 40


@dataclass(frozen=True, slots=True)
class Call:
    """One model call as it happened. `tokens` is None where no log learnt the count; `logs` are those that saw it."""

    start: datetime
    tenant: str
    logs: tuple[str, ...]
    tokens: int | None = None
    model: str = MODEL
    status: int = 200
    duration_ms: int = 4_000
    rules: tuple[str, ...] = ()
    marks: tuple[tuple[str, Any], ...] = ()

    def id(self, kind: str) -> str:
        """Sixty-four hexadecimal digits, the same for the same call and kind, and like no other."""
        return hashlib.sha256(f"{kind} {self.start.isoformat()} {self.tenant} {self.logs}".encode()).hexdigest()

    @property
    def log_id(self) -> str:
        """The gateway's log id: a ULID, whose first ten characters are the time."""
        bits = (_milliseconds(self.start) << 80) | (int(self.id("log"), 16) & ((1 << 80) - 1))
        return "".join(CROCKFORD[bits >> shift & 31] for shift in range(125, -5, -5))

    def disposition(self) -> str:
        """`affected`, `possible`, `excluded`, or the first part that is false."""
        if self.model != MODEL:
            return "on_model"
        if not START <= self.start < TAIL:
            return "in_window"
        if self.tokens is not None and self.tokens < UNCERTAIN_FROM:
            return "over_threshold"
        if self.status != 200:
            return "served"
        if self.rules:
            return "excluded"
        return "affected" if self.tokens is not None and self.tokens > OVER and self.start < END else "possible"


class Chance:
    """Seeded chance that is the same in every Python: of `random`, only `random()` is promised to stay."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        """A whole number from 0 up to, not including, n."""
        return int(self._random.random() * n)

    def of(self, values: Sequence[str]) -> str:
        """One of the values."""
        return values[self.below(len(values))]

    def skewed(self, n: int) -> int:
        """As `below`, mostly small."""
        return int(self._random.random() ** 2.5 * n)

    def moment(self, since: datetime, until: datetime) -> datetime:
        """A moment in a stretch of time, in whole milliseconds."""
        return since + timedelta(milliseconds=self.below(int((until - since) / timedelta(milliseconds=1))))


def _milliseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def ordinary(chance: Chance, log: str, every: timedelta, tenants: Sequence[str]) -> Iterator[Call]:
    """What a log holds all day: other models, short prompts, some failures; nothing that could be affected."""
    at = FIRST + chance.below(60) * MINUTE
    while at < LAST:
        kind = chance.below(100)
        # A stamp may be an end: within minutes of the edge the log itself could not tell on which side a call lies.
        if not TAIL <= at < TAIL + 5 * MINUTE:
            call = Call(at, chance.of(tenants), (log,), 200 + chance.skewed(60_000), duration_ms=900 + chance.below(30_000))
            if kind < 45:
                yield replace(call, model=chance.of(OTHER_MODELS))
            elif at >= END or kind < 52:
                refusal = 403 if at >= END else (400, 429, 502)[chance.below(3)]
                yield replace(call, tokens=None, status=refusal, duration_ms=40 + chance.below(400))
            elif kind < 60:
                yield replace(call, tokens=200_000 + chance.below(470_000), duration_ms=20_000 + chance.below(60_000))
            else:
                yield call
        at += every / 2 + chance.below(1000) * every / 1000 + timedelta(milliseconds=chance.below(1000))


def customer_calls() -> Iterator[Call]:
    """A customer with a gateway, an assistant that writes local time, and a dump of its batch jobs."""
    chance = Chance(20260827)
    teams = ("team-atlas", "team-borealis", "team-cobalt")
    yield from ordinary(chance, "gateway", 5 * HOUR, teams)
    yield from ordinary(chance, "assistant", 4 * HOUR, teams)
    yield from ordinary(chance, "dump", 7 * HOUR, teams)
    at = datetime(2026, 9, 3, 14, 12, 44, 512_000, tzinfo=UTC)
    yield Call(at, "team-borealis", ("gateway", "assistant"), 702_114, duration_ms=61_200)
    # A stream whose last chunk was lost: an answer, but no count.
    yield Call(at + 51 * HOUR, "team-atlas", ("gateway",), duration_ms=48_090)
    load_test = (("user_agent", "loadtest/2.1"),)
    yield Call(at + 88 * HOUR, "team-cobalt", ("dump",), 690_004, duration_ms=52_000, rules=("load-test",), marks=load_test)
    # 00:30 in Amsterdam, 22:30 the day before in UTC: before the window, but inside for who reads local time as UTC.
    yield Call(START - 90 * MINUTE, "team-cobalt", ("assistant",), 695_000, duration_ms=58_011)
    yield Call(at + 30 * HOUR, "team-atlas", ("assistant",), None, status=400, duration_ms=210)
    yield Call(datetime(2026, 9, 10, 9, 1, tzinfo=UTC), "team-borealis", ("gateway",), 912_345, duration_ms=70_100)


def provider_calls() -> Iterator[Call]:
    """A provider with three nodes in three zones and two gateways, one of them read through Logpush."""
    chance = Chance(155)
    tenants = [f"org-{hashlib.sha256(str(n).encode()).hexdigest()[:6]}" for n in range(TENANTS_AT_PROVIDER)]
    nodes = ("ams-01", "scl-02", "nrt-03")
    for log, minutes in (("ams-01", 42), ("scl-02", 45), ("nrt-03", 25), ("gateway", 75), ("logpush", 40)):
        yield from ordinary(chance, log, minutes * MINUTE, tenants)
    long = Call(START, "", (), OVER + 1, duration_ms=30_000)
    for n in range(AFFECTED_AT_PROVIDER - 3):
        node = chance.of(nodes)
        logs = (("gateway",), ("gateway", node), ("gateway", node), (node,), (node,), (node,), ("logpush",), ("logpush", node))
        yield replace(
            long, start=chance.moment(START + HOUR, END - HOUR), logs=logs[n % 8], tokens=OVER + 1 + chance.skewed(367_000),
            tenant=tenants[n if n < len(tenants) else chance.skewed(len(tenants))], duration_ms=20_000 + chance.below(70_000),
        )  # fmt: skip
    # The edges of the window and of the threshold, in the log that writes local time in Santiago.
    yield replace(long, start=START, logs=("scl-02",), tenant=tenants[3])
    yield replace(long, start=END - timedelta(milliseconds=588), logs=("scl-02",), tenant=tenants[5])
    # After the clocks went forward on 6 September: with July's offset it would be an hour late and out of the window.
    yield replace(long, start=END - 40 * MINUTE, logs=("scl-02",), tenant=tenants[8])
    yield replace(long, start=START - timedelta(milliseconds=1), logs=("scl-02",), tenant=tenants[3])
    yield replace(long, start=TAIL, logs=("scl-02",), tenant=tenants[5])
    for _ in range(12):
        yield replace(
            long, start=chance.moment(FIRST, START - HOUR), logs=(chance.of((*nodes, "gateway")),),
            tenant=chance.of(tenants), tokens=700_000 + chance.below(300_000),
        )  # fmt: skip
    for _ in range(9):  # a failed attempt, and the retry that was answered but was short
        at, tenant, node = chance.moment(START + HOUR, END - HOUR), chance.of(tenants), chance.of(nodes)
        yield Call(at, tenant, (node,), None, status=502, duration_ms=180)
        yield Call(at + timedelta(seconds=2), tenant, (node,), 600_000 + chance.below(70_000), duration_ms=41_000)
    yield from provider_exclusions(chance, nodes)


def provider_exclusions(chance: Chance, nodes: Sequence[str]) -> Iterator[Call]:
    """Tests and researchers at the provider: long prompts that were never a customer's, and some short ones."""
    loadgen, synthetic = ("user_agent", "qa-loadgen/3.1 (linux)"), ("tags", ["synthetic", "canary"])
    kinds: tuple[tuple[int, str, tuple[str, ...], tuple[tuple[str, Any], ...]], ...] = (
        (14, "qa-internal", ("qa-tenants",), ()),
        (6, "org-staging", ("qa-loadgen",), (loadgen,)),
        (3, "org-staging", ("qa-loadgen", "qa-synthetic"), (loadgen, synthetic)),
        (4, "org-canary", ("qa-synthetic",), (synthetic,)),
        (5, "org-research", ("researcher-network",), (("client_ip", "198.51.100.21"),)),
        (4, "org-research", ("researcher-network",), (("client_ip", "2001:db8:5e::17"),)),
        (3, "org-research", ("researcher-key",), (("key_alias", "red-team-1"),)),
    )
    for count, tenant, rules, marks in kinds:
        for n in range(count):
            node = chance.of(nodes)
            logs = ("gateway", node) if not marks and n % 2 else (node,)
            tokens = 690_000 + chance.below(300_000) if n % 4 else 1_000 + chance.below(9_000)
            start = chance.moment(START + 24 * HOUR, END - 24 * HOUR)
            yield Call(start, tenant, logs, tokens, duration_ms=35_000, rules=rules, marks=marks)


def usage(call: Call) -> dict[str, Any]:
    """A usage object as chat completions have it."""
    tokens, out = call.tokens or 0, int(call.id("out")[:2], 16) + 40
    cached = tokens // 64 * 60 if int(call.id("cached")[0], 16) < 6 else 0
    details = {"cached_tokens": cached}
    return {"prompt_tokens": tokens, "completion_tokens": out, "total_tokens": tokens + out, "prompt_tokens_details": details}


def gateway_row(call: Call) -> dict[str, Any]:
    """A row of the AI Gateway's REST logs."""
    ok = call.status == 200
    return {
        "id": call.log_id, "cached": False, "created_at": stamp(call, "Z"), "duration": call.duration_ms,
        "model": call.model, "path": "chat/completions", "provider": "workers-ai", "success": ok,
        "tokens_in": call.tokens if ok else 0, "tokens_out": usage(call)["completion_tokens"] if ok else 0,
        "metadata": json.dumps({"team": call.tenant, "user_id": f"u-{call.id('user')[:4]}"}), "model_type": "chat",
        "request_content_type": "application/json", "request_type": "", "response_content_type": "application/json",
        "status_code": call.status, "step": 0,
    }  # fmt: skip


def logpush_row(call: Call) -> dict[str, Any]:
    """A decrypted row of the Logpush data set `ai_gateway_events`."""
    body = {"id": f"chatcmpl-{call.id('answer')[:32]}", "object": "chat.completion", "model": call.model, "usage": usage(call)}
    return {
        "Cached": False, "Endpoint": "chat/completions", "Gateway": "prod", "Metrics": {"durationMs": call.duration_ms},
        "Model": call.model, "Provider": "workers-ai", "RateLimited": False, "RequestedModel": f"workers-ai/{call.model}",
        "RoutingDecisionID": "", "RoutingReason": "", "StatusCode": call.status,
        "Timestamp": call.start.strftime("%Y-%m-%dT%H:%M:%SZ"), "Metadata": json.dumps({"team": call.tenant}),
        "RequestBody": None, "ResponseBody": json.dumps(body) if call.status == 200 else None,
    }  # fmt: skip


def dump_row(call: Call) -> dict[str, Any]:
    """A request and its answer as a batch job dumps them, with the offset of its own clock."""
    answer = {
        "id": f"chatcmpl-{call.id('answer')[:32]}", "object": "chat.completion", "model": call.model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "(sample)"}, "finish_reason": "stop"}],
        "usage": usage(call),
    }  # fmt: skip
    return {
        "ts": stamp(call, "Europe/Amsterdam", offset=True), "latency_ms": call.duration_ms, "base_url": BASE_URL,
        "team": call.tenant, "request": {"model": call.model, "messages": [{"role": "user", "content": "(sample)"}]},
        "status": call.status,
        "response": answer if call.status == 200 else {"error": {"code": call.status, "message": "refused"}},
        "headers": {"x-request-id": call.id("request")[:32], "user-agent": dict(call.marks).get("user_agent", AGENTS[1])},
    }  # fmt: skip


def app_row(call: Call, zone: str, *, offset: bool = False, node: str | None = None) -> dict[str, Any]:
    """A line of a home-made log: an application's, or with `node` a node's own with what a provider keeps beside it."""
    row: dict[str, Any] = {
        "evt": "llm_call", "started_at": stamp(call, zone, offset=offset), "requestId": call.id("request")[:20],
        "tenant": call.tenant, "model": call.model, "provider": "cloudflare", "status": call.status,
        "latency_ms": call.duration_ms,
    }  # fmt: skip
    if "gateway" in call.logs:
        row["cf_aig_log_id"] = call.log_id
    if "logpush" in call.logs:
        row["response_id"] = f"chatcmpl-{call.id('answer')[:32]}"
    if node is not None:
        pick = int(call.id("client")[:6], 16)
        net = ("192.0.2", "203.0.113")[pick % 2]
        row |= {"node": node, "key_alias": f"key-{pick % 90:02}", "client_ip": f"{net}.{pick // 2 % 250 + 1}"}
        row |= {"user_agent": AGENTS[pick % len(AGENTS)]} | dict(call.marks)
    return row | {"usage": usage(call) if call.status == 200 else None}


def stamp(call: Call, zone: str, *, offset: bool = False) -> str:
    """The start in milliseconds: with `Z`, with the zone's offset, or naive local time."""
    if zone == "Z":
        return call.start.strftime("%Y-%m-%dT%H:%M:%S.") + f"{call.start.microsecond // 1000:03}Z"
    local = call.start.astimezone(ZoneInfo(zone))
    return local.isoformat("T", "milliseconds") if offset else local.replace(tzinfo=None).isoformat(" ", "milliseconds")


class Folder:
    """One scanned folder: takes files, counts their lines as a ledger would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ledger = Counter({"files": 0, "lines": 0, "records": 0, "rejected": 0, "blank": 0, "framing": 0})

    def lines(self, name: str, rows: Sequence[dict[str, Any]], other: Sequence[tuple[str, str]] = ()) -> None:
        """A file of one object a line, then the `other` lines, each with what it counts as."""
        text = "".join(json.dumps(row) + "\n" for row in rows) + "".join(line for line, _ in other)
        self._write(name, text, len(rows), Counter(kind for _, kind in other))

    def pages(self, name: str, rows: Sequence[dict[str, Any]], size: int = 50) -> None:
        """Answers of a paged API, newest row first, one file a page. `name` has a place for the page's number."""
        newest = sorted(rows, key=lambda row: str(row["created_at"]), reverse=True)
        for page, at in enumerate(range(0, len(newest), size), start=1):
            part = newest[at : at + size]
            info = {"page": page, "per_page": size, "count": len(part), "total_count": len(rows)}
            body = ",\n".join(json.dumps(row) for row in part)
            text = f'{{"success":true,"errors":[],"messages":[],"result_info":{json.dumps(info)},"result":[\n{body}\n]}}\n'
            self._write(name.format(page), text, len(part), Counter())

    def _write(self, name: str, text: str, records: int, other: Counter[str]) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data, 9, mtime=0) if name.endswith(".gz") else data)
        self.ledger.update(other)
        self.ledger.update({"files": 1, "lines": records + other.total(), "records": records})


def seen(calls: Sequence[Call], log: str, row: Callable[[Call], dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of one log by month (`2026-08`), in time order."""
    months: dict[str, list[dict[str, Any]]] = {"2026-08": [], "2026-09": []}
    for call in calls:
        if log in call.logs:
            months[f"{call.start:%Y-%m}"].append(row(call))
    return months


def write_customer(root: Path) -> dict[str, Any]:
    """The customer's folder and the truth about it."""
    calls, folder = sorted(customer_calls(), key=lambda c: c.start), Folder(root / "customer")
    for month, rows in seen(calls, "gateway", gateway_row).items():
        folder.pages(f"ai-gateway/list_logs_{month}_{{}}.json", rows)
    local = seen(calls, "assistant", lambda c: app_row(c, "Europe/Amsterdam"))
    folder.lines("assistant/calls-2026-08.jsonl.gz", local["2026-08"])
    folder.lines("assistant/calls-2026-09.jsonl", local["2026-09"], [("\n", "blank")])
    dump = seen(calls, "dump", dump_row)
    folder.lines("batch/openai-dump.jsonl", dump["2026-08"] + dump["2026-09"])
    return truth("customer", calls, folder, ["--timezone", "Europe/Amsterdam"])


def write_provider(root: Path) -> dict[str, Any]:
    """The provider's fleet and the truth about it."""
    calls, folder = sorted(provider_calls(), key=lambda c: c.start), Folder(root / "provider")
    gateway = seen(calls, "gateway", gateway_row)
    folder.pages("gateway/list_logs_2026-08_{:02}.json.gz", gateway["2026-08"])
    folder.pages("gateway/list_logs_2026-09_{:02}.json", gateway["2026-09"])
    for month, rows in seen(calls, "logpush", logpush_row).items():
        folder.lines(f"logpush/{month.replace('-', '')}.log.gz", rows)
    cut = '{"evt": "llm_call", "started_at": "2026-09-12 00:00:0'
    for node, zone, offset, ending in (
        ("ams-01", "UTC", False, ".jsonl"), ("scl-02", "America/Santiago", False, ".jsonl"),
        ("nrt-03", "Asia/Tokyo", True, ".jsonl.gz"),
    ):  # fmt: skip
        row = lambda c, z=zone, o=offset, n=node: app_row(c, z, offset=o, node=n)  # noqa: E731 - bound here and now
        for month, rows in seen(calls, node, row).items():
            last = [("\n", "blank"), (cut, "rejected")] if (node, month) == ("ams-01", "2026-09") else []
            folder.lines(f"nodes/{node}_{month}{ending}", rows, last)
    return truth("provider", calls, folder, ["--timezone", "UTC", "--timezone", "scl-*=America/Santiago"])


def truth(name: str, calls: Sequence[Call], folder: Folder, options: Sequence[str]) -> dict[str, Any]:
    """What a check of the folder has to answer."""
    by: dict[str, list[Call]] = {}
    for call in calls:
        by.setdefault(call.disposition(), []).append(call)
    affected, possible, excluded = (by.get(k, []) for k in ("affected", "possible", "excluded"))
    tenants = {call.tenant for call in affected}
    rules = {
        rule: {
            "hits": sum(len(c.logs) for c in calls if rule in c.rules and c.model == MODEL),
            "would_be_affected": sum(rule in c.rules for c in excluded),
        }
        for rule in sorted({rule for call in calls for rule in call.rules})
    }
    summary = {
        "verdict": "exposed",
        "complete": True,
        "responses": bounds(len(affected), len(possible)),
        "tenants": bounds(len(tenants), len({c.tenant for c in possible} - tenants)) | {"unknown_records": 0},
        "excluded": {"records": len(excluded), "tenants": len({c.tenant for c in excluded}), "by_rule": rules},
        "duplicates": sum(len(c.logs) - 1 for c in (*affected, *possible, *excluded)),
        "replays": 0,
        "outside": {
            part: sum(len(c.logs) for c in by.get(part, [])) for part in ("on_model", "in_window", "over_threshold", "served")
        },
        "ledger": dict(folder.ledger),
    }
    arguments = [f"sample_logs/{name}", "--exclude", f"sample_logs/{name}-exclusions.toml", *options]
    return {"arguments": arguments, "exit_status": 10, "summary": summary}


def bounds(sure: int, maybe: int) -> dict[str, int]:
    """Counts as the summary gives them."""
    return {"affected": sure, "possible": maybe, "lower": sure, "upper": sure + maybe}


def main(root: Path) -> None:
    """Write everything under `root`."""
    expected = {"customer": write_customer(root), "provider": write_provider(root)}
    (root / "expected.json").write_bytes((json.dumps(expected, indent=2) + "\n").encode())
    (root / "expected-engine.json").write_bytes((json.dumps(write_engine(root), indent=2) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
