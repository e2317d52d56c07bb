"""MLflow traces: what do the spans of their model calls tell?

A trace adds up its spans, so the spans are the records; a trace without its spans only bounds them. Attributes are JSON
kept as text (a model name arrives with its own quotes), ids may be in base64.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

_USAGE = "attributes.mlflow.spanOutputs.usage"

FORMAT = Format(
    name="mlflow",
    title="MLflow traces",
    containers=("json", "lines"),
    units=("traces[].data.spans[]", "traces[]", "trace.data.spans[]", "data.spans[]", "[].data.spans[]", "[]", ""),
    view="mlflow",
    signature=(("span_id", "attributes.mlflow.spanType"), ("span_id", "attributes.mlflow.traceRequestId"),
               ("trace_metadata", "trace_location"), ("info.trace_metadata", "!data.spans[0]"),
               ("info.request_metadata", "!data.spans[0]")),
    requests=(("attributes.mlflow.spanType=chat_model",), ("attributes.mlflow.spanType=llm",),
              ("attributes.mlflow.spanType=embedding",), ("info.trace_metadata.mlflow.trace.tokenUsage", "!span_id")),
    sums=(("info.trace_metadata", "!span_id"),),
    fields={
        "start": ("start_time_unix_nano", "start_time", "info.request_time"),
        "end": ("end_time_unix_nano", "end_time"),
        "model": ("attributes.mlflow.llm.model", "attributes.gen_ai.request.model",
                  "attributes.mlflow.spanInputs.model", "attributes.model", "attributes.model_name",
                  "attributes.mlflow.spanOutputs.model"),
        "answer_model": ("attributes.mlflow.spanOutputs.model",),
        "provider": ("attributes.mlflow.llm.provider", "attributes.gen_ai.provider.name"),
        "host": ("attributes.base_url", "attributes.server.address"),
        "prompt": ("attributes.mlflow.chat.tokenUsage.input_tokens", "attributes.gen_ai.usage.input_tokens",
                   # Before spans had counts of their own, and where an answer is kept whole, it has the provider's.
                   *(f"{_USAGE}.{name}" for name in ("prompt_tokens", "input_tokens")),
                   "info.trace_metadata.mlflow.trace.tokenUsage.input_tokens"),
        "cache_read": ("attributes.mlflow.chat.tokenUsage.cache_read_input_tokens",
                       f"{_USAGE}.prompt_tokens_details.cached_tokens", f"{_USAGE}.input_tokens_details.cached_tokens",
                       f"{_USAGE}.cache_read_input_tokens"),
        "cache_write": ("attributes.mlflow.chat.tokenUsage.cache_creation_input_tokens",
                        f"{_USAGE}.cache_creation_input_tokens"),
        "completion": ("attributes.mlflow.chat.tokenUsage.output_tokens", "attributes.gen_ai.usage.output_tokens",
                       f"{_USAGE}.completion_tokens", f"{_USAGE}.output_tokens"),
        "total": ("attributes.mlflow.chat.tokenUsage.total_tokens",),
        "state": ("status.code", "status_code", "info.state", "info.status"),
        "error": ("status.message",),
        "output": ("attributes.mlflow.spanOutputs",),
        "tenant": ("info.tags.~tenant", "info.tags.~tenant_id", "info.tags.~team", "info.tags.~org_id",
                   "info.trace_metadata.~tenant", "info.trace_metadata.~team",
                   "info.trace_location.mlflow_experiment.experiment_id", "info.experiment_id"),
        "user": ("info.trace_metadata.mlflow.trace.user", "info.request_metadata.mlflow.trace.user"),
    },
    ids={"trace_id": ("trace_id",), "span_id": ("span_id",), "parent_span_id": ("parent_span_id",),
         # MLflow's name of the whole trace: like this kind, it ties across sources only.
         "x_request_id": ("info.trace_id", "info.request_id")},
    zone="UTC",
    stand_ins=("info.trace_metadata.mlflow.trace.tokenUsage.input_tokens",),
    cache_rules=((f"{_USAGE}.prompt_tokens", "inclusive"), (f"{_USAGE}.input_tokens_details", "inclusive")),
    own_total=False,
    ok_states=("ok", "status_code_ok", "1"),
    unset_states=("unset", "status_code_unset", "0", "in_progress", "state_unspecified"),
    failed_states=("error", "status_code_error", "2"),
    tenant_says="tenant, team or organisation among the trace's tags, else the experiment",
    blind_spots=(
        BlindSpot("sampling", "`MLFLOW_TRACE_SAMPLING_RATIO` drops traces, and the export does not tell.", hides_long=True),
        BlindSpot("no_host", "Autologging does not say at which host the model was called."),
    ),
    export=(
        "Python: mlflow.search_traces(locations=[experiment_id], return_type='list', max_results=...), page by page.",
        "Write {'traces': [t.to_dict() for t in traces]} as JSON, spans included.",
    ),
    links=("https://mlflow.org/docs/latest/genai/tracing/",),
    accepts=(
        '{"trace_id":"k8tD1cRXhQFvQZOwrrqXhg==","span_id":"eg4svb2yTnc=","name":"Completions","parent_span_id":null,'
        '"start_time_unix_nano":1788338472907000000,"status":{"code":"STATUS_CODE_OK","message":""},"attributes":{'
        '"mlflow.spanType":"\\"CHAT_MODEL\\"","mlflow.llm.model":"\\"@cf/zai-org/glm-5.3\\"",'
        '"mlflow.chat.tokenUsage":"{\\"input_tokens\\": 702114, \\"output_tokens\\": 801}"}}',
    ),
    refuses=(
        '{"traceId":"a1","spanId":"b2","name":"chat","startTimeUnixNano":1,"attributes":[]}',
        '{"id":"1","run_type":"llm","start_time":"2026-09-02T08:41:12","trace_id":"t"}',
    ),
)  # fmt: skip
