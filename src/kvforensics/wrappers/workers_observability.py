"""Workers Observability: where is what a Worker wrote to its console?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="cloudflare-workers-observability",
    title="Cloudflare Workers Observability (query API)",
    signature=(("$workers", "timestamp"), ("$metadata", "source", "timestamp")),
    units=("result.events.events[]", "events.events[]", "events[]", "[]", ""),
    message=("source", "source.message", "$metadata.message"),
    fields={
        "stamp": ("timestamp",), "http_status": ("$workers.event.response.status", "$metadata.statusCode"),
        "duration": ("$workers.wallTimeMs|ms",), "node": ("$workers.scriptName", "$metadata.service"),
        "client_ip": ("$workers.event.request.headers.cf-connecting-ip",),
        "user_agent": ("$workers.event.request.headers.user-agent",),
    },
    ids={"cf_ray": ("$workers.event.rayId", "$workers.event.request.headers.cf-ray")},
    is_record=True,
    links=("https://developers.cloudflare.com/workers/observability/logs/workers-logs/",),
    accepts=(
        (
            '{"timestamp":1788338482027,"source":{"model":"m"},"$workers":{"scriptName":"s"},"$metadata":{"id":"1"}}',
            '{"model":"m"}',
        ),
        (
            '{"timestamp":1788338482027,"source":"{\\"model\\":\\"m\\"}","$workers":{"scriptName":"s"},"$metadata":{"id":"1"}}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"timestamp":1788338482027,"source":"x"}',),
)  # fmt: skip
