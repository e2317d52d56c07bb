"""Vercel AI SDK telemetry: what do its OpenTelemetry spans tell of each model call?

A call is an outer span (`ai.generateText`) and one inner span (`ai.generateText.doGenerate`) for each step. The outer one
adds up its steps, so that it is believed only where an inner span says the same.
"""

from __future__ import annotations

from kvforensics.span_units import UNITS
from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="vercel-ai-sdk",
    title="Vercel AI SDK telemetry (OTLP JSON)",
    containers=("lines", "json"),
    units=UNITS,
    view="otlp",
    signature=(("span.spanId", "ai.operationId"),),
    requests=(("ai.operationId=ai.generate*",), ("ai.operationId=ai.stream*",), ("ai.operationId=ai.embed*",)),
    sums=tuple((f"ai.operationId=ai.{name}",) for name in ("generateText", "streamText", "embedMany")),
    fields={
        "sample_interval": ("span.traceState|~adjusted_count",),
        "start": ("span.startTimeUnixNano",),
        "end": ("span.endTimeUnixNano",),
        "model": ("ai.model.id", "gen_ai.request.model", "ai.response.model", "gen_ai.response.model"),
        "answer_model": ("ai.response.model", "gen_ai.response.model"),
        "provider": (
            "ai.response.providerMetadata.gateway.routing.finalProvider",
            "ai.response.providerMetadata.gateway.routing.resolvedProvider", "ai.model.provider", "gen_ai.system",
        ),
        "host": ("server.address", "url.full"),
        "prompt": ("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens", "ai.usage.tokens"),
        "cache_read": ("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens",
                       "gen_ai.usage.cache_read.input_tokens"),
        "cache_write": ("ai.usage.inputTokenDetails.cacheWriteTokens",),
        "completion": ("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
        "http_status": ("http.response.status_code",),
        "state": ("span.status.code",),
        "error": ("error.type", "span.status.message"),
        "output": ("ai.response.text", "ai.response.object", "ai.response.toolCalls"),
        "tenant": ("metadata.~tenant", "metadata.~tenant_id", "metadata.~organization", "metadata.~organization_id",
                   "metadata.~org", "metadata.~org_id", "metadata.~team", "metadata.~team_id", "metadata.~project",
                   "metadata.~account", "metadata.~account_id"),
        "user": ("metadata.~user_id", "metadata.~user", "user.id"),
        "node": ("resource.host.name", "resource.service.instance.id"),
    },
    ids={"response_id": ("gen_ai.response.id", "ai.response.id"), "trace_id": ("span.traceId",),
         "span_id": ("span.spanId",), "parent_span_id": ("span.parentSpanId",)},
    zone="UTC",
    stand_ins=("ai.usage.tokens",),
    cache_rule="inclusive",
    # Before version 6 Anthropic-type providers counted without the cache; later versions say what was not cached.
    cache_rules=(("ai.usage.inputTokenDetails.noCacheTokens", "inclusive"), ("ai.model.provider=*anthropic*", "exclusive")),
    own_total=False,
    ok_states=(),
    unset_states=("unset", "ok", "0", "1", "status_code_unset", "status_code_ok"),
    failed_states=("error", "2", "status_code_error"),
    tenant_says="tenant, organisation, team, project or account in the caller's telemetry metadata, else its user",
    blind_spots=(
        BlindSpot("telemetry_off", "Only calls with `experimental_telemetry` switched on have spans."),
        BlindSpot("no_usage", "Streams of providers that do not send usage have no counts."),
        BlindSpot("limits", "Sampling, attribute and size limits drop spans, long prompts first.", hides_long=True),
    ),
    export=(
        "Find where the app's OpenTelemetry exporter sends its traces (for Vercel: Observability > Trace drains).",
        "There, write all spans of the instrumentation scope `ai` as OTLP JSON, inner and outer ones.",
    ),
    links=("https://ai-sdk.dev/docs/ai-sdk-core/telemetry",),
    accepts=(
        '{"traceId":"d21b951ac2be340be56c5adbcbcf4d9e","spanId":"7648e85352d97eeb","parentSpanId":"11806bc591baef5d",'
        '"name":"ai.streamText.doStream","startTimeUnixNano":"1788338472907000000","attributes":['
        '{"key":"ai.operationId","value":{"stringValue":"ai.streamText.doStream"}},'
        '{"key":"ai.model.id","value":{"stringValue":"@cf/zai-org/glm-5.3"}},'
        '{"key":"ai.usage.inputTokens","value":{"intValue":"702114"}},'
        '{"key":"ai.telemetry.metadata.tenantId","value":{"stringValue":"team-a"}}],"status":{}}',
    ),
    refuses=(
        '{"traceId":"a1","spanId":"b2","name":"chat","startTimeUnixNano":1,"attributes":'
        '[{"key":"gen_ai.request.model","value":{"stringValue":"m"}}]}',
    ),
)  # fmt: skip
