"""Cloudflare AI Gateway, OpenTelemetry export: what does the gateway's own span tell of each request?

Spans that the gateway sends to the customer's collector. No attribute has the HTTP status; the caller's metadata are plain
attributes. Whether `gen_ai.usage.input_tokens` includes the provider's cache is not documented for the gateway itself; the
convention that names it says so.
"""

from __future__ import annotations

from kvforensics.span_units import UNITS
from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="cloudflare-aig-otel",
    title="Cloudflare AI Gateway, OpenTelemetry export",
    containers=("lines", "json"),
    units=UNITS,
    view="otlp",
    signature=(("span.spanId", "gen_ai.model.provider", "gen_ai.request.model"),),
    fields={
        "sample_interval": ("span.traceState|~adjusted_count",),
        "start": ("span.startTimeUnixNano",),
        "end": ("span.endTimeUnixNano",),
        "model": ("gen_ai.request.model",),
        "provider": ("gen_ai.model.provider",),
        "prompt": ("gen_ai.usage.input_tokens",),
        "completion": ("gen_ai.usage.output_tokens",),
        "state": ("span.status.code",),
        "error": ("error.type", "span.status.message"),
        "output": ("gen_ai.completion_json",),
        "tenant": ("organisation", "organization", "org", "organization_id", "org_id", "orgId", "team", "team_id", "teamId",
                   "tenant", "tenant_id", "tenantId", "project", "project_id", "projectId", "account", "account_id",
                   "accountId"),
        "user": ("user_id", "userId", "user"),
    },
    ids={"trace_id": ("span.traceId",), "span_id": ("span.spanId",), "parent_span_id": ("span.parentSpanId",),
         "response_id": ("gen_ai.response.id",)},
    zone="UTC",
    cache_rule="inclusive",
    provider_serves=True,
    ok_states=(),
    unset_states=("unset", "ok", "0", "1", "status_code_unset", "status_code_ok"),
    failed_states=("error", "2", "status_code_error"),
    tenant_says="organisation, team, tenant, project or account in the caller's own `cf-aig-metadata`, else its user",
    blind_spots=(
        BlindSpot("direct_calls", "Calls to Workers AI that did not pass through the gateway have no span."),
        BlindSpot("no_status", "No HTTP status: a call without output tokens may have been answered or not."),
        BlindSpot("cache_hits", "An answer out of the gateway's cache looks like an ordinary call without tokens."),
        BlindSpot("collector", "Sampling and size limits of the collector drop spans, long prompts first.", hides_long=True),
    ),
    export=(
        "Dashboard: AI > AI Gateway > the gateway > Settings: see which OpenTelemetry endpoint it exports to.",
        "At that collector, write the traces of the service with the `file` exporter, or export them from its store.",
    ),
    links=("https://developers.cloudflare.com/ai-gateway/observability/otel-integration/",),
    accepts=(
        '{"traceId":"223d0b8fd0e4176a08fb18b8340144ef","spanId":"3ef5518636db1ab6","parentSpanId":"",'
        '"name":"ai_gateway_request","kind":3,"startTimeUnixNano":"1788338472907000000","attributes":['
        '{"key":"gen_ai.request.model","value":{"stringValue":"@cf/zai-org/glm-5.3"}},'
        '{"key":"gen_ai.model.provider","value":{"stringValue":"workers-ai"}},'
        '{"key":"gen_ai.usage.input_tokens","value":{"intValue":"702114"}},'
        '{"key":"team","value":{"stringValue":"team-a"}}],"status":{}}',
    ),
    refuses=(
        '{"traceId":"a1","spanId":"b2","name":"chat","startTimeUnixNano":1,"attributes":'
        '[{"key":"gen_ai.request.model","value":{"stringValue":"m"}}]}',
        '{"id":"01M1","created_at":"2026-09-02T08:41:12Z","provider":"workers-ai","model":"m","tokens_in":1}',
    ),
)  # fmt: skip
