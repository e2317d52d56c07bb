"""wrangler tail: what does an event show whose console text names no call?

A call that its console text names is read as the application wrote it; see the wrapper of the same name.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-wrangler-tail",
    title="Output of wrangler tail --format json",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(("eventTimestamp", "logs", "outcome"),),
    fields={
        "record_id": ("event.request.headers.cf-ray", "event.rayId"), "start": ("eventTimestamp",),
        "duration": ("wallTime|ms",), "http_status": ("event.response.status",), "state": ("outcome",),
        "node": ("scriptName",), "tag": ("scriptTags",), "client_ip": ("event.request.headers.cf-connecting-ip",),
        "user_agent": ("event.request.headers.user-agent",),
    },
    ids={"cf_ray": ("event.request.headers.cf-ray", "event.rayId")},
    failed_states=("exception", "exceededcpu", "exceededmemory", "scriptnotfound", "killed", "error"),
    aborted_states=("canceled", "cancelled", "responsestreamdisconnected"),
    # An event that sent no body asked no model; what its console says of one is read all the same.
    framing=(
        ("event.request.method", "GET"), ("event.request.method", "HEAD"), ("event.request.method", "OPTIONS"),
    ),
    # Nor did one whose console text was kept whole and speaks of none.
    requests=(
        ("!logs",), ("logs=[]",), ("logs=*truncated*",), ("logs=*model*",), ("logs=*@cf/*",), ("!outcome=ok",),
        ("truncated=true",),
    ),
    blind_spots=(
        BlindSpot("live_only", "Shows events while it ran, and only a sample of them above a high rate.", hides_long=True),
        BlindSpot("own_console", "Model and tokens are there only if the Worker wrote them to its console."),
    ),
    export=("wrangler tail --format json > FILE (events before it was started are not in it)",),
    links=("https://developers.cloudflare.com/workers/observability/logs/real-time-logs/",),
    accepts=(
        '{"outcome":"ok","eventTimestamp":1788338472907,"logs":[],"event":{"response":{"status":200}}}',
        '{"outcome":"exception","eventTimestamp":1788338472907,"logs":[],"wallTime":812,"scriptName":"s"}',
    ),
    refuses=('{"outcome":"ok","logs":[]}', '{"EventTimestampMs":1,"Logs":[],"Outcome":"ok"}'),
)  # fmt: skip
