"""OpenRouter: what does the answer of its `/generation` call tell of one generation?

Only `native_tokens_prompt` is counted by the model's own tokenizer; `tokens_prompt` is not, and is left out.
`provider_name` says who served the generation; attempts at other providers before it are listed in the same record.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="openrouter-generation",
    title="OpenRouter, single generations",
    containers=("json", "lines", "csv"),
    units=("data", "data[]", "[].data", "[]", ""),
    signature=(
        ("id", "native_tokens_prompt", "provider_name", "upstream_id"), ("id", "provider_responses", "provider_name"),
        ("id", "native_tokens_prompt", "generation_time", "cancelled"),
    ),
    fields={
        "record_id": ("id",),
        "stamp": ("created_at",),
        "duration": ("generation_time",),
        "model": ("model", "model_permaslug"),
        "provider": ("provider_name",),
        "prompt": ("native_tokens_prompt",),
        "cache_read": ("native_tokens_cached",),
        "completion": ("native_tokens_completion", "tokens_completion"),
        "state": ("cancelled|/^(?i:true)$/=cancelled", "finish_reason", "native_finish_reason"),
        "finish_reason": ("finish_reason", "native_finish_reason"),
        "replay_of": ("response_cache_source_id",),
        "tenant": ("workspace_id",),
        "user": ("external_user", "user"),
        "user_agent": ("user_agent",),
    },
    ids={"response_id": ("id",), "upstream_id": ("upstream_id",), "request_id": ("request_id",)},
    zone="UTC",
    cache_rule="inclusive",
    provider_serves=True,
    ok_states=("stop", "length", "tool_calls", "content_filter", "end_turn", "max_tokens", "tool_use", "eos"),
    tenant_says="the workspace, else the user that the caller named",
    blind_spots=(
        BlindSpot(
            "one_by_one", "Generations are asked for one by one: those that nobody asked for are not there.", hides_long=True
        ),
    ),
    export=(
        "GET https://openrouter.ai/api/v1/generation?id=gen-... for each id of the activity export; keep the answers.",
    ),
    links=("https://openrouter.ai/docs/api-reference/get-a-generation",),
    accepts=(
        '{"id":"gen-1788903633-41er","upstream_id":"chatcmpl-d6b4","created_at":"2026-09-08T21:40:33.700000+00:00",'
        '"model":"z-ai/glm-5.3","provider_name":"Cloudflare","cancelled":false,"finish_reason":"stop",'
        '"tokens_prompt":701200,"native_tokens_prompt":733501,"native_tokens_cached":0,"generation_time":63010}',
    ),
    refuses=(
        '{"generation_id":"gen-1","created_at":"2026-09-02 08:41:12","tokens_prompt":1,"model_permaslug":"m"}',
        '{"id":"gen_1","created_at":"2026-09-02T08:41:12Z","native_tokens_prompt":1,"provider_name":"x","is_byok":false}',
        '{"id":"gen-1","object":"chat.completion","created":1788338472,"model":"m","provider":"Cloudflare","choices":[]}',
    ),
)  # fmt: skip
