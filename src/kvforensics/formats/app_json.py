"""Home-made application logs: where are the common names of a model call, flat or nested?

The last format to be tried. Token counts are read as OpenAI shapes them: the prompt count includes cached tokens. Logs
with other cache shapes go to the two formats before it.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="app-json",
    title="Home-made application logs (JSON, CSV or Parquet) by common names",
    containers=("lines", "json", "csv", "parquet"),
    units=("[]", ""),
    # A name that is null says that the model is not known; the record may be a call where it counts a prompt.
    signature=(
        ("**.~model",), ("**.~usage",), ("**.~model_id",), ("**.~model_name",), ("model", "~prompt_tokens"),
        ("model", "~input_tokens"), ("model", "~tokens_in"), ("model_id", "~prompt_tokens"), ("model_id", "~input_tokens"),
        ("model_name", "~prompt_tokens"), ("model_name", "~input_tokens"),
    ),
    fields={
        "record_id": ("~request_id", "~call_id", "id", "uuid"),
        "start": (
            "**.~started_at", "~start_time", "~request_started_at", "~request_start", "~start_ts", "~start_timestamp",
            "~request_start_time",
        ),
        "end": (
            "**.~ended_at", "~end_time", "~finished_at", "~completed_at", "~end_ts", "~end_timestamp",
            "~request_ended_at",
        ),
        "stamp": (
            "~ts", "~time", "~timestamp", "@timestamp", "**.~created_at", "**.~timestamp", "~datetime", "~event_time",
            "~logged_at", "~date", "**.created",
        ),
        "duration": (
            "**.~latency_ms|ms", "**.~duration_ms|ms", "~elapsed_ms|ms", "~response_time_ms|ms", "~took_ms|ms",
            "~duration_s|s", "~latency_s|s", "~elapsed_s|s",
            "~duration_seconds|s", "~latency_seconds|s", "~elapsed_seconds|s", "~duration_sec|s", "~duration_us|us",
            "~latency_us|us", "~duration_ns|ns", "~latency_ns|ns",
        ),
        "model": ("model.id", "model.name", "model", "**.~model", "**.~model_id", "**.~model_name"),
        "answer_model": (
            "response.model", "response_body.model", "~response_model", "~answer_model", "~actual_model", "~served_model",
            "~final_model", "~model_used", "~used_model", "~upstream_model", "~resolved_model", "~routed_model",
            "upstream.model",
        ),
        "provider": (
            "**.~final_provider", "**.~resolved_provider", "provider.name", "provider", "**.~provider", "~custom_llm_provider",
            "~provider_name",
        ),
        "host": (
            "**.~base_url", "**.~api_base", "~url", "~request_url", "~upstream_url", "~server_address", "~api_host",
        ),
        "prompt": (
            "**.usage.prompt_tokens", "**.~usage.~input_tokens", "**.~usage.~prompt_tokens",
            "**.~token_usage.~prompt_tokens", "**.~usage_metadata.~input_tokens", "~prompt_tokens", "~input_tokens",
            "~tokens_in", "~tokens_prompt", "~tokens_input", "~prompt_token_count", "~input_token_count",
            "tokens.~prompt", "tokens.~input",
        ),
        "cache_read": (
            "**.usage.prompt_tokens_details.cached_tokens", "**.~usage.~input_tokens_details.~cached_tokens",
            "~prompt_tokens_details.~cached_tokens",
        ),
        "completion": (
            "**.usage.completion_tokens", "**.~usage.~output_tokens", "**.~usage.~completion_tokens",
            "~completion_tokens", "~output_tokens", "~tokens_out",
            "~tokens_completion", "~tokens_output", "tokens.~completion", "tokens.~output",
        ),
        "total": ("**.usage.total_tokens", "**.~usage.~total_tokens", "~total_tokens", "tokens.~total"),
        "request_bytes": (
            "~request_bytes", "~request_size_bytes", "~request_body_bytes", "~prompt_bytes", "~bytes_in",
            "~request_content_length",
        ),
        "request_encoding": ("~request_content_encoding", "~content_encoding"),
        "http_status": (
            "**.~status_code", "~http_status", "~status", "~response_status", "~http_status_code", "response.status",
        ),
        "success": ("~success", "~succeeded", "ok"),
        "state": ("~status", "~state", "~outcome"),
        "error": ("error", "~error_code", "~error_message", "err", "~exception", "**.error"),
        "output": ("choices", "response.choices", "~output_text", "~response_text", "~completion_text"),
        "from_cache": ("cache", "~cache_status", "~cache_hit", "~from_cache", "~cached", "**.~cf_aig_cache_status"),
        "tenant": (
            "~tenant", "~tenant_id", "~organisation", "~organization", "~org", "~team", "~organisation_id",
            "~organization_id", "~org_id", "~team_id",
            "~project", "~project_id", "~account", "~account_id", "~customer", "~customer_id", "metadata.~tenant",
            "metadata.~team", "metadata.~org",
        ),
        "key": ("~key_alias", "~api_key_alias", "~key_hash", "~api_key_hash", "~key_id", "~api_key_id"),
        "user": ("~user_id", "user.id", "user", "~end_user", "metadata.~user_id", "metadata.user"),
        "client_ip": ("~client_ip", "~remote_addr", "~remote_ip", "~ip_address", "ip"),
        "user_agent": ("~user_agent", "headers.~user_agent", "request_headers.~user_agent"),
        "tag": ("tags",),
        "node": ("~hostname", "node", "pod", "host"),
        "first_token": (
            "~time_to_first_token_ms|ms", "~ttft_ms|ms", "~first_token_ms|ms", "~time_to_first_token_s|s", "~ttft_s|s",
            "~time_to_first_token_seconds|s", "~ttft_seconds|s",
        ),
        "first_token_at": ("~first_token_at", "~completion_start_time"),
        "response_bytes": ("~response_bytes", "~response_size_bytes", "~response_body_bytes", "~bytes_out"),
        "finish_reason": ("~finish_reason", "choices[0].finish_reason", "response.choices[0].finish_reason"),
    },
    ids={
        "cf_aig_log_id": ("**.~cf_aig_log_id",), "cf_ai_req_id": ("**.~cf_ai_req_id",),
        "cf_ray": ("**.~cf_ray", "~ray_id"), "response_id": ("~response_id", "~completion_id", "~generation_id", "response.id"),
        "upstream_id": ("~upstream_id",),
        # An application's own request id may cover several model calls: like this kind, it ties across sources only.
        "x_request_id": ("**.~x_request_id", "~request_id"),
        "litellm_call_id": ("**.~litellm_call_id", "**.~x_litellm_call_id"),
        "cf_aig_otel_trace_id": ("**.~cf_aig_otel_trace_id",), "cf_aig_event_id": ("**.~cf_aig_event_id",),
        "trace_id": ("~trace_id",), "span_id": ("~span_id",), "parent_span_id": ("~parent_span_id",),
    },
    cache_rule="inclusive",
    ok_states=("success", "ok", "completed", "succeeded", "complete", "done", "finished", "200", "201"),
    failed_states=("failure", "error", "failed", "timeout", "rejected"),
    aborted_states=("cancelled", "canceled", "aborted", "client_closed", "499"),
    tenant_says="the first of tenant, organisation, team, project, account, customer; else a key alias; else the user",
    blind_spots=(
        BlindSpot("own_names", "Fields are found by common names; a mapping file says it for certain (`--mapping`)."),
        BlindSpot(
            "line_limit",
            "Loggers and collectors cut or drop long lines; ask whether prompts were logged in full.",
        ),
    ),
    export=("Copy the log files as they are, with the collector's own wrapper, one file a service and day.",),
    links=("https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",),
    accepts=(
        '{"evt":"llm_call","started_at":"2026-09-02T08:41:12.907Z","requestId":"r-1","tenant":"team-a","user":"u-1",'
        '"model":"workers-ai/@cf/zai-org/glm-5.3",'
        '"provider":"cloudflare","status":200,"latency_ms":9120,"cf_aig_log_id":"01M1GMF1YBVDSE8P8M2W5DJV87",'
        '"usage":{"prompt_tokens":702114,'
        '"completion_tokens":1207,"total_tokens":703321,"prompt_tokens_details":{"cached_tokens":655360}}}',
        '{"level":"info","call":{"model":"m","durationMs":5},"ts":1788487929.031,"usage":null}',
    ),
    refuses=(
        '{"level":"info","msg":"started","ts":"2026-09-02T08:41:12Z"}',
        '{"method":"GET","path":"/","status":200}',
    ),
)  # fmt: skip
