"""Kong AI Gateway: what does the audit log of the AI plugins tell, as file-log or http-log write it?

`started_at` is the start. Counts are those of the provider, under the name of the plugin (older) or its category (newer),
and streams have had wrong counts or 0 in some versions. The provider's name is that of its protocol.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="kong",
    title="Kong AI Gateway audit log",
    containers=("lines", "json"),
    signature=(
        ("started_at", "request.uri", "response.status"), ("started_at", "latencies", "request"),
        ("ai", "latencies", "request"), ("ai", "started_at", "response.status"),
    ),
    fields={
        "record_id": ("request.id",),
        "start": ("started_at",),
        "duration": ("latencies.request",),
        "model": (
            "ai.proxy.meta.request_model", "ai.ai-proxy.meta.request_model", "ai.ai-proxy-advanced.meta.request_model",
            "ai.**.meta.request_model", "ai.**.meta.response_model", "upstream_uri", "request.uri",
        ),
        "answer_model": ("ai.**.meta.response_model",),
        "provider": ("ai.proxy.meta.provider_name", "ai.ai-proxy.meta.provider_name", "ai.**.meta.provider_name"),
        "prompt": (
            "ai.proxy.usage.prompt_tokens", "ai.ai-proxy.usage.prompt_tokens", "ai.ai-proxy.usage.prompt_token",
            "ai.**.usage.prompt_tokens", "ai.**.usage.prompt_token",
        ),
        "completion": (
            "ai.proxy.usage.completion_tokens", "ai.ai-proxy.usage.completion_tokens",
            "ai.ai-proxy.usage.completion_token", "ai.**.usage.completion_tokens", "ai.**.usage.completion_token",
        ),
        "total": ("ai.proxy.usage.total_tokens", "ai.ai-proxy.usage.total_tokens", "ai.**.usage.total_tokens"),
        "request_bytes": ("request.size",),
        "request_encoding": ("request.headers.~content_encoding",),
        "http_status": ("response.status",),
        "from_cache": ("ai.**.cache.cache_status", "ai.**.cache_status"),
        "tenant": ("consumer.custom_id", "consumer.username"),
        "key": ("authenticated_entity.id",),
        "user": ("consumer.username", "authenticated_entity.consumer_id"),
        "client_ip": ("client_ip",),
        "user_agent": ("request.headers.~user_agent",),
    },
    ids={
        "request_id": ("request.id",), "x_request_id": ("request.headers.~x_request_id",),
        "cf_ray": ("response.headers.~cf_ray",), "cf_aig_log_id": ("response.headers.~cf_aig_log_id",),
    },
    cache_rule="inclusive",
    framing=(("request.method", "GET"), ("request.method", "HEAD"), ("request.method", "OPTIONS")),
    tenant_says="the consumer: its custom id, else its name",
    blind_spots=(
        BlindSpot("stream_counts", "Some versions log wrong counts, or none, for streams."),
        BlindSpot("no_host", "The log does not tell which provider was behind a route that speaks OpenAI's protocol."),
        BlindSpot("interleaved", "Lines over 4 KB on standard output can be torn apart by other lines."),
    ),
    export=("Copy the file of the file-log plugin, or the bodies that http-log sent, as they are.",),
    links=("https://developer.konghq.com/ai-gateway/ai-audit-log-reference/",),
    accepts=(
        '{"client_ip":"192.0.2.17","started_at":1788338472907,"latencies":{"request":9120},"request":{"id":"4595c572",'
        '"method":"POST","uri":"/ai/chat","size":2935567,"headers":{"user-agent":"curl"}},"response":{"status":200},'
        '"consumer":{"username":"a","custom_id":"team-a"},"ai":{"proxy":{"usage":{"prompt_tokens":702114,'
        '"completion_tokens":1207,"total_tokens":703321},"meta":{"request_model":"@cf/zai-org/glm-5.3",'
        '"provider_name":"openai"},"cache":{}}}}',
        '{"started_at":1788338472907,"latencies":{"request":10},"request":{"uri":"/ai","method":"POST"},'
        '"response":{"status":499},"ai":{"ai-proxy":{"usage":{"prompt_token":0},"meta":{"request_model":"m"}}}}',
    ),
    refuses=(
        '{"started_at":"2026-09-02T08:41:12Z","model":"m","request":{"id":"1"}}',
        '{"request":{"uri":"/","method":"POST"},"status":200,"bytes_read":1,"ts":1788338482.027}',
    ),
)  # fmt: skip
