"""Workers Observability: what does an event show whose console text names no call?

A call that its console text names is read as the application wrote it; see the wrapper of the same name.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-workers-observability",
    title="Cloudflare Workers Observability (query API)",
    containers=("lines", "json"),
    units=("result.events.events[]", "events.events[]", "events[]", "[]", ""),
    signature=(("$workers", "timestamp"), ("$metadata", "source", "timestamp")),
    fields={
        "record_id": ("$metadata.id",), "stamp": ("timestamp",), "duration": ("$workers.wallTimeMs|ms",),
        "http_status": ("$workers.event.response.status", "$metadata.statusCode"), "state": ("$workers.outcome",),
        "node": ("$workers.scriptName", "$metadata.service"),
        "client_ip": ("$workers.event.request.headers.cf-connecting-ip",),
        "user_agent": ("$workers.event.request.headers.user-agent",),
    },
    ids={"cf_ray": ("$workers.event.rayId", "$workers.event.request.headers.cf-ray")},
    failed_states=("exception", "exceededcpu", "exceededmemory", "scriptnotfound", "killed", "error"),
    aborted_states=("canceled", "cancelled", "responsestreamdisconnected"),
    # One event a line of console text: a line that was kept whole and names no call is none.
    framing=(("$workers.truncated", "false"),),
    blind_spots=(
        BlindSpot(
            "sampling",
            "Only `head_sampling_rate` of the requests are kept, 1 % after the daily limit, and only for some days.",
            hides_long=True,
        ),
        BlindSpot("own_console", "Model and tokens are there only if the Worker wrote them to its console."),
    ),
    export=("Query the events of the whole period through the API, page by page, while they are still kept.",),
    links=("https://developers.cloudflare.com/workers/observability/logs/workers-logs/",),
    accepts=(
        '{"timestamp":1788338482027,"source":"started","$workers":{"outcome":"ok"},"$metadata":{"id":"1"}}',
        '{"timestamp":1788338482027,"source":{"msg":"x"},"$metadata":{"id":"1","statusCode":200}}',
    ),
    refuses=('{"timestamp":1788338482027,"source":"x"}', '{"$metadata":{}}'),
)  # fmt: skip
