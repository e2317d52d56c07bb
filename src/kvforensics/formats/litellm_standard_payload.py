"""LiteLLM proxy: what does a `StandardLoggingPayload` tell?

The object that LiteLLM hands to its loggers: one a file or in batches on S3 and GCS, arrays or lines from the generic
API callback, or inside a callback's own `standard_logging_object`. Times are epoch seconds; some writers give local text.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="litellm-standard-payload",
    title="LiteLLM proxy, StandardLoggingPayload (S3, GCS, generic API, callbacks)",
    containers=("lines", "json", "csv", "parquet"),
    units=(
        "[]", "standard_logging_object", "[].standard_logging_object", "kwargs.standard_logging_object",
        "[].kwargs.standard_logging_object", "",
    ),
    signature=(
        ("id", "call_type", "startTime", "model", "hidden_params"),
        ("id", "call_type", "startTime", "model", "response_cost"),
        ("id", "call_type", "startTime", "model", "model_map_information"),
        ("litellm_call_id", "call_type", "startTime", "model", "!request_id"),
    ),
    fields={
        "record_id": ("id",),
        "start": ("startTime",),
        "end": ("endTime",),
        "first_token_at": ("completionStartTime",),
        "duration": ("response_time|s",),
        "model": ("model", "hidden_params.litellm_model_name", "model_group"),
        "provider": ("custom_llm_provider",),
        "host": ("api_base", "hidden_params.api_base"),
        "prompt": ("prompt_tokens", "metadata.usage_object.prompt_tokens", "response.usage.prompt_tokens"),
        "cache_read": (
            "metadata.usage_object.prompt_tokens_details.cached_tokens",
            "response.usage.prompt_tokens_details.cached_tokens", "metadata.usage_object.cache_read_input_tokens",
        ),
        "cache_write": ("metadata.usage_object.cache_creation_input_tokens",),
        "completion": ("completion_tokens", "metadata.usage_object.completion_tokens"),
        "total": ("total_tokens", "metadata.usage_object.total_tokens"),
        "http_status": ("error_information.error_code",),
        "state": ("status", "status_fields.llm_api_status"),
        "error": ("error_information.error_message", "error_str"),
        "output": ("response.choices", "response.output", "response.content"),
        "from_cache": ("cache_hit",),
        "replay_of": ("id|/^(.+)_cache_hit[0-9.]+$/",),
        "tenant": (
            "metadata.user_api_key_org_id", "metadata.user_api_key_team_id", "metadata.user_api_key_project_id",
        ),
        "key": ("metadata.user_api_key_alias", "metadata.user_api_key_hash"),
        "user": (
            "metadata.user_api_key_user_id", "metadata.user_api_key_user_email", "end_user",
            "metadata.user_api_key_end_user_id",
        ),
        "client_ip": ("requester_ip_address", "metadata.requester_ip_address"),
        "user_agent": ("user_agent", "metadata.user_agent"),
        "tag": ("request_tags",),
    },
    ids={
        "response_id": ("id|/^(.+)_cache_hit[0-9.]+$/", "id"), "upstream_id": ("response.id",),
        "litellm_call_id": ("litellm_call_id", "metadata.litellm_call_id"), "trace_id": ("trace_id",),
        "cf_ray": ("hidden_params.additional_headers.llm_provider-cf-ray",),
        "cf_aig_log_id": ("hidden_params.additional_headers.llm_provider-cf-aig-log-id",),
        "cf_ai_req_id": ("hidden_params.additional_headers.llm_provider-cf-ai-req-id",),
        "x_request_id": ("hidden_params.additional_headers.llm_provider-x-request-id",),
    },
    cache_rule="inclusive",
    # A total of Anthropic-type counts is the proxy's own sum, and versions differ in what they add.
    cache_rules=tuple(
        (term, "unproven") for term in ("custom_llm_provider=anthropic*", "custom_llm_provider=bedrock*", "model=anthropic/*")
    ),
    tenant_says="the organisation, else the team or project of the key, else the key (alias or hash), else the user",
    blind_spots=(
        BlindSpot("estimates", "A stream without usage is given an estimate by another model's tokenizer, or 0."),
        BlindSpot("failures_elsewhere", "GCS keeps failures in files of their own; S3 does not always get them."),
        BlindSpot("alias", "A payload without `api_base` may show only the alias of a model."),
    ),
    export=(
        "Copy the bucket's folders of the whole window and a day on both sides as they are; folder names use local time.",
        "For the generic API callback, save the bodies that your endpoint received: arrays or lines.",
    ),
    links=(
        "https://docs.litellm.ai/docs/proxy/logging_spec", "https://docs.litellm.ai/docs/proxy/logging",
    ),
    accepts=(
        '{"id":"chatcmpl-1","call_type":"acompletion","response_cost":0.9,"status":"success","startTime":1788338472.907,'
        '"model":"openai/@cf/zai-org/glm-5.3","prompt_tokens":702114,"custom_llm_provider":"openai",'
        '"api_base":"https://gateway.ai.cloudflare.com/v1/a/g/workers-ai/v1","cache_hit":false,'
        '"hidden_params":{"additional_headers":{"llm_provider-cf-ray":"c65c7d3587784912-AMS"}}}',
    ),
    refuses=(
        '{"request_id":"chatcmpl-1","call_type":"acompletion","startTime":"2026-09-02 08:41:12","model":"m","spend":1}',
        '{"id":"1","startTime":1788338472.9,"model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
