"""Vercel AI Gateway: what does the look-up of one generation tell?

Answers of `GET /v1/generation?id=...`. Counts are the model's own (`native_tokens_*`) before the gateway's. Whether
`created_at` is the start or the end is not documented.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="vercel-generation",
    title="Vercel AI Gateway, look-up of a generation",
    containers=("json", "lines"),
    units=("data[]", "data", "[]", ""),
    signature=(("id", "generation_time", "provider_name", "native_tokens_prompt", "!upstream_id"),),
    fields={
        "record_id": ("id",),
        "stamp": ("created_at",),
        "duration": ("generation_time|ms",),
        "model": ("model",),
        "provider": ("provider_name",),
        "prompt": ("native_tokens_prompt", "tokens_prompt"),
        "cache_read": ("native_tokens_cached",),
        "completion": ("native_tokens_completion", "tokens_completion"),
        "http_status": ("status_code",),
        "error": ("error",),
    },
    ids={"response_id": ("id",)},
    zone="UTC",
    stand_ins=("tokens_prompt",),
    cache_rule="inclusive",
    provider_serves=True,
    blind_spots=(
        BlindSpot("known_ids", "Only generations whose id the customer kept can be looked up."),
        BlindSpot("final_provider", "Failed attempts at other providers are not in the answer."),
    ),
    export=(
        "For each kept generation id: GET https://ai-gateway.vercel.sh/v1/generation?id={id}, with the gateway's key.",
        "Keep each answer as it comes, one file or one line each.",
    ),
    links=("https://vercel.com/docs/ai-gateway",),
    accepts=(
        '{"id":"gen_01M1MAKA1T7WHFZS6RK8RTK0EK","total_cost":1.44,"usage":1.44,"created_at":"2026-09-03T19:05:44.250Z",'
        '"model":"zai/glm-5.3","is_byok":false,"provider_name":"cloudflare","streamed":true,"latency":1200,'
        '"generation_time":88001,"tokens_prompt":702114,"tokens_completion":2048,"native_tokens_prompt":702114,'
        '"native_tokens_completion":2048,"native_tokens_cached":0}',
    ),
    refuses=(
        '{"id":"gen-1788903633-41er","upstream_id":"chatcmpl-1","created_at":"2026-09-08T21:40:33Z","model":"z-ai/glm-5.3",'
        '"provider_name":"Cloudflare","generation_time":1,"native_tokens_prompt":1,"tokens_prompt":1}',
    ),
)  # fmt: skip
