"""HTTP dumps: what do a request and its answer, kept together in a home-made record, tell?

Chat completions and native Workers AI answers (also inside Cloudflare's `result`), with the dump's own keys beside
them. Keys that say start are starts; `ts`, `timestamp` and `logged_at` may be either.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="http-dump",
    title="Request and response dumps of chat completions and Workers AI calls",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(
        ("request.model", "response"), ("request.body.model", "response"), ("request", "response.model"),
        ("request", "response.**.usage"),
        ("request", "response.result.response"), ("url", "request", "response"),
        ("request_body.model", "response_body"),
        ("request_body", "response_body.**.usage"),
    ),
    fields={
        "start": ("~started_at", "~start_time", "~request_started_at", "~request_start", "request.~started_at"),
        "end": ("~ended_at", "~end_time", "~finished_at", "~completed_at"),
        "stamp": (
            "ts", "~timestamp", "@timestamp", "time", "~created_at", "~logged_at", "response.created",
            "response.result.created", "response.body.created",
        ),
        "duration": (
            "~duration_ms|ms", "~latency_ms|ms", "~elapsed_ms|ms", "~response_time_ms|ms", "~duration_s|s",
            "~latency_s|s", "~elapsed_s|s",
        ),
        "model": (
            "request.model", "request.body.model", "request_body.model", "response.model", "response.result.model",
            "response.body.model",
            "response_body.model", "model", "url", "request.url",
        ),
        "answer_model": (
            "response.model", "response.result.model", "response.body.model", "response_body.model", "response.**.model",
        ),
        "provider": ("provider",),
        "host": ("~base_url", "~api_base", "url", "request.url", "~request_url"),
        "prompt": (
            "response.**.usage.prompt_tokens", "response_body.**.usage.prompt_tokens", "usage.prompt_tokens",
            "response.**.usage.input_tokens",
            "response_body.**.usage.input_tokens",
        ),
        "cache_read": (
            "response.**.usage.prompt_tokens_details.cached_tokens",
            "response_body.**.usage.prompt_tokens_details.cached_tokens",
            "usage.prompt_tokens_details.cached_tokens",
        ),
        "completion": (
            "response.**.usage.completion_tokens", "response_body.**.usage.completion_tokens",
            "usage.completion_tokens",
            "response.**.usage.output_tokens",
        ),
        "total": ("response.**.usage.total_tokens", "response_body.**.usage.total_tokens", "usage.total_tokens"),
        "http_status": (
            "~status_code", "~http_status", "status", "~response_status", "response.~status_code", "response.status",
        ),
        "success": ("response.success", "success"),
        "error": ("response.error", "response.errors", "response.body.error", "response_body.error", "error"),
        "output": (
            "response.choices", "response.result.choices", "response.result.response", "response.body.choices",
            "response_body.choices",
            "response.content", "response.output",
        ),
        "from_cache": ("**.~cf_aig_cache_status", "cache", "~cache_status"),
        "tenant": (
            "~organisation", "~organization", "~org", "~team", "~team_id", "~tenant", "~tenant_id", "~project",
            "~account", "request.metadata.~team",
        ),
        "key": ("~key_alias", "~key_hash", "~api_key_id"),
        "user": ("request.user", "request.metadata.user_id", "request.body.user", "~user_id", "user"),
        "client_ip": ("~client_ip", "~remote_addr"),
        "user_agent": ("**.~user_agent",),
    },
    ids={
        "cf_aig_log_id": ("**.~cf_aig_log_id",), "cf_ai_req_id": ("**.~cf_ai_req_id",), "cf_ray": ("**.~cf_ray",),
        "response_id": ("response.id", "response.result.id", "response.body.id", "response_body.id"),
        "x_request_id": ("**.~x_request_id",), "trace_id": ("~trace_id",),
        "litellm_call_id": ("**.~x_litellm_call_id", "~litellm_call_id"),
    },
    cache_rule="inclusive",
    tenant_says="organisation, team, tenant, project or account among the dump's keys, else a key alias, else the user",
    blind_spots=(
        BlindSpot("stream_usage", "A stream tells its usage in its last chunk only; a dump without it has no count."),
        BlindSpot(
            "own_selection",
            "A home-made dump holds what its code chose to keep: ask whether failures and long prompts were kept.",
        ),
    ),
    export=("Copy the dump as it is, one object a line or one array, with the response headers if they were kept.",),
    links=(
        "https://developers.cloudflare.com/workers-ai/get-started/rest-api/",
        "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",
    ),
    accepts=(
        '{"logged_at":"2026-09-02T08:41:22Z",'
        '"url":"https://api.cloudflare.com/client/v4/accounts/a/ai/run/@cf/zai-org/glm-5.3","status":200,'
        '"started_at":"2026-09-02T08:41:12Z","request":{"model":"@cf/zai-org/glm-5.3"},'
        '"response":{"result":{"choices":[{"index":0}],'
        '"usage":{"prompt_tokens":702114}},"success":true,"errors":[]}}',
        '{"ts":1788487929.031,"request":{"model":"m"},"status":499,"response":null}',
    ),
    refuses=(
        '{"request":{"method":"GET","uri":"/"},"response":{"status":200}}',
        '{"model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
