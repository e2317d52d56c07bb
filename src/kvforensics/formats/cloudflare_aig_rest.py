"""Cloudflare AI Gateway: what does its REST API tell of each log?

Rows of `GET .../ai-gateway/gateways/{gateway}/logs`, pages or merged arrays, and single logs with their heads. Whether
`created_at` is the start or the end is not documented, nor whether `tokens_in` includes the provider's cache.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-aig-rest",
    title="Cloudflare AI Gateway, logs of the REST API",
    containers=("json", "lines", "csv", "parquet"),
    units=("result[]", "result", "[]", ""),
    signature=(
        ("id", "created_at", "cached", "provider", "model", "tokens_in"),
        ("id", "created_at", "cached", "success", "tokens_out"),
        ("id", "created_at", "path", "provider", "success", "tokens_in"),
    ),
    fields={
        "record_id": ("id",),
        "stamp": ("created_at",),
        "duration": ("duration|ms",),
        "model": ("model",),
        "provider": ("provider",),
        "prompt": (
            "tokens_in", "response_head.usage.prompt_tokens", "response_head.usage.input_tokens",
            "response_head.result.usage.prompt_tokens",
        ),
        "cache_read": (
            "response_head.usage.prompt_tokens_details.cached_tokens", "response_head.usage.cache_read_input_tokens",
            "response_head.result.usage.prompt_tokens_details.cached_tokens",
        ),
        "cache_write": ("response_head.usage.cache_creation_input_tokens",),
        "completion": ("tokens_out", "response_head.usage.completion_tokens", "response_head.usage.output_tokens"),
        "total": ("response_head.usage.total_tokens", "response_head.result.usage.total_tokens"),
        "request_bytes": ("request_size",),
        "response_bytes": ("response_size",),
        "finish_reason": ("response_head.choices[0].finish_reason",),
        "http_status": ("status_code",),
        "success": ("success",),
        "output": (
            "response_head.choices", "response_head.content", "response_head.result.response",
            "response_head.result.choices",
        ),
        "from_cache": ("cached",),
        "tenant": (
            "metadata.~organisation", "metadata.~organization", "metadata.~org", "metadata.~team", "metadata.~team_id",
            "metadata.~tenant", "metadata.~tenant_id", "metadata.~project", "metadata.~account",
        ),
        "user": ("metadata.~user_id", "metadata.~user"),
    },
    ids={"cf_aig_log_id": ("id",), "response_id": ("response_head.id",)},
    zone="UTC",
    provider_serves=True,
    tenant_says="organisation, team, tenant, project or account in the caller's own `cf-aig-metadata`, else its user",
    blind_spots=(
        BlindSpot("direct_calls", "Calls to Workers AI that did not pass through the gateway are not in its log."),
        BlindSpot(
            "collect_log_off",
            "Calls sent with `cf-aig-collect-log: false`, or to a gateway with logging off, leave no row.",
        ),
        BlindSpot("log_quota", "At the storage limit, either new logs are not saved or the oldest are deleted."),
        BlindSpot(
            "over_10_mb",
            "A log of more than 10 MB is not stored at all; a text prompt over the threshold is about 3 MB.",
        ),
    ),
    export=(
        "Dashboard: AI > AI Gateway > the gateway; note its name. The API token needs the permission AI Gateway Read.",
        "GET https://api.cloudflare.com/client/v4/accounts/{account}/ai-gateway/gateways/{gateway}/logs"
        "?per_page=50&page=N for every page.",
        "Keep each answer as it comes, one file a page. A single log, GET .../logs/{id}, adds sizes and heads.",
    ),
    links=(
        "https://developers.cloudflare.com/ai-gateway/observability/logging/",
        "https://developers.cloudflare.com/ai-gateway/reference/limits/",
    ),
    accepts=(
        '{"id":"01M1GMF1YBVDSE8P8M2W5DJV87","cached":false,"created_at":"2026-09-02T08:41:12.907Z","duration":9120,'
        '"model":"@cf/zai-org/glm-5.3","path":"chat/completions","provider":"workers-ai","success":true,'
        '"tokens_in":702114,'
        '"tokens_out":1207,"metadata":"{\\"team\\":\\"team-a\\"}","status_code":200,"step":0}',
    ),
    refuses=(
        '{"id":"chatcmpl-1","object":"chat.completion","created":1788338472,"model":"m","choices":[]}',
        '{"id":"1","created_at":"2026-09-02T08:41:12Z","model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
