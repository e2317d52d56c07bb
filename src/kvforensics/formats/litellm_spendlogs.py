"""LiteLLM proxy: what does a row of its table `LiteLLM_SpendLogs` tell?

As CSV by psql, in a dump of the database, or as answers of `/spend/logs` and `/spend/logs/v2`. A row is one attempt:
retries and fallbacks make several. Times are UTC since February 2025. A row of LiteLLM's own response cache repeats
tokens and response id, the latter with `_cache_hit` and a time behind it.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="litellm-spendlogs",
    title="LiteLLM proxy, spend logs (database rows and API pages)",
    containers=("csv", "json", "lines", "parquet"),
    units=("data[]", "[]", ""),
    signature=(
        ("request_id", "call_type", "startTime", "model", "spend"),
        ("request_id", "api_key", "startTime", "model", "prompt_tokens"),
        ("request_id", "call_type", "startTime", "custom_llm_provider"),
        ("request_id", "model_group", "startTime", "endTime"),
    ),
    fields={
        "record_id": ("request_id",),
        "start": ("startTime",),
        "end": ("endTime",),
        "first_token_at": ("completionStartTime",),
        "duration": ("request_duration_ms",),
        "model": ("model", "model_group"),
        "provider": ("custom_llm_provider",),
        "host": ("api_base",),
        "prompt": ("prompt_tokens", "metadata.usage_object.prompt_tokens", "response.usage.prompt_tokens"),
        "cache_read": (
            "metadata.usage_object.prompt_tokens_details.cached_tokens",
            "metadata.additional_usage_values.prompt_tokens_details.cached_tokens",
            "metadata.additional_usage_values.cache_read_input_tokens",
            "response.usage.prompt_tokens_details.cached_tokens",
        ),
        "cache_write": ("metadata.additional_usage_values.cache_creation_input_tokens",),
        "completion": ("completion_tokens", "metadata.usage_object.completion_tokens"),
        "total": ("total_tokens", "metadata.usage_object.total_tokens"),
        "http_status": ("metadata.error_information.error_code",),
        "state": ("status", "metadata.status"),
        "error": ("metadata.error_information.error_message", "metadata.error_information.error_class"),
        "output": ("response.choices", "response.output", "response.content"),
        "from_cache": ("cache_hit",),
        "replay_of": ("request_id|/^(.+)_cache_hit[0-9.]+$/",),
        "tenant": (
            "organization_id", "metadata.user_api_key_org_id", "team_id", "metadata.user_api_key_team_id",
            "metadata.user_api_key_project_id",
        ),
        "key": ("metadata.user_api_key_alias", "api_key"),
        "user": ("user", "metadata.user_api_key_user_id", "end_user"),
        "client_ip": ("requester_ip_address", "metadata.requester_ip_address"),
        "user_agent": ("metadata.user_agent",),
        "tag": ("request_tags",),
    },
    ids={
        "request_id": ("request_id",),
        "response_id": ("request_id|/^(.+)_cache_hit[0-9.]+$/", "request_id"),
        "upstream_id": ("response.id",),
        "litellm_call_id": ("litellm_call_id", "metadata.litellm_call_id"),
    },
    zone="UTC",
    cache_rule="inclusive",
    # A total of Anthropic-type counts is the proxy's own sum, and versions differ in what they add.
    cache_rules=tuple(
        (term, "unproven") for term in ("custom_llm_provider=anthropic*", "custom_llm_provider=bedrock*", "model=anthropic/*")
    ),
    tenant_says="the organisation, else the team or project of the key, else the key (alias or hash), else the user",
    blind_spots=(
        BlindSpot("estimates", "A stream without usage is given an estimate by another model's tokenizer, or 0."),
        BlindSpot("local_before_2025", "Versions before February 2025 wrote local time: state the zone for such rows."),
        BlindSpot("recent_only", "`/spend/logs` gives the most recent rows only; `/spend/logs/v2` gives pages of all."),
        BlindSpot("alias", "A row without `api_base` may show only the alias of a model."),
    ),
    export=(
        "psql: \\copy (SELECT * FROM \"LiteLLM_SpendLogs\" WHERE \"startTime\" >= '2026-08-20' AND "
        "\"startTime\" < '2026-09-20') TO 'spend_logs.csv' CSV HEADER",
        "Or pg_dump -t '\"LiteLLM_SpendLogs\"' as plain text, without `--inserts` or `--format`, of the whole database too.",
        "Or GET /spend/logs/v2?start_date=...&end_date=...&page=N&page_size=1000 with an admin key, every page up to "
        "`total_pages`, one file a page.",
    ),
    links=(
        "https://docs.litellm.ai/docs/proxy/logging_spec", "https://docs.litellm.ai/docs/proxy/cost_tracking",
        "https://github.com/BerriAI/litellm/blob/main/schema.prisma",
    ),
    accepts=(
        '{"request_id":"chatcmpl-1","call_type":"acompletion","api_key":"02ec","spend":0.9,"prompt_tokens":702114,'
        '"startTime":"2026-09-02T08:41:12.907000+00:00","model":"openai/@cf/zai-org/glm-5.3","cache_hit":"False",'
        '"custom_llm_provider":"openai","api_base":"https://gateway.ai.cloudflare.com/v1/a/g/workers-ai/v1",'
        '"metadata":"{\\"user_api_key_alias\\":\\"k\\"}","status":"success"}',
    ),
    refuses=(
        '{"request_id":"r-1","model":"m","startTime":"2026-09-02T08:41:12Z","usage":{"prompt_tokens":1}}',
        '{"id":"chatcmpl-1","call_type":"acompletion","startTime":1788338472.9,"hidden_params":{},"model":"m"}',
    ),
)  # fmt: skip
