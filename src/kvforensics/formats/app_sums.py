"""Home-made sums: what do rows for a day or an hour tell, each over several requests?

Reports and billing exports by common names. A row counts its requests beside their tokens: it can bound what may have
happened, and never flags a request. A time that is no whole day or hour leaves the row without a place.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

_WHEN = ("date", "day", "usage_date", "hour", "month")
_REQUESTS = ("requests", "request_count", "num_requests", "total_requests")
_TOKENS = ("prompt_tokens", "input_tokens", "total_input_tokens", "total_tokens")
_DATE = r"/^\d{4}-\d\d-\d\d(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?)?$/=1d"

FORMAT = Format(
    name="app-sums",
    title="Home-made sums, reports and billing exports (a row a day or an hour) by common names",
    containers=("lines", "json", "csv", "parquet"),
    units=("[]", ""),
    signature=tuple((f"~{when}", f"~{n}", f"~{tokens}") for when in _WHEN for n in _REQUESTS for tokens in _TOKENS),
    fields={
        "stamp": (r"~hour|/^(\d{4}-.*)$/", "~date", "~day", "~usage_date"),
        # The number of an hour beside a date is a part of the day, and not known to be all of it.
        "bucket": (
            r"~hour|/^\d{4}-/=1h", "~hour|/./=a part of a day", f"~date|{_DATE}", f"~day|{_DATE}", f"~usage_date|{_DATE}",
        ),
        "requests": tuple(f"~{n}" for n in _REQUESTS),
        "model": ("~model", "~model_id", "~model_name", "~model_permaslug"),
        "provider": ("~provider", "~provider_name"),
        "prompt": tuple(f"~{tokens}" for tokens in _TOKENS[:-1]),
        "cache_read": ("~cached_input_tokens", "~cached_tokens", "~cache_read_tokens", "~cache_read_input_tokens"),
        "cache_write": ("~cache_write_tokens", "~cache_creation_tokens", "~cache_creation_input_tokens"),
        "completion": ("~completion_tokens", "~output_tokens", "~total_output_tokens", "~tokens_out"),
        "total": ("~total_tokens",),
        "sample_interval": ("~sample_interval",),
    },
    own_total=False,
    aggregates=True,
    tenant_says="sums name no tenant",
    blind_spots=(
        BlindSpot("sums", "A sum over a time shows no single prompt, and a large sum need not hold a long prompt."),
        BlindSpot("own_selection", "A report holds what its query chose: ask whether all models, keys and failures are in it."),
    ),
    export=("Ask for a row a day or an hour and model, with the number of requests and the input tokens.",),
    links=("https://vercel.com/docs/ai-gateway/observability-and-spend/custom-reporting",),
    accepts=(
        '{"day":"2026-09-02","model":"zai/glm-5.3","provider":"cloudflare","input_tokens":1405000,"output_tokens":9,'
        '"request_count":7}',
        '{"hour":"2026-09-02T08:00:00Z","model":"m","requests":"7","total_input_tokens":"1405000"}',
    ),
    refuses=(
        '{"date":"2026-09-02","model":"m","prompt_tokens":1405000}',
        '{"ts":"2026-09-02T08:41:12Z","model":"m","requests":1,"prompt_tokens":702114}',
    ),
)  # fmt: skip
