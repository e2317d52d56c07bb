"""Cloudflare analytics: what do the sums of the GraphQL nodes `...AdaptiveGroups` tell?

Every row is a sum over several requests. It can bound what may have happened, and never flags a request.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-graphql-groups",
    title="Cloudflare analytics, GraphQL sums (aiInferenceAdaptiveGroups, aiGatewayRequestsAdaptiveGroups)",
    containers=("json", "lines"),
    units=("data.viewer.accounts[].*[]", "[]", ""),
    signature=(("dimensions", "sum"), ("dimensions", "count")),
    fields={
        "model": ("dimensions.modelId", "dimensions.model"),
        "provider": ("dimensions.provider",),
        "state": ("dimensions.errorCode",),
        "prompt": ("sum.totalInputTokens", "sum.uncachedTokensIn"),
        "cache_read": ("sum.cachedTokensIn",),
        "requests": ("count",),
        "sample_interval": ("avg.sampleInterval",),
    },
    buckets={
        "dimensions.datetime": "1s", "dimensions.datetimeMinute": "60s", "dimensions.datetimeFiveMinutes": "300s",
        "dimensions.datetimeFifteenMinutes": "900s", "dimensions.datetimeHour": "1h", "dimensions.date": "1d",
    },
    zone="UTC",
    cache_rule="exclusive",
    ok_states=("0",),
    aggregates=True,
    tenant_says="sums name no tenant",
    blind_spots=(
        BlindSpot(
            "sums",
            "A sum over several requests: it shows no single prompt, and a large sum need not hold a long prompt.",
        ),
        BlindSpot("sampled", "Sums are extrapolated from a sample where `avg.sampleInterval` is over 1."),
    ),
    export=(
        "POST a query to https://api.cloudflare.com/client/v4/graphql with a token that has Account Analytics Read.",
        "Ask aiInferenceAdaptiveGroups for count, avg { sampleInterval }, dimensions { datetimeMinute modelId "
        "errorCode } and sum { totalInputTokens }; the finer the time, the tighter the bound.",
    ),
    links=("https://developers.cloudflare.com/analytics/graphql-api/",),
    accepts=(
        '{"count":2,"avg":{"sampleInterval":1},"dimensions":{"date":"2026-09-02","modelId":"@cf/zai-org/glm-5.3",'
        '"errorCode":0},'
        '"sum":{"totalInputTokens":1595000}}',
    ),
    refuses=('{"datetime":"2026-09-02T08:41:12Z","modelId":"@cf/zai-org/glm-5.3","inputTokens":702114}',),
)  # fmt: skip
