"""Arize Phoenix: what do the spans of its data frames and exports tell of each model call?

One row a span, with dotted columns (CSV, Parquet, JSON lines of a data frame) or nested objects (client and REST API).
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="phoenix",
    title="Arize Phoenix spans (data frame, CSV, Parquet, API)",
    containers=("lines", "json", "csv", "parquet"),
    units=("data[]", "[]", ""),
    signature=(("context.span_id", "span_kind", "start_time"), ("context.span_id", "attributes.openinference.span.kind")),
    requests=(("span_kind=LLM",), ("attributes.openinference.span.kind=LLM",), ("span_kind=EMBEDDING",)),
    fields={
        "start": ("start_time",),
        "end": ("end_time",),
        "model": ("attributes.llm.model_name", "attributes.embedding.model_name",
                  "attributes.llm.invocation_parameters.model"),
        "provider": ("attributes.llm.provider", "attributes.llm.system"),
        "host": ("attributes.server.address", "attributes.url.full"),
        "prompt": ("attributes.llm.token_count.prompt",),
        "cache_read": ("attributes.llm.token_count.prompt_details.cache_read",),
        "cache_write": ("attributes.llm.token_count.prompt_details.cache_write",),
        "completion": ("attributes.llm.token_count.completion",),
        "total": ("attributes.llm.token_count.total",),
        "http_status": ("attributes.http.response.status_code",),
        "state": ("status_code",),
        "error": ("status_message", "attributes.error.type"),
        "output": ("attributes.output.value", "attributes.llm.output_messages"),
        "tenant": ("attributes.metadata.~tenant", "attributes.metadata.~tenant_id", "attributes.metadata.~org_id",
                   "attributes.metadata.~organization_id", "attributes.metadata.~team", "attributes.metadata.~project"),
        "user": ("attributes.user.id", "attributes.metadata.~user_id"),
        "tag": ("attributes.tag.tags",),
    },
    ids={"trace_id": ("context.trace_id",), "span_id": ("context.span_id",), "parent_span_id": ("parent_id",),
         "response_id": ("attributes.gen_ai.response.id",)},
    zone="UTC",
    cache_rule="inclusive",
    own_total=False,
    ok_states=(),
    unset_states=("unset", "ok"),
    failed_states=("error",),
    tenant_says="tenant, organisation, team or project in the span's metadata, else the user",
    blind_spots=(
        BlindSpot("sampling", "Sampling and retention remove spans, and the export does not tell.", hides_long=True),
        BlindSpot("limits", "`get_spans_dataframe` has a default limit of rows; ask for all.", hides_long=True),
        BlindSpot("uninstrumented", "Clients without instrumentation leave no span."),
    ),
    export=(
        "Python: phoenix.client.Client().spans.get_spans_dataframe(project_identifier=..., start_time=..., limit=10**9)",
        "Then df.to_parquet('spans.parquet'), for each project.",
    ),
    links=("https://arize.com/docs/phoenix", "https://github.com/Arize-ai/openinference"),
    accepts=(
        '{"name":"ChatCompletion","span_kind":"LLM","parent_id":null,"start_time":"2026-09-02T08:41:12.907000+00:00",'
        '"end_time":"2026-09-02T08:41:22+00:00","status_code":"OK","status_message":"","context.span_id":"7c83f4f877a031ac",'
        '"context.trace_id":"e03a14111b1675127c83f4f877a031ac","attributes.llm.model_name":"@cf/zai-org/glm-5.3",'
        '"attributes.llm.token_count.prompt":702114,"attributes.openinference.span.kind":"LLM"}',
        '{"name":"llm","context":{"trace_id":"e03a","span_id":"7c83"},"span_kind":"LLM","parent_id":null,'
        '"start_time":"2026-09-02T08:41:12Z","status_code":"UNSET","attributes":{"llm":{"model_name":"m",'
        '"token_count":{"prompt":5}}}}',
    ),
    refuses=(
        '{"traceId":"a1","spanId":"b2","name":"chat","startTimeUnixNano":1,"attributes":[]}',
        '{"id":"1","run_type":"llm","start_time":"2026-09-02T08:41:12","trace_id":"t"}',
    ),
)  # fmt: skip
