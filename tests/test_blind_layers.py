"""What a layer around a log cannot keep is part of the verdict, where it falls on long prompts."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from kvforensics.case import Case, CheckOptions

TIMES = [dt.datetime(2026, 8, 26, tzinfo=dt.UTC) + dt.timedelta(hours=12 * n) for n in range(32)]
Line = tuple[dt.datetime, str]


def app(at: dt.datetime) -> str:
    """A short call in a log that may hold prompts."""
    return json.dumps({
        "started_at": at.isoformat(), "request_id": f"r{at:%d%H}", "model": "@cf/zai-org/glm-5.3", "status": 200,
        "usage": {"prompt_tokens": 900},
    })  # fmt: skip


def access(at: dt.datetime) -> str:
    """A short call in a log that never holds one."""
    return json.dumps({
        "time_iso8601": at.isoformat(), "request_method": "POST", "request_uri": "/ai/run/@cf/zai-org/glm-5.3",
        "status": "200", "request_length": "900", "bytes_sent": "3", "request_time": "0.5",
    })  # fmt: skip


def cri(lines: Iterable[Line]) -> str:
    return "".join(f"{at:%FT%TZ} stdout F {line}\n" for at, line in lines)


def console(lines: Iterable[Line]) -> str:
    return "".join(f"{at:%FT%TZ} INFO app: {line}\n" for at, line in lines)


def insights(lines: Iterable[Line]) -> str:
    rows = [{"@timestamp": f"{at:%F %T}.000", "@message": m, "@ptr": "Cl0K"} for at, m in lines]
    return json.dumps({"results": [[{"field": k, "value": v} for k, v in row.items()] for row in rows], "status": "Complete"})


def cloudwatch(lines: Iterable[Line]) -> str:
    stamp = 1_788_338_482_027
    return json.dumps({"events": [{"timestamp": stamp, "message": m, "ingestionTime": stamp} for _, m in lines]})


def datadog(lines: Iterable[Line]) -> str:
    data = [{"id": m[-30:], "type": "log", "attributes": {"timestamp": f"{at:%FT%TZ}", "message": m}} for at, m in lines]
    return json.dumps({"data": data})


def loki(lines: Iterable[Line]) -> str:
    return "".join(json.dumps({"labels": {}, "line": m, "timestamp": f"{at:%FT%TZ}"}) + "\n" for at, m in lines)


def splunk(lines: Iterable[Line]) -> str:
    return "".join(json.dumps({"preview": False, "result": {"_time": f"{at:%FT%TZ}", "_raw": m}}) + "\n" for at, m in lines)


def trace_events(lines: Iterable[Line]) -> str:
    shown = [{"EventTimestampMs": int(at.timestamp() * 1000), "Logs": [{"Message": [m]}]} for at, m in lines]
    return "".join(json.dumps({"Outcome": "ok", "ScriptName": "s", **event}) + "\n" for event in shown)


def observability(lines: Iterable[Line]) -> str:
    events = [{"timestamp": int(at.timestamp() * 1000), "source": m, "$workers": {"scriptName": "s"}} for at, m in lines]
    return json.dumps({"success": True, "result": {"events": {"events": events}}})


def journal(lines: Iterable[tuple[dt.datetime, str | None]]) -> str:
    return "".join(
        json.dumps({"__REALTIME_TIMESTAMP": str(int(at.timestamp() * 1e6)), "MESSAGE": m}) + "\n" for at, m in lines
    )


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        (cri((t, app(t)) for t in TIMES), "not_exposed"),
        (console((t, app(t)) for t in TIMES), "not_exposed"),
        (insights((t, app(t)) for t in TIMES), "undetermined"),
        (journal((t, app(t)) for t in TIMES), "not_exposed"),
        (journal([*((t, app(t)) for t in TIMES * 4), (TIMES[9], None)]), "undetermined"),
        *((layer((t, app(t)) for t in TIMES), "undetermined") for layer in (cloudwatch, datadog, loki, splunk)),
        *((layer((t, app(t)) for t in TIMES), "undetermined") for layer in (trace_events, observability)),
        *((layer((t, access(t)) for t in TIMES), "not_exposed") for layer in (cloudwatch, datadog, loki)),
    ],
)
def test_a_layer_that_loses_long_lines_clears_only_what_is_never_long(
    tmp_path: Path, written: str, verdict: str
) -> None:
    path = tmp_path / "log.json"
    path.write_text(written, encoding="utf-8")
    with Case() as case:
        summary = case.check(CheckOptions(paths=(str(path),), incident="cloudflare-workers-ai-glm-5.3", workers=1)).summary
    assert summary["verdict"] == verdict, summary["undetermined_because"]
