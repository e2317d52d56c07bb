"""Home-made application logs: how are those read whose cached tokens have a name of the application's own?

Nothing tells whether the prompt count includes them, so the rule is unknown: a total decides, else both readings stand.
All else is read as in `app-json`.
"""

from __future__ import annotations

from msgspec.structs import replace

from kvforensics.formats.app_json import FORMAT as APP_JSON

FORMAT = replace(
    APP_JSON,
    name="app-json-uncertain",
    title="Home-made application logs with a cached count of their own naming",
    signature=(
        ("~cached_tokens", "!**.prompt_tokens_details"), ("~cached_input_tokens", "!**.prompt_tokens_details"),
        ("~cache_read_tokens", "!**.prompt_tokens_details"),
        ("~cached_prompt_tokens", "!**.prompt_tokens_details"), ("~cache_hit_tokens", "!**.prompt_tokens_details"),
        ("**.~usage.~cached_prompt_tokens", "!**.prompt_tokens_details"),
        ("**.~usage.~prompt_cache_hit_tokens", "!**.prompt_tokens_details"),
        ("~tokens_cached", "!**.prompt_tokens_details"),
        ("**.~usage.~cached_tokens", "!**.prompt_tokens_details"),
        ("**.~usage.~cached_input_tokens", "!**.prompt_tokens_details"),
        ("**.~usage.~cache_read_tokens", "!**.prompt_tokens_details"),
        ("**.~usage.~cache_read_input_tokens", "**.usage.prompt_tokens", "!**.prompt_tokens_details"),
        ("**.usage.cached", "!**.prompt_tokens_details"), ("tokens.cached",),
    ),
    fields={
        **APP_JSON.fields,
        "cache_read": (
            "~cached_tokens", "~cached_input_tokens", "~cache_read_tokens", "~cached_prompt_tokens", "~tokens_cached",
            "~cache_hit_tokens", "**.~usage.~cached_prompt_tokens", "**.~usage.~prompt_cache_hit_tokens",
            "**.~usage.~cached_tokens",
            "**.~usage.~cached_input_tokens", "**.~usage.~cache_read_tokens", "**.~usage.~cache_read_input_tokens",
            "**.usage.cached", "tokens.cached",
        ),
        "cache_write": (
            "~cache_write_tokens", "~cache_creation_tokens", "**.~usage.~cache_write_tokens",
            "**.~usage.~cache_creation_input_tokens", "tokens.~cache_write",
        ),
    },
    cache_rule="unknown",
    own_total=False,
    accepts=(
        '{"ts":"2026-09-02T08:41:12.907Z","model":"@cf/zai-org/glm-5.3","status":200,"input_tokens":46754,'
        '"cached_tokens":655360}',
        '{"time":"2026-09-02T08:41:12Z","model":"m","usage":{"inputTokens":702114,"cachedInputTokens":655360}}',
    ),
    refuses=(
        '{"model":"m","usage":{"prompt_tokens":702114,"prompt_tokens_details":{"cached_tokens":655360}}}',
        '{"model":"m","usage":{"prompt_tokens":702114}}',
    ),
)  # fmt: skip
