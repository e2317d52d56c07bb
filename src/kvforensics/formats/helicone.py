"""Helicone: what does a request of its API or of its export tool tell?

`prompt_tokens` leaves out what was read from and written to the provider's cache; the total is the provider's own. Times
are UTC. A replay from Helicone's cache names the request that it repeats.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="helicone",
    title="Helicone, requests of the API and of the export tool",
    containers=("lines", "json", "csv", "parquet"),
    units=("data[]", "[]", ""),
    signature=(
        ("request_id", "request_created_at", "response_status", "prompt_cache_read_tokens"),
        ("request_id", "request_created_at", "request_model"), ("request_id", "request_created_at", "delay_ms"),
        ("request_id", "request_created_at", "response_created_at", "response_status"),
    ),
    fields={
        "record_id": ("request_id", "response_id"),
        "start": ("request_created_at",),
        "end": ("response_created_at",),
        "duration": ("delay_ms",),
        "answer_model": ("response_model",),
        "model": (
            "request_model", "response_model", "model", "request_body.model", "model_override",
            # Exports with bodies double their quotes.
            r"request_body|/^\s*\{\s*[\\\"]{2,}model[\\\"]{2,}\s*:\s*[\\\"]{2,}([^\\\"]+)/",
        ),
        "provider": ("provider",),
        "host": ("target_url", "request_path"),
        "prompt": ("prompt_tokens",),
        "cache_read": ("prompt_cache_read_tokens",),
        "cache_write": ("prompt_cache_write_tokens",),
        "completion": ("completion_tokens",),
        "total": ("total_tokens",),
        "http_status": ("response_status",),
        "state": ("response_status",),
        "error": ("response_body.error",),
        "output": ("response_body.choices", "response_body.output", "response_body.content"),
        "from_cache": ("cache_reference_id|/[1-9A-Fa-f]/=hit", "cache_reference_id|/^[0-]+$/=miss"),
        "replay_of": ("cache_reference_id|/^([0-9A-Fa-f-]*[1-9A-Fa-f][0-9A-Fa-f-]*)$/",),
        "tenant": tuple(
            f"{where}.~{name}" for where in ("request_properties", "properties")
            for name in ("organisation", "organization", "org", "team", "team_id", "tenant", "tenant_id", "project")
        ),
        "key": ("key_name", "api_key_id", "auth_hash"),
        "user": ("request_user_id", "helicone_user"),
        "user_agent": ("request_properties.~user_agent", "properties.~user_agent"),
    },
    ids={
        "request_id": ("request_id",), "response_id": ("response_id",), "upstream_id": ("response_body.id",),
        "cf_aig_log_id": ("request_properties.~cf_aig_log_id", "properties.~cf_aig_log_id"),
        "cf_ray": ("request_properties.~cf_ray", "properties.~cf_ray"),
        "x_request_id": ("request_properties.~x_request_id", "request_properties.~request_id"),
        "litellm_call_id": ("request_properties.~litellm_call_id",),
        "trace_id": ("request_properties.~trace_id",),
    },
    zone="UTC",
    cache_rule="exclusive",
    cache_always_told=True,
    ok_states=("200", "201"),
    aborted_states=("-3", "499"),
    failed_states=("failure", "error", "failed", "-1", "-4"),
    unset_states=("-2",),
    tenant_says="organisation, team, tenant or project in the caller's properties, else the key, else the user",
    blind_spots=(
        BlindSpot("bodies_elsewhere", "Bodies may be behind `signed_body_url`, which expires."),
        BlindSpot("async_only_sent", "In asynchronous mode only what the SDK sent is there."),
        BlindSpot("retention", "Plans keep requests for a limited time."),
    ),
    export=(
        "npx @helicone/export --start-date 2026-08-20 --end-date 2026-09-20 --format jsonl --include-body",
        "Or POST /v1/request/query-clickhouse with a filter on request_created_at, page by page; keep each answer.",
    ),
    links=("https://docs.helicone.ai/tools/export", "https://docs.helicone.ai/rest/request/post-v1requestquery-clickhouse"),
    accepts=(
        '{"request_id":"4a68","response_id":"fd5b","request_created_at":"2026-09-02 08:41:12.907","response_status":200,'
        '"response_created_at":"2026-09-02 08:41:22.027","request_model":"@cf/zai-org/glm-5.3","prompt_tokens":46754,'
        '"prompt_cache_read_tokens":655360,"total_tokens":703321,"completion_tokens":1207,"delay_ms":9120,'
        '"cache_reference_id":"00000000-0000-0000-0000-000000000000"}',
    ),
    refuses=(
        '{"response_id":"fd5b","response_status":200,"request_created_at":"2026-09-02 08:41:12","latency":9}',
        '{"request_id":"r","created_at":"2026-09-02T08:41:12Z","model":"m","prompt_tokens":1}',
    ),
)  # fmt: skip
