"""Portkey: what does a log of its export tell?

Fields are chosen for each export job. `created_at` is a JavaScript date, RFC 3339 or epoch, and may be start or end.
`req_units` is taken over from the provider: for Workers AI it includes cached tokens.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="portkey",
    title="Portkey, log export",
    containers=("lines", "json", "csv", "parquet"),
    units=("data[]", "[]", ""),
    signature=(
        ("ai_model", "req_units"), ("ai_org", "ai_model"), ("ai_model", "response_status_code"),
        ("trace_id", "request", "response", "is_success"), ("trace_id", "response_status_code", "response_time"),
        ("created_at", "response_status_code", "cache_status"), ("trace_id", "req_units", "res_units"),
    ),
    fields={
        "record_id": ("id",),
        "stamp": ("created_at",),
        "duration": ("response_time",),
        "model": ("ai_model", "response.model", "request.model"),
        "answer_model": ("response.model",),
        "provider": ("ai_org",),
        "host": ("request_url",),
        "prompt": ("response.usage.prompt_tokens", "response.usage.input_tokens", "req_units"),
        "cache_read": (
            "response.usage.prompt_tokens_details.cached_tokens", "response.usage.cache_read_input_tokens",
        ),
        "cache_write": ("response.usage.cache_creation_input_tokens",),
        "completion": ("res_units", "response.usage.completion_tokens", "response.usage.output_tokens"),
        "total": ("response.usage.total_tokens", "total_units"),
        "http_status": ("response_status_code",),
        "success": ("is_success",),
        "error": ("response.error",),
        "output": ("response.choices", "response.output", "response.content", "response.result.response"),
        "from_cache": ("cache_status",),
        "tenant": (
            "metadata.~organisation", "metadata.~organization", "metadata.~org", "metadata.~team", "metadata.~team_id",
            "metadata.~tenant", "metadata.~tenant_id", "metadata.~project", "workspace_slug",
        ),
        "key": ("virtual_key", "api_key_name"),
        "user": ("metadata.~user", "metadata.~user_id"),
        "user_agent": ("metadata.~user_agent",),
    },
    ids={
        "request_id": ("id",), "response_id": ("response.id", "response.result.id"), "trace_id": ("trace_id",),
        "cf_aig_log_id": ("metadata.~cf_aig_log_id",), "cf_ray": ("metadata.~cf_ray",),
        "x_request_id": ("metadata.~x_request_id", "metadata.~request_id"),
        "litellm_call_id": ("metadata.~litellm_call_id",),
    },
    cache_rule="inclusive",
    # The counts are the provider's own: those of Anthropic-type providers leave the cache out.
    cache_rules=(
        ("response.usage.prompt_tokens", "inclusive"), ("response.usage.input_tokens_details", "inclusive"),
        ("response.usage.cache_read_input_tokens", "split"),
        ("ai_org=anthropic*", "unproven"), ("ai_org=bedrock*", "unproven"), ("ai_org=vertex*", "unproven"),
    ),
    provider_serves=True,
    tenant_says="organisation, team, tenant or project in the caller's metadata, else the virtual key, else its `_user`",
    blind_spots=(
        BlindSpot("chosen_fields", "A field that was not chosen for the job is absent, such as `cache_status`."),
        BlindSpot("job_limit", "A job holds at most 50,000 logs; pages are counted from 0."),
        BlindSpot("retention", "Lower plans keep logs for 3 to 30 days."),
    ),
    export=(
        "Exports > Request Data: the window with every field (also cache_status, request_url, is_success); Enterprise.",
        "Download every page of every job as it is.",
    ),
    links=(
        "https://portkey.ai/docs/product/observability/logs-export",
        "https://portkey.ai/docs/api-reference/admin-api/data-plane/logs/log-exports-beta/create-a-log-export",
    ),
    accepts=(
        '{"id":"db28","trace_id":"t-1","created_at":"Wed Sep 02 2026 08:41:12 GMT+0000 (Coordinated Universal Time)",'
        '"ai_org":"workers-ai","ai_model":"@cf/zai-org/glm-5.3","req_units":702114,"res_units":1207,"is_success":1,'
        '"response_status_code":200,"response_time":9120,"cache_status":"DISABLED","metadata":{"_user":"u-1"},'
        '"response":{"id":"chatcmpl-1","usage":{"prompt_tokens":702114,"total_tokens":703321}}}',
    ),
    refuses=(
        '{"id":"1","trace_id":"t-1","created_at":"2026-09-02T08:41:12Z","request":{"model":"m"},"response":{}}',
    ),
)  # fmt: skip
