"""OpenAI Responses: what does a dump or a bare answer of the Responses API tell?

`usage.input_tokens` includes what was read from the provider's cache, unlike the field of that name in Anthropic's
messages. A dump's own stamp may be a start or an end.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="openai-responses",
    title="OpenAI-shaped Responses API, bare or with their request",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(
        ("response.usage.input_tokens", "response.usage.input_tokens_details"),
        ("response.usage.input_tokens", "response.output"),
        ("usage.input_tokens", "usage.input_tokens_details", "output"), ("usage.input_tokens", "output", "object"),
    ),
    fields={
        "record_id": ("response.id", "id"),
        "start": ("~started_at", "~start_time", "~request_started_at"),
        "end": ("~ended_at", "~end_time", "~finished_at"),
        "stamp": ("ts", "~timestamp", "time", "~logged_at", "response.created_at", "created_at"),
        "duration": ("~duration_ms|ms", "~latency_ms|ms", "~elapsed_ms|ms", "~duration_s|s", "~latency_s|s"),
        "model": ("response.model", "request.model", "model"),
        "provider": ("provider",),
        "host": ("~base_url", "~api_base", "url", "request.url"),
        "prompt": ("response.usage.input_tokens", "usage.input_tokens"),
        "cache_read": ("response.usage.input_tokens_details.cached_tokens", "usage.input_tokens_details.cached_tokens"),
        "completion": ("response.usage.output_tokens", "usage.output_tokens"),
        "total": ("response.usage.total_tokens", "usage.total_tokens"),
        "http_status": ("~status_code", "~http_status", "status"),
        "state": ("response.status", "status"),
        "error": ("response.error", "error"),
        "output": ("response.output", "output"),
        "tenant": ("~organisation", "~organization", "~org", "~team", "~tenant", "~project", "~account"),
        "user": ("request.user", "response.user", "user"),
    },
    ids={"response_id": ("response.id", "id"), "cf_ray": ("**.~cf_ray",), "x_request_id": ("**.~x_request_id",)},
    cache_rule="inclusive",
    ok_states=("completed", "incomplete", "200", "201"),
    aborted_states=("cancelled", "499"),
    tenant_says="organisation, team, tenant, project or account among the dump's own keys, else `user` of the request",
    blind_spots=(BlindSpot("no_host", "Without a base URL nothing tells which provider served the call."),),
    export=("Copy the stored answers or dumps as they are, one object a line or one array.",),
    links=("https://platform.openai.com/docs/api-reference/responses",),
    accepts=(
        '{"id":"resp_1","object":"response","created_at":1788338472,"status":"completed","model":"m",'
        '"output":[{"type":"message"}],'
        '"usage":{"input_tokens":702114,"input_tokens_details":{"cached_tokens":655360},"output_tokens":1207,'
        '"total_tokens":703321}}',
        '{"ts":"2026-09-02T08:41:12Z","status":200,"request":{"model":"m"},"response":{"id":"resp_1","output":[],'
        '"usage":{"input_tokens":702114,"output_tokens":1207}}}',
    ),
    refuses=(
        '{"id":"msg_1","type":"message","role":"assistant","stop_reason":"end_turn","usage":{"input_tokens":1,'
        '"cache_read_input_tokens":2}}',
        '{"request":{"model":"m"},"response":{"choices":[],"usage":{"prompt_tokens":1}}}',
    ),
)  # fmt: skip
