"""Workers trace events: what does an event show whose console text names no call?

A call that its console text names is read as the application wrote it; see the wrapper of the same name.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-workers-trace",
    title="Cloudflare Workers trace events (Logpush)",
    containers=("lines", "json"),
    units=("[]", "events[]", ""),
    signature=(("EventTimestampMs", "Logs", "Outcome"), ("EventTimestampMs", "Logs", "ScriptName")),
    fields={
        "record_id": ("Event.RayID",), "start": ("EventTimestampMs",), "duration": ("WallTimeMs|ms",),
        "http_status": ("Event.Response.Status",), "state": ("Outcome",), "node": ("ScriptName",), "tag": ("ScriptTags",),
    },
    ids={"cf_ray": ("Event.RayID",)},
    failed_states=("exception", "exceededcpu", "exceededmemory", "scriptnotfound", "killed", "error"),
    aborted_states=("canceled", "cancelled", "responsestreamdisconnected"),
    # An event that sent no body asked no model; what its console says of one is read all the same.
    framing=(
        ("Event.Request.Method", "GET"), ("Event.Request.Method", "HEAD"), ("Event.Request.Method", "OPTIONS"),
    ),
    # Nor did one whose console text was kept whole and speaks of none.
    requests=(
        ("!Logs",), ("Logs=[]",), ("Logs=*truncated*",), ("Logs=*model*",), ("Logs=*@cf/*",), ("!Outcome=ok",),
    ),
    blind_spots=(
        BlindSpot(
            "console_limit",
            "Console text and exceptions of an event share 16,384 characters; what is longer is replaced by a marker, so that "
            "a call with a long prompt may be left without model and tokens.",
            hides_long=True,
        ),
        BlindSpot("own_console", "Model and tokens are there only if the Worker wrote them to its console."),
    ),
    export=("Logpush of `workers_trace_events` for the whole period, all files as delivered.",),
    links=("https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/account/workers_trace_events/",),
    accepts=(
        '{"EventTimestampMs":1788462344250,"EventType":"fetch","Event":{"RayID":"9355473c4931386f","Response":{"Status":200}},'
        '"Logs":[{"Level":"log","Message":["<<<Logpush: messages truncated>>>"]}],"Outcome":"ok","ScriptName":"s"}',
        '{"EventTimestampMs":1788462344250,"Logs":[],"Outcome":"canceled","WallTimeMs":88001}',
    ),
    refuses=('{"EventTimestampMs":1788462344250}', '{"eventTimestamp":1788462344250,"logs":[],"outcome":"ok"}'),
)  # fmt: skip
