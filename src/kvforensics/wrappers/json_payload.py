"""Home-made records: where is the call that is kept as JSON text under a key of their own?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

_KEYS = (
    "response", "response_body", "responseBody", "resp", "result", "payload", "body", "data", "record", "entry", "event",
    "detail", "details", "raw", "line", "call", "request", "request_body", "requestBody",
)  # fmt: skip
WRAPPER = Wrapper(
    name="json-payload",
    title="Home-made records that keep a call as JSON text (`payload`, `body`, `response` …)",
    signature=tuple((key,) for key in _KEYS),
    message=_KEYS,
    fields={
        "stamp": ("@timestamp", "timestamp", "time", "ts", "created_at", "createdAt", "date", "datetime"),
        "start": ("started_at", "startedAt", "start_time", "startTime"),
        "duration": ("latency_ms|ms", "latencyMs|ms", "duration_ms|ms", "durationMs|ms"),
        "http_status": ("status_code", "statusCode", "http_status", "status"),
        "host": ("base_url", "baseUrl", "url"),
        "tenant": ("tenant", "tenant_id", "team", "team_id", "org", "org_id", "account", "customer"),
        "user": ("user_id", "userId", "user"),
        "client_ip": ("client_ip", "clientIp", "ip"),
        "node": ("hostname", "host"),
    },
    last_resort=True,
    last_of_all=True,
    links=("https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",),
    accepts=(
        ('{"ts":"2026-09-02T08:41:22.027Z","svc":"gw","payload":"{\\"model\\":\\"m\\"}"}', '{"model":"m"}'),
        ('{"time":1788338482027,"status":200,"response":"{\\"model\\":\\"m\\"}"}', '{"model":"m"}'),
    ),
    refuses=(
        '{"ts":"2026-09-02T08:41:22Z","payload":"text"}', '{"ts":1,"model":"m","payload":"{\\"model\\":\\"n\\"}"}',
        '{"ts":1,"data":{"model":"m"}}',
    ),
)  # fmt: skip
