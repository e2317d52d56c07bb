"""OpenAI chat completions: what does an answer tell that was kept without its request?

Bare `chat.completion` objects, or the chunks of a stream one a line. `created` is near the start of the generation,
which may be long after the start of the request.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="openai-chat",
    title="OpenAI-shaped chat completions and chunks, without their request",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(
        ("choices", "created", "object", "!request", "!response"), ("choices", "model", "id", "!request", "!response"),
    ),
    fields={
        "record_id": ("id",),
        "stamp": ("created",),
        "model": ("model",),
        "provider": ("provider",),
        "prompt": ("usage.prompt_tokens",),
        "cache_read": ("usage.prompt_tokens_details.cached_tokens",),
        "completion": ("usage.completion_tokens",),
        "total": ("usage.total_tokens",),
        "error": ("error",),
        "output": ("choices",),
        "finish_reason": ("choices[0].finish_reason",),
    },
    ids={"response_id": ("id",)},
    cache_rule="inclusive",
    blind_spots=(
        BlindSpot("no_host", "An answer does not tell which provider served it."),
        BlindSpot(
            "stream_usage",
            "A stream tells its usage in its last chunk only, and only where the caller asked for it.",
        ),
        BlindSpot("answers_only", "Requests that were refused or never answered leave no such object."),
    ),
    export=("Copy the stored answers as they are, one object a line or one array.",),
    links=("https://platform.openai.com/docs/api-reference/chat",),
    accepts=(
        '{"id":"chatcmpl-1","object":"chat.completion","created":1788338472,"model":"@cf/zai-org/glm-5.3",'
        '"choices":[{"index":0}],'
        '"usage":{"prompt_tokens":702114,"completion_tokens":1207,"total_tokens":703321}}',
        '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1788338472,"model":"m","choices":[],'
        '"usage":null}',
    ),
    refuses=(
        '{"ts":"2026-09-02T08:41:12Z","request":{"model":"m"},"response":{"choices":[]}}',
        '{"ts":"2026-09-02T08:41:12Z","model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
