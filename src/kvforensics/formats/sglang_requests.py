"""SGLang: what does the request log tell in JSON (`--log-requests --log-requests-format json`)?

Two events a request, `request.received` and `request.finished`, with the same `rid`. Their `timestamp` is local time
without an offset. On a prefill node a request that the pool could not hold is logged as one token.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="sglang-requests",
    title="SGLang request log (JSON)",
    containers=("lines", "json"),
    signature=(("event", "rid", "obj"), ("event", "rid", "out")),
    opening=("event", "request.received", "rid"),
    framing=(("event", "request.received.openai"),),
    fields={
        "record_id": ("rid", "opening.rid"),
        "start": ("out.meta_info.request_received_ts", "opening.timestamp"),
        "end": ("out.meta_info.request_finished_ts", "out.meta_info.decode_finished_ts", "timestamp"),
        "duration": ("out.meta_info.e2e_latency|s",),
        "prompt": ("out.meta_info.prompt_tokens",),
        "cache_read": ("out.meta_info.cached_tokens",),
        "completion": ("out.meta_info.completion_tokens",),
        "http_status": ("out.meta_info.finish_reason.status_code",),
        # An abort with a status was the engine's own doing; one without was the client's.
        "state": ("out.meta_info.finish_reason.status_code", "out.meta_info.finish_reason.type"),
        "finish_reason": ("out.meta_info.finish_reason.type",),
        "key": ("headers.x-smg-routing-key",),
        "node": ("out.meta_info.dp_rank",),
    },
    ids={"response_id": ("rid", "opening.rid")},
    cache_rule="inclusive",
    ok_states=("stop", "length", "tool_calls"),
    aborted_states=("abort",),
    tenant_says="the router's `x-smg-routing-key`, where it was sent",
    blind_spots=(
        BlindSpot("no_model", "The engine does not name its model: every request is possibly on it."),
        BlindSpot(
            "prefill_stub",
            "A prefill node logs an affected request as one token; only the decode node's log has its true length.",
            hides_long=True,
        ),
        BlindSpot("exceeded_ms", "SGLANG_LOG_REQUEST_EXCEEDED_MS leaves out the second event of fast requests."),
        BlindSpot("local_time", "Times are the container's local time and do not say their zone."),
    ),
    export=("Copy the hourly files of --log-requests-target of every node, and say the containers' zone.",),
    links=("https://docs.sglang.ai/advanced_features/server_arguments.html",),
    accepts=(
        '{"timestamp":"2026-09-02T08:41:22.027000","event":"request.finished","rid":"2de1ad63","obj":{"rid":"2de1ad63"},'
        '"out":{"meta_info":{"id":"2de1ad63","finish_reason":{"type":"stop"},"prompt_tokens":702114,'
        '"completion_tokens":1207,"cached_tokens":655360,"e2e_latency":9.12}}}',
        '{"timestamp":"2026-09-02T08:41:12.907000","event":"request.received","rid":"2de1ad63","obj":{"stream":true}}',
    ),
    refuses=(
        '{"event":"llm_call","request_id":"1","model":"m","timestamp":"2026-09-02T08:41:22.027000"}',
        '{"request_parameters":"{}","id":"2de1ad63","prompt_tokens":1,"e2e_latency":1.0}',
    ),
)  # fmt: skip
