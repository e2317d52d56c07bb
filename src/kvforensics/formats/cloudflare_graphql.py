"""Cloudflare Workers AI: what do the rows of the GraphQL node `aiInferenceAdaptive` tell?

One row a request, or, where `sampleInterval` is over 1, one row for several. `errorCode` 0 is an answer; every other
code is a refusal or a failure. The service counts the tokens itself, also of streams whose client saw no usage.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-graphql",
    title="Cloudflare Workers AI, GraphQL analytics (aiInferenceAdaptive)",
    containers=("json", "lines"),
    units=("data.viewer.accounts[].*[]", "[]", ""),
    signature=(
        ("modelId", "inputTokens"), ("modelId", "errorCode", "datetime"), ("modelId", "inferenceTimeMs"),
        ("modelId", "neurons"),
    ),
    fields={
        "stamp": ("datetime",),
        "duration": ("inferenceTimeMs|ms",),
        "model": ("modelId",),
        "prompt": ("inputTokens",),
        "completion": ("outputTokens",),
        "state": ("errorCode",),
        "tag": ("requestSource",),
        "sample_interval": ("sampleInterval",),
    },
    zone="UTC",
    constants={"provider": "workers-ai"},
    ok_states=("0",),
    tenant_says="nothing in these rows names a tenant, key, user or request",
    blind_spots=(
        BlindSpot("sampled", "Rows are sampled: one with `sampleInterval` over 1 stands for several requests."),
        BlindSpot("no_identity", "Rows name no request id, key or user; they tell that it happened, not to whom."),
        BlindSpot("retention", "How far back rows are kept is set for each account; ask `settings { notOlderThan }`."),
        BlindSpot("page_size", "An answer that is as long as its `limit` may be cut: ask again from its last time."),
    ),
    export=(
        "POST a query to https://api.cloudflare.com/client/v4/graphql with a token that has Account Analytics Read.",
        "Ask viewer { accounts { aiInferenceAdaptive } } for datetime, modelId, inputTokens, outputTokens, "
        "inferenceTimeMs, errorCode and sampleInterval, filtered by modelId, a day at a time, ordered by datetime.",
        "Keep each answer whole, one file a day.",
    ),
    links=(
        "https://developers.cloudflare.com/analytics/graphql-api/",
        "https://developers.cloudflare.com/analytics/graphql-api/sampling/",
    ),
    accepts=(
        '{"datetime":"2026-09-02T08:41:12Z","modelId":"@cf/zai-org/glm-5.3","requestSource":"rest",'
        '"inputTokens":702114,'
        '"outputTokens":1207,"inferenceTimeMs":9120,"errorCode":0,"sampleInterval":1}',
        '{"datetime":"2026-09-04T02:12:09Z","modelId":"@cf/zai-org/glm-5.3","errorCode":5006}',
    ),
    refuses=(
        '{"count":2,"dimensions":{"date":"2026-09-02","modelId":"@cf/zai-org/glm-5.3"},"sum":{"totalInputTokens":1}}',
        '{"schemaType":"ModelInvocationLog","modelId":"m","timestamp":"2026-09-02T08:41:12Z",'
        '"input":{"inputTokenCount":1}}',
    ),
)  # fmt: skip
