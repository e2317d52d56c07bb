"""OpenTelemetry traces as OTLP JSON: what do the spans of model calls tell?

Old and new names of the GenAI conventions, OpenInference and Traceloop. Calls only: agents, chains, tools and HTTP spans
are framing. Gateway exports and the AI SDK have formats of their own.
"""

from __future__ import annotations

from kvforensics.span_units import UNITS
from kvforensics.spec import BlindSpot, Format

_NO_PARENT = (
    "!gen_ai.operation.name=invoke_*", "!gen_ai.operation.name=execute_*", "!gen_ai.operation.name=create_*",
    "!traceloop.span.kind", "!openinference.span.kind",
)  # fmt: skip
FORMAT = Format(
    name="otlp-json",
    title="OpenTelemetry traces (OTLP JSON, Jaeger, Zipkin): GenAI, OpenInference, Traceloop",
    containers=("lines", "json"),
    units=UNITS,
    view="otlp",
    signature=(("span.traceId", "span.spanId"), ("span.timeUnixNano",), ("span.observedTimeUnixNano",)),
    requests=(
        ("openinference.span.kind=llm",), ("openinference.span.kind=embedding",),
        *((key, *_NO_PARENT) for key in (
            "gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.request.model",
            "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "llm.usage.prompt_tokens",
        )),
    ),
    fields={
        "sample_interval": ("span.traceState|~adjusted_count",),
        "start": ("span.startTimeUnixNano",),
        "end": ("span.endTimeUnixNano",),
        "stamp": ("span.timeUnixNano", "span.observedTimeUnixNano"),
        "answer_model": ("gen_ai.response.model",),
        "model": ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.request.model"),
        "provider": ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "llm.vendor"),
        "host": ("server.address", "gen_ai.openai.api_base", "llm.openai.api_base", "url.full", "net.peer.name"),
        "prompt": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
                   "llm.usage.prompt_tokens"),
        "cache_read": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
                       "gen_ai.usage.input_tokens.cached", "llm.token_count.prompt_details.cache_read"),
        "cache_write": ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
                        "llm.token_count.prompt_details.cache_write"),
        "completion": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
                       "llm.usage.completion_tokens"),
        "total": ("llm.usage.total_tokens", "gen_ai.usage.total_tokens", "llm.token_count.total"),
        "http_status": ("http.response.status_code", "http.status_code"),
        "state": ("span.status.code",),
        "error": ("error.type", "span.status.message", "exception.message"),
        "output": ("gen_ai.output.messages", "gen_ai.completion.0.content", "gen_ai.completion.0.tool_calls.0.name",
                   "gen_ai.completion", "llm.output_messages.0.message.content", "output.value"),
        "tenant": ("metadata.~tenant", "metadata.~tenant_id", "metadata.~organization_id", "metadata.~org_id",
                   "metadata.~team", "metadata.~team_id", "metadata.~project", "metadata.~account_id", "tenant.id",
                   "organization.id", "team.id", "tenant", "tenant_id", "team", "resource.tenant.id", "resource.team"),
        "user": ("user.id", "enduser.id", "metadata.~user_id", "user_id", "gen_ai.user"),
        "user_agent": ("user_agent.original",),
        "client_ip": ("client.address",),
        "node": ("resource.host.name", "resource.service.instance.id"),
        "tag": ("tag.tags",),
    },
    ids={"response_id": ("gen_ai.response.id",), "trace_id": ("span.traceId",), "span_id": ("span.spanId",),
         "parent_span_id": ("span.parentSpanId",), "cf_aig_log_id": ("cf_aig_log_id", "cf-aig-log-id"),
         "cf_ray": ("cf_ray", "cf-ray", "http.response.header.cf-ray")},
    zone="UTC",
    cache_rule="inclusive",
    # Traceloop and older instrumentations hand on what the provider counts: with Anthropic, without the cache.
    cache_rules=(("gen_ai.system=*anthropic*", "unknown"), ("gen_ai.provider.name=*anthropic*", "unknown")),
    own_total=False,
    # A span that ended well is no proof of an answer: exporters leave the status unset, or say so whatever came.
    ok_states=(),
    unset_states=("unset", "ok", "0", "1", "status_code_unset", "status_code_ok"),
    failed_states=("error", "2", "status_code_error"),
    tenant_says="tenant, organisation, team, project or account among the attributes and their metadata, else the user",
    blind_spots=(
        BlindSpot("sampling", "Head or tail sampling removes spans; only `ot=th:` in a trace state tells.", hides_long=True),
        BlindSpot("limits", "Attribute, span and message size limits drop what is large, long prompts first.", hides_long=True),
        BlindSpot("uninstrumented", "Clients without instrumentation leave no span."),
    ),
    export=(
        "Collector: add the `file` exporter to the traces pipeline (`exporters: {file: {path: traces.jsonl}}`).",
        "From a store: Tempo `GET /api/v2/traces/{id}`, for every trace of the window; keep each answer as it comes.",
    ),
    links=("https://opentelemetry.io/docs/specs/otlp/", "https://github.com/open-telemetry/semantic-conventions-genai"),
    accepts=(
        '{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","parentSpanId":"","name":"chat m",'
        '"startTimeUnixNano":"1788338472907000000","endTimeUnixNano":1788338482907000000,"attributes":['
        '{"key":"gen_ai.request.model","value":{"stringValue":"@cf/zai-org/glm-5.3"}},'
        '{"key":"gen_ai.usage.input_tokens","value":{"intValue":"702114"}},'
        '{"key":"server.address","value":{"stringValue":"api.cloudflare.com"}}],"status":{}}',
        '{"traceId":"a1","spanId":"b2","name":"ChatOpenAI","startTimeUnixNano":1788338472907000000,"attributes":['
        '{"key":"openinference.span.kind","value":{"stringValue":"LLM"}},{"key":"llm.model_name","value":'
        '{"stringValue":"glm-5.3"}},{"key":"llm.token_count.prompt","value":{"intValue":700001}}],"status":{"code":1}}',
    ),
    refuses=(
        '{"name":"ChatCompletion","span_kind":"LLM","start_time":"2026-09-02T08:41:12Z","context.span_id":"7c83",'
        '"context.trace_id":"e03a","attributes.llm.model_name":"m"}',
        '{"trace_id":"t","model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
