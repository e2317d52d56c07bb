"""OpenRouter: what does its activity export tell of each generation?

A CSV row a generation, in columns that changed over time. `provider_name` says who served it. Times are UTC; whether
`created_at` is the start is not documented, nor whether `tokens_prompt` is counted by the model's own tokenizer.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="openrouter-activity",
    title="OpenRouter, activity export (one row a generation)",
    containers=("csv", "lines", "json", "parquet"),
    units=("data[]", "[]", ""),
    signature=(
        ("generation_id", "created_at", "model_permaslug"), ("generation_id", "created_at", "tokens_prompt"),
        ("generation_id", "provider_name", "tokens_prompt"),
    ),
    fields={
        "record_id": ("generation_id",),
        "stamp": ("created_at",),
        "duration": ("generation_time_ms",),
        "model": ("model_permaslug", "model"),
        "provider": ("provider_name",),
        "prompt": ("native_tokens_prompt", "tokens_prompt"),
        "cache_read": ("native_tokens_cached", "tokens_cached"),
        "completion": ("tokens_completion",),
        "state": ("cancelled|/^(?i:true|1|t|yes)$/=cancelled", "finish_reason_normalized", "finish_reason_raw"),
        "first_token": ("time_to_first_token_ms",),
        "finish_reason": ("finish_reason_normalized", "finish_reason_raw"),
        "replay_of": ("response_cache_source_id",),
        "key": ("api_key_name",),
        "user": ("user", "external_user"),
    },
    ids={"response_id": ("generation_id",), "upstream_id": ("upstream_id",)},
    zone="UTC",
    stand_ins=("tokens_prompt",),
    cache_rule="inclusive",
    provider_serves=True,
    ok_states=("stop", "length", "tool_calls", "content_filter", "end_turn", "max_tokens", "tool_use", "eos"),
    tenant_says="the name of the key, else the user that the caller named",
    blind_spots=(
        BlindSpot("no_failures", "Failed attempts are not in the export."),
        BlindSpot("tokenizer", "Whether the prompt count is the model's own is not documented."),
        BlindSpot("no_replay_flag", "An answer from a response cache looks like a call."),
    ),
    export=(
        "openrouter.ai/activity: choose the window and export single generations as CSV (not the summary by model or key); "
        "repeat for every account and organisation.",
        "For single rows, GET https://openrouter.ai/api/v1/generation?id=... has the native token counts.",
    ),
    links=(
        "https://openrouter.ai/docs/cookbook/administration/activity-export", "https://openrouter.ai/docs/guides/features/logs",
    ),
    accepts=(
        '{"generation_id":"gen-1788338472-g104","created_at":"2026-09-02 08:41:12.907","tokens_prompt":"702114",'
        '"tokens_completion":"1207","tokens_cached":"655360","model_permaslug":"z-ai/glm-5.3","cancelled":"false",'
        '"provider_name":"Cloudflare","finish_reason_normalized":"stop","generation_time_ms":"9120"}',
    ),
    refuses=(
        '{"date":"2026-09-02","model":"z-ai/glm-5.3","provider_name":"Cloudflare","requests":7,"prompt_tokens":1405000}',
        '{"id":"gen-1","created_at":"2026-09-02T08:41:12Z","model":"z-ai/glm-5.3","native_tokens_prompt":1}',
    ),
)  # fmt: skip
