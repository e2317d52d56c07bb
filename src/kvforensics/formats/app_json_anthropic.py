"""Home-made application logs: how are those read whose usage is shaped as Anthropic shapes it?

`input_tokens` leaves out what was read from and written to the provider's cache, so the three counts are added. All
else is read as in `app-json`.
"""

from __future__ import annotations

from msgspec.structs import replace

from kvforensics.formats.app_json import FORMAT as APP_JSON

FORMAT = replace(
    APP_JSON,
    name="app-json-anthropic",
    title="Home-made application logs with Anthropic-shaped usage",
    signature=(
        ("**.usage.cache_read_input_tokens", "!**.usage.prompt_tokens", "!**.usage.input_tokens_details"),
        ("**.usage.cache_creation_input_tokens", "!**.usage.prompt_tokens", "!**.usage.input_tokens_details"),
        ("**.usage.cache_creation.ephemeral_5m_input_tokens", "!**.usage.prompt_tokens", "!**.usage.input_tokens_details"),
        ("**.usage.cache_creation.ephemeral_1h_input_tokens", "!**.usage.prompt_tokens", "!**.usage.input_tokens_details"),
        ("**.~usage.~cache_read_input_tokens", "**.~usage.~input_tokens"),
        ("~cache_read_input_tokens", "~input_tokens"),
        ("~cache_creation_input_tokens", "~input_tokens"),
    ),
    fields={
        **{slot: paths for slot, paths in APP_JSON.fields.items() if slot != "total"},
        "prompt": ("**.usage.input_tokens", "**.~usage.~input_tokens", "~input_tokens"),
        "cache_read": (
            "**.usage.cache_read_input_tokens", "**.~usage.~cache_read_input_tokens", "~cache_read_input_tokens",
        ),
        "cache_write": (
            "**.usage.cache_creation_input_tokens", "**.~usage.~cache_creation_input_tokens",
            "~cache_creation_input_tokens", "**.usage.cache_creation|+ephemeral_*",
        ),
        "completion": ("**.usage.output_tokens", "**.~usage.~output_tokens", "~output_tokens"),
    },
    cache_rule="exclusive",
    links=("https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching",),
    accepts=(
        '{"ts":"2026-09-02T08:41:12.907Z","team":"a","model":"@cf/zai-org/glm-5.3","status":200,'
        '"usage":{"input_tokens":46754,'
        '"cache_creation_input_tokens":0,"cache_read_input_tokens":655360,"output_tokens":1207}}',
        '{"time":"2026-09-02T08:41:12Z","model":"m","input_tokens":46754,"cache_read_input_tokens":655360}',
        '{"ts":"2026-09-02T08:41:12.907Z","model":"m","usage":{"input_tokens":5,"cache_creation":'
        '{"ephemeral_5m_input_tokens":600000,"ephemeral_1h_input_tokens":100000},"output_tokens":7}}',
    ),
    refuses=(
        '{"model":"m","usage":{"prompt_tokens":702114,"cache_read_input_tokens":655360}}',
        '{"model":"m","usage":{"input_tokens":702114,"input_tokens_details":{"cached_tokens":655360}}}',
    ),
)  # fmt: skip
