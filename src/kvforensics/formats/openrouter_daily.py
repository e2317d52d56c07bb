"""OpenRouter: what do the daily sums of its activity API tell?

A row for each day, model and provider of about the last thirty days, summed over several requests: it can bound what
may have happened, and never flags a request.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="openrouter-daily",
    title="OpenRouter, daily sums of the activity API",
    containers=("json", "lines", "csv"),
    units=("data[]", "[]", ""),
    signature=(
        ("date", "model_permaslug", "requests", "prompt_tokens"), ("date", "provider_name", "requests", "prompt_tokens"),
    ),
    fields={
        "requests": ("requests",),
        "model": ("model_permaslug", "model"),
        "provider": ("provider_name",),
        "prompt": ("prompt_tokens",),
        "completion": ("completion_tokens",),
    },
    buckets={"date": "1d"},
    zone="UTC",
    cache_rule="inclusive",
    provider_serves=True,
    aggregates=True,
    tenant_says="sums name no tenant",
    blind_spots=(
        BlindSpot("sums", "A sum over a day shows no single prompt, and a large sum need not hold a long prompt."),
        BlindSpot("thirty_days", "The API gives about the last thirty days only."),
    ),
    export=("GET https://openrouter.ai/api/v1/activity with a provisioning key; the activity export says more.",),
    links=("https://openrouter.ai/docs/api-reference/analytics/get-activity",),
    accepts=(
        '{"date":"2026-09-02","model":"z-ai/glm-5.3","model_permaslug":"z-ai/glm-5.3","provider_name":"Cloudflare",'
        '"usage":1.9,"requests":7,"prompt_tokens":1405000,"completion_tokens":4000}',
    ),
    refuses=('{"generation_id":"gen-1","created_at":"2026-09-02 08:41:12","tokens_prompt":1,"provider_name":"Z.AI"}',),
)  # fmt: skip
