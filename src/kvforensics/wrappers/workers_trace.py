"""Workers trace events: where is what a Worker wrote to its console?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="cloudflare-workers-trace",
    title="Cloudflare Workers trace events (Logpush)",
    signature=(("EventTimestampMs", "Logs", "Outcome"), ("EventTimestampMs", "Logs", "ScriptName")),
    units=("[]", "events[]", ""),
    message=("Logs.Message",),
    fields={
        "start": ("EventTimestampMs",), "duration": ("WallTimeMs|ms",), "http_status": ("Event.Response.Status",),
        "node": ("ScriptName",), "tag": ("ScriptTags",),
    },
    ids={"cf_ray": ("Event.RayID",)},
    is_record=True,
    links=("https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/account/workers_trace_events/",),
    accepts=(
        (
            '{"EventTimestampMs":1788338472907,"Outcome":"ok","ScriptName":"s","Logs":[{"Level":"log","Message":["call",'
            '"{\\"model\\":\\"m\\"}"],"TimestampMs":1788338482027}]}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"EventTimestampMs":1788338472907}',),
)  # fmt: skip
