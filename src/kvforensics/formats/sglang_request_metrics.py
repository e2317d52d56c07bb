"""SGLang: what do the files of `--export-metrics-to-file` tell?

One object a finished request: its parameters as JSON text, beside the engine's own numbers. Times are epoch seconds; the
hour in the file name is local. On a prefill node a request that the pool could not hold counts as one token.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="sglang-request-metrics",
    title="SGLang request metrics file",
    containers=("lines", "json"),
    signature=(("request_parameters", "prompt_tokens"), ("request_parameters", "finish_reason", "e2e_latency")),
    fields={
        "record_id": ("id", "request_parameters.rid"),
        "start": ("request_received_ts",),
        "end": ("request_finished_ts", "decode_finished_ts", "response_sent_to_client_ts"),
        "duration": ("e2e_latency|s",),
        "model": ("request_parameters.model",),
        "prompt": ("prompt_tokens",),
        "cache_read": ("cached_tokens",),
        "completion": ("completion_tokens",),
        "http_status": ("finish_reason.status_code",),
        # An abort with a status was the engine's own doing; one without was the client's.
        "state": ("finish_reason.status_code", "finish_reason.type"),
        "node": ("dp_rank",),
        "finish_reason": ("finish_reason.type",),
    },
    ids={"response_id": ("id", "request_parameters.rid")},
    cache_rule="inclusive",
    ok_states=("stop", "length", "tool_calls"),
    aborted_states=("abort",),
    blind_spots=(
        BlindSpot("no_model", "The engine does not name its model: every request is possibly on it."),
        BlindSpot(
            "prefill_stub",
            "A prefill node counts an affected request as one token; only the decode node's file has its true length.",
            hides_long=True,
        ),
        BlindSpot("finished_only", "Requests that never finished are not in the file."),
    ),
    export=("Copy the folder of --export-metrics-to-file-dir of every node.",),
    links=("https://docs.sglang.ai/advanced_features/server_arguments.html",),
    accepts=(
        '{"request_parameters":"{\\"rid\\": \\"2de1ad63\\", \\"stream\\": true}","id":"2de1ad63","finish_reason":'
        '{"type":"stop"},"prompt_tokens":702114,"completion_tokens":1207,"cached_tokens":0,"dp_rank":2,'
        '"e2e_latency":9.12,"request_received_ts":1788338472.907,"request_finished_ts":1788338482.027}',
    ),
    refuses=(
        '{"event":"request.finished","rid":"2de1ad63","out":{"meta_info":{"prompt_tokens":1}}}',
        '{"id":"1","model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
