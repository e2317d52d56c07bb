"""LiteLLM proxy: what do its daily sums tell?

Rows of the tables `LiteLLM_Daily...Spend`, answers of `/user/daily/activity` and its like, and the CSV files of the
usage page. Every row is a sum over several requests: it can bound what may have happened, and never flags a request.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="litellm-daily",
    title="LiteLLM proxy, daily sums (usage page, daily activity, daily spend tables)",
    containers=("csv", "json", "lines", "parquet"),
    units=("results[]", "[]", ""),
    signature=(
        ("date", "api_requests", "prompt_tokens", "spend"),
        ("date", "metrics.api_requests"), ("date", "metrics.total_tokens", "breakdown"),
        ("Date", "Requests", "Total Tokens"), ("Date", "Requests", "Tokens"), ("Date", "Spend", "Requests"),
        ("Date", "Spend ($)", "Requests"), ("Date", "Spend ($)", "Total Requests"), ("Date", "Spend", "Total Requests"),
    ),
    fields={
        "requests": ("api_requests", "metrics.api_requests", "Requests", "Total Requests"),
        "model": ("model", "Model", "model_group"),
        "provider": ("custom_llm_provider",),
        "prompt": ("prompt_tokens", "metrics.prompt_tokens", "Prompt Tokens"),
        "cache_read": ("cache_read_input_tokens", "metrics.cache_read_input_tokens"),
        "completion": ("completion_tokens", "metrics.completion_tokens", "Completion Tokens"),
        "total": ("metrics.total_tokens", "Total Tokens", "Tokens"),
        "tenant": ("organization_id", "team_id", "Team ID", "Team"),
        "key": ("api_key",),
        "user": ("user_id", "end_user_id"),
    },
    buckets={"date": "1d", "Date": "1d"},
    zone="UTC",
    cache_rule="inclusive",
    aggregates=True,
    tenant_says="the organisation or team, else the key, else the user, where the sum is by one of them",
    blind_spots=(
        BlindSpot("sums", "A sum over a day shows no single prompt, and a large sum need not hold a long prompt."),
    ),
    export=(
        "Usage page: choose the days and Export as CSV, by day and model.",
        "Or GET /user/daily/activity?start_date=...&end_date=... with an admin key. The spend logs say more.",
    ),
    links=("https://docs.litellm.ai/docs/proxy/cost_tracking",),
    accepts=(
        '{"date":"2026-09-02","metrics":{"spend":1.9,"prompt_tokens":1405000,"api_requests":7,"total_tokens":1409000},'
        '"breakdown":{"models":{}}}',
        '{"Date":"2026-09-02","Team":"team-a","Spend":"1.9","Requests":"7","Total Tokens":"1409000"}',
    ),
    refuses=(
        '{"date":"2026-09-02","model":"m","requests":7,"prompt_tokens":1405000}',
        '{"date":"2026-09-02","model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
