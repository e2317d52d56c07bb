"""Cloudflare AI Gateway: what does the Logpush data set `ai_gateway_events` tell?

The bodies and the metadata are encrypted objects until their owner opens them; encrypted, they name neither tokens nor
tenant. Opened or not, the rest of the row is the same. It has no log id.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-aig-logpush",
    title="Cloudflare AI Gateway, Logpush (ai_gateway_events)",
    containers=("lines", "json", "csv"),
    units=("events[]", "[]", ""),
    signature=(
        ("Timestamp", "Model", "Provider", "StatusCode"), ("Gateway", "Model", "StatusCode"),
        ("Timestamp", "Gateway", "Model"), ("Timestamp", "Model", "StatusCode"),
        ("Timestamp", "Model", "ResponseBody"), ("RequestedModel", "RoutingDecisionID"),
    ),
    fields={
        "stamp": ("Timestamp",),
        "duration": ("Metrics.durationMs|ms", "Metrics.duration_ms|ms"),
        "model": ("Model",),
        "provider": ("Provider",),
        "prompt": (
            "ResponseBody.usage.prompt_tokens", "ResponseBody.usage.input_tokens",
            "ResponseBody.result.usage.prompt_tokens",
        ),
        "cache_read": (
            "ResponseBody.usage.prompt_tokens_details.cached_tokens", "ResponseBody.usage.cache_read_input_tokens",
            "ResponseBody.usage.input_tokens_details.cached_tokens",
            "ResponseBody.result.usage.prompt_tokens_details.cached_tokens",
        ),
        "cache_write": ("ResponseBody.usage.cache_creation_input_tokens",),
        "completion": (
            "ResponseBody.usage.completion_tokens", "ResponseBody.usage.output_tokens",
            "ResponseBody.result.usage.completion_tokens",
        ),
        "total": ("ResponseBody.usage.total_tokens", "ResponseBody.result.usage.total_tokens"),
        "http_status": ("StatusCode",),
        "output": (
            "ResponseBody.choices", "ResponseBody.content", "ResponseBody.result.response",
            "ResponseBody.result.choices",
        ),
        "from_cache": ("Cached",),
        "tenant": (
            "Metadata.~organisation", "Metadata.~organization", "Metadata.~org", "Metadata.~team", "Metadata.~team_id",
            "Metadata.~tenant", "Metadata.~tenant_id", "Metadata.~project", "Metadata.~account",
        ),
        "user": ("Metadata.~user_id", "Metadata.~user"),
    },
    ids={"response_id": ("ResponseBody.id", "ResponseBody.result.id")},
    zone="UTC",
    provider_serves=True,
    tenant_says="organisation, team, tenant, project or account in the decrypted `cf-aig-metadata`, else its user",
    blind_spots=(
        BlindSpot(
            "over_1_mb",
            "A log is limited to 1 MB; a prompt over the threshold is about 3 MB where bodies are collected.",
            hides_long=True,
        ),
        BlindSpot(
            "encrypted",
            "No token count and no tenant is in clear: both are in the encrypted bodies and metadata (see --private-key).",
        ),
        BlindSpot("direct_calls", "Calls to Workers AI that did not pass through the gateway are not in its log."),
        BlindSpot("sample_rate", "The job may sample; the rows do not say so. Look at `sample_rate` of the job."),
        BlindSpot(
            "no_log_id",
            "Rows have no log id and cannot be joined to the REST logs but by time, model and status.",
        ),
    ),
    export=(
        "Fetch the objects of the Logpush job from its bucket, {prefix}/YYYYMMDD/*.log.gz, without renaming them.",
        "CSV without a header needs a mapping: its columns are `column_1`, `column_2` ... in the order of the job's fields.",
        "Give the private key of the gateway's Logpush settings with --private-key: bodies and metadata are opened in memory.",
    ),
    links=(
        "https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/account/ai_gateway_events/",
        "https://developers.cloudflare.com/ai-gateway/observability/logging/logpush/",
    ),
    accepts=(
        '{"Cached":false,"Endpoint":"chat/completions","Gateway":"prod","Metrics":{"durationMs":58011},'
        '"Model":"@cf/zai-org/glm-5.3",'
        '"Provider":"workers-ai","StatusCode":200,"Timestamp":"2026-09-02T08:41:12Z","Metadata":{"type":"encrypted",'
        '"key":"k","iv":"i",'
        '"data":"d"},"RequestBody":null,"ResponseBody":{"type":"encrypted","key":"k","iv":"i","data":"d"}}',
        '{"Model":"@cf/zai-org/glm-5.3","Provider":"workers-ai","StatusCode":200,"Timestamp":1788338472907000000,'
        '"Metadata":"{\\"team\\":\\"a\\"}","ResponseBody":"{\\"usage\\":{\\"prompt_tokens\\":702114}}"}',
    ),
    refuses=(
        '{"model":"m","provider":"p","status":200,"timestamp":"2026-09-02T08:41:12Z"}',
        '{"Timestamp":"2026-09-02T08:41:12Z","Level":"info"}',
    ),
)  # fmt: skip
