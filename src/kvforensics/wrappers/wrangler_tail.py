"""wrangler tail: where is what a Worker wrote to its console?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="cloudflare-wrangler-tail",
    title="Output of wrangler tail --format json",
    signature=(("eventTimestamp", "logs", "outcome"),),
    units=("[]", ""),
    message=("logs.message",),
    fields={
        "start": ("eventTimestamp",), "duration": ("wallTime|ms",), "http_status": ("event.response.status",),
        "node": ("scriptName",), "tag": ("scriptTags",), "client_ip": ("event.request.headers.cf-connecting-ip",),
        "user_agent": ("event.request.headers.user-agent",),
    },
    ids={"cf_ray": ("event.request.headers.cf-ray", "event.rayId")},
    is_record=True,
    links=("https://developers.cloudflare.com/workers/observability/logs/real-time-logs/",),
    accepts=(
        (
            '{"outcome":"ok","eventTimestamp":1788338472907,"logs":[{"message":["call",{"model":"m"}],'
            '"level":"log","timestamp":1788338482027}]}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"outcome":"ok","logs":[]}',),
)  # fmt: skip
