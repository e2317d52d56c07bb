"""Anthropic messages: what does a dump or a bare answer of the Messages API tell?

`usage.input_tokens` leaves out what was read from and written to the provider's cache, so the three counts are added. A
message has no time of its own, and a dump's own stamp may be a start or an end.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="anthropic-messages",
    title="Anthropic-shaped messages, bare or with their request",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(
        ("response.**.usage.cache_read_input_tokens", "!response.**.usage.prompt_tokens"),
        ("response_body.**.usage.cache_read_input_tokens", "!response_body.**.usage.prompt_tokens"),
        ("response.usage.input_tokens", "response.stop_reason", "response.content"),
        ("usage.input_tokens", "usage.cache_read_input_tokens", "role", "!response", "!usage.prompt_tokens"),
        ("usage.input_tokens", "stop_reason", "role", "content", "!response"),
    ),
    fields={
        "record_id": ("response.id", "id"),
        "start": ("~started_at", "~start_time", "~request_started_at"),
        "end": ("~ended_at", "~end_time", "~finished_at"),
        "stamp": ("~timestamp", "ts", "time", "~created_at", "~logged_at"),
        "duration": ("~duration_ms|ms", "~latency_ms|ms", "~elapsed_ms|ms", "~duration_s|s", "~latency_s|s"),
        "model": (
            "request.model", "request.body.model", "response.model", "response.body.model", "response_body.model",
            "model",
        ),
        "answer_model": ("response.model", "response.body.model", "response_body.model"),
        "provider": ("provider",),
        "host": ("~base_url", "~api_base", "url", "request.url"),
        "prompt": ("response.**.usage.input_tokens", "response_body.**.usage.input_tokens", "usage.input_tokens"),
        "cache_read": (
            "response.**.usage.cache_read_input_tokens", "response_body.**.usage.cache_read_input_tokens",
            "usage.cache_read_input_tokens",
        ),
        "cache_write": (
            "response.**.usage.cache_creation_input_tokens", "response_body.**.usage.cache_creation_input_tokens",
            "usage.cache_creation_input_tokens",
            # The same, by how long it is kept.
            "response.**.usage.cache_creation|+ephemeral_*", "response_body.**.usage.cache_creation|+ephemeral_*",
            "usage.cache_creation|+ephemeral_*",
        ),
        "completion": (
            "response.**.usage.output_tokens", "response_body.**.usage.output_tokens", "usage.output_tokens",
        ),
        "http_status": ("~status_code", "~http_status", "status", "response.status_code"),
        "error": ("response.error", "error"),
        "output": ("response.content", "response.body.content", "response_body.content", "content"),
        "tenant": ("~organisation", "~organization", "~org", "~team", "~tenant", "~project", "~account"),
        "user": ("user", "request.metadata.user_id"),
    },
    ids={
        "response_id": ("response.id", "id"), "cf_ray": ("**.~cf_ray",),
        "cf_aig_log_id": ("**.~cf_aig_log_id",), "x_request_id": ("**.~x_request_id",),
    },
    cache_rule="exclusive",
    tenant_says="organisation, team, tenant, project or account among the dump's keys, else `metadata.user_id`",
    blind_spots=(
        BlindSpot("no_host", "Without a base URL nothing tells which provider served the call."),
        BlindSpot("no_time", "A message without its dump has no time."),
    ),
    export=("Copy the stored answers or dumps as they are, one object a line or one array.",),
    links=(
        "https://docs.anthropic.com/en/api/messages",
        "https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching",
    ),
    accepts=(
        '{"timestamp":"2026-09-02T08:41:12.907Z","request":{"model":"@cf/zai-org/glm-5.3",'
        '"metadata":{"user_id":"u-1"}},"status":200,'
        '"response":{"id":"msg_1","type":"message","role":"assistant","model":"@cf/zai-org/glm-5.3",'
        '"content":[{"type":"text","text":"x"}],'
        '"stop_reason":"end_turn","usage":{"input_tokens":46754,"cache_creation_input_tokens":0,'
        '"cache_read_input_tokens":655360,"output_tokens":1207}}}',
        '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,'
        '"usage":{"input_tokens":1,"output_tokens":2}}',
    ),
    refuses=(
        '{"request":{"model":"m"},"response":{"type":"error","error":{"type":"invalid_request_error"}}}',
        '{"request":{"model":"m"},"response":{"choices":[],"usage":{"prompt_tokens":9,"cache_read_input_tokens":2}}}',
    ),
)  # fmt: skip
