"""Langfuse: what does an observation of its public API or of a trace download tell?

Pages of `/api/public/v2/observations` (and of the API before it), traces with their observations, and the download of
one trace. Buckets as in the blob export; fields that were not asked for are simply absent.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="langfuse-api",
    title="Langfuse, observations of the public API and trace downloads",
    containers=("json", "lines"),
    units=("data[]", "observations[]", "[]", ""),
    signature=(
        ("id", "traceId", "type", "startTime", "parentObservationId"),
        ("id", "traceId", "type", "startTime", "usageDetails", "level"),
        ("id", "traceId", "type", "startTime", "projectId"),
    ),
    fields={
        "record_id": ("id",),
        "start": ("startTime",),
        "end": ("endTime",),
        "first_token_at": ("completionStartTime",),
        "model": (
            "providedModelName", "model", "metadata.attributes.gen_ai.response.model",
            "metadata.attributes.gen_ai.request.model",
        ),
        "provider": ("metadata.attributes.gen_ai.provider.name", "metadata.ls_provider"),
        "host": (
            "metadata.api_base", "metadata.hidden_params.api_base", "metadata.base_url",
            "metadata.attributes.server.address",
        ),
        "prompt": (
            "output.usage.prompt_tokens", "usageDetails.input", "usageDetails.prompt_tokens",
            "usageDetails.input_tokens", "usage.input", "usage.promptTokens", "inputUsage", "promptTokens",
            "inputTokens",
        ),
        "cache_read": (
            "output.usage.prompt_tokens_details.cached_tokens",
            "usageDetails|+input_* cache_* prompt_details.cache* !input_tokens !input_tokens_details*",
            "usage|+input_* cache_* !input_tokens",
        ),
        "completion": (
            "output.usage.completion_tokens", "usageDetails|+output output_*", "usageDetails.completion_tokens",
            "usage.output", "usage.completionTokens", "outputUsage", "completionTokens", "outputTokens",
        ),
        "total": (
            "output.usage.total_tokens", "usageDetails.total", "usageDetails.total_tokens", "usage.total",
            "usage.totalTokens", "totalUsage", "totalTokens",
        ),
        "state": ("level",),
        "error": ("statusMessage",),
        "output": ("output",),
        "tenant": (
            "metadata.~organisation", "metadata.~organization", "metadata.~org", "metadata.~team", "metadata.~team_id",
            "metadata.~tenant", "metadata.~tenant_id", "metadata.~account", "projectId",
        ),
        "user": ("userId",),
        "user_agent": ("metadata.~user_agent",),
        "tag": ("tags",),
    },
    ids={
        "span_id": ("id",), "trace_id": ("traceId",), "parent_span_id": ("parentObservationId",),
        "response_id": (
            "id|/^time-[0-9-]+_(.+)$/", "output.id|/^((?:chatcmpl|cmpl|id|msg|resp|gen)[-_].+)$/",
            "metadata.attributes.gen_ai.response.id", "metadata.~response_id",
        ),
        "litellm_call_id": ("metadata.~litellm_call_id",),
        "cf_aig_log_id": (
            "metadata.~cf_aig_log_id", "metadata.hidden_params.additional_headers.llm_provider-cf-aig-log-id",
        ),
        "cf_ray": ("metadata.~cf_ray", "metadata.hidden_params.additional_headers.llm_provider-cf-ray"),
        "x_request_id": ("metadata.~x_request_id", "metadata.~request_id"),
    },
    cache_rule="unknown",
    total_is_sum=True,
    failed_states=("error",),
    unset_states=("default", "debug", "warning"),
    framing=tuple(
        ("type", kind) for kind in ("SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL")
    ),
    tenant_says="organisation, team, tenant or account in the caller's metadata, else the Langfuse project, else the user",
    blind_spots=(
        BlindSpot("client_sampling", "The SDK may send a sample of the traces only; the answers do not tell."),
        BlindSpot("fields_not_asked", "API v2 gives usage and model only where the field groups were asked for."),
        BlindSpot("inferred_usage", "Where the SDK sent no usage, another model's tokenizer may have estimated it."),
        BlindSpot("no_host", "Often nothing tells the provider: a bare model name is then undecided."),
    ),
    export=(
        "GET /api/public/v2/observations?type=GENERATION&fromStartTime=...&toStartTime=...&fields=core,basic,time,io,"
        "metadata,model,usage and follow `meta.cursor`; keep each answer as it comes.",
        "One trace: open it and choose Download.",
    ),
    links=("https://langfuse.com/docs/api-and-data-platform/features/observations-api",),
    accepts=(
        '{"id":"e899","traceId":"161e","type":"GENERATION","startTime":"2026-09-02T08:41:12.907Z","level":"DEFAULT",'
        '"parentObservationId":null,"projectId":"p","providedModelName":"@cf/zai-org/glm-5.3",'
        '"usageDetails":{"input":702114,"output":1207,"total":703321}}',
    ),
    refuses=(
        '{"id":"t-1","timestamp":"2026-09-02T08:41:12.907Z","name":"agent-turn","observations":["e899"]}',
        '{"id":"a","traceId":"b","kind":"CLIENT","timestamp":1788338472907000,"duration":9}',
    ),
)  # fmt: skip
