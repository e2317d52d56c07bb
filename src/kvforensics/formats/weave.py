"""W&B Weave: what do its calls tell of each model call?

Calls of the API, the client or a data frame. Parents add up the usage of their children: a call is a record only if it
says that it was one request, or names a model and counts nothing.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="weave",
    title="W&B Weave calls (JSON lines, CSV, data frame)",
    containers=("lines", "json", "csv", "parquet"),
    units=("calls[]", "[]", ""),
    view="weave",
    signature=(("op_name", "started_at", "trace_id"), ("op_name", "started_at", "project_id")),
    requests=(("usage.requests=1",), ("usage.model", "!usage.requests"), ("inputs.model", "!usage")),
    fields={
        "record_id": ("id",),
        "start": ("started_at",),
        "end": ("ended_at",),
        "model": ("inputs.model", "usage.model", "output.model"),
        "answer_model": ("usage.model", "output.model"),
        "provider": ("attributes.provider",),
        "host": ("inputs.self.client.base_url", "inputs.self.base_url", "inputs.base_url", "inputs.api_base"),
        "prompt": ("usage.prompt_tokens", "usage.input_tokens", "output.usage.prompt_tokens",
                   "output.usage.input_tokens"),
        "cache_read": ("usage.prompt_tokens_details.cached_tokens", "usage.cache_read_input_tokens",
                       "output.usage.prompt_tokens_details.cached_tokens", "output.usage.cache_read_input_tokens"),
        "cache_write": ("usage.cache_creation_input_tokens", "output.usage.cache_creation_input_tokens"),
        "completion": ("usage.completion_tokens", "usage.output_tokens", "output.usage.completion_tokens"),
        "total": ("usage.total_tokens", "output.usage.total_tokens"),
        "state": ("summary.weave.status",),
        "error": ("exception",),
        "output": ("output.choices", "output.content", "output.output"),
        "tenant": ("attributes.~tenant", "attributes.~tenant_id", "attributes.~organization_id", "attributes.~org_id",
                   "attributes.~team", "attributes.~team_id", "attributes.~project", "project_id"),
        "user": ("attributes.~user_id", "wb_user_id"),
    },
    # A call is its own span.
    ids={"trace_id": ("trace_id",), "span_id": ("id",), "parent_span_id": ("parent_id",), "response_id": ("output.id",)},
    zone="UTC",
    failed_states=("error", "descendant_error", "failed"),
    unset_states=("running", "unset"),
    tenant_says="tenant, organisation, team or project in the call's attributes, else the Weave project",
    blind_spots=(
        BlindSpot("sampling", "Ops with a `tracing_sample_rate` below 1 leave out calls, and the export does not tell.",
                  hides_long=True),
        BlindSpot("size_limit", "Inputs and outputs over the size limit of a call are cut or dropped.", hides_long=True),
        BlindSpot("untraced", "Clients that are not patched by `weave.init` leave no call."),
    ),
    export=(
        "POST https://trace.wandb.ai/calls/stream_query with the project_id: one JSON object a line; keep it as it comes.",
        "Or in the project: Traces > Export > JSONL, all columns.",
    ),
    links=("https://docs.wandb.ai/weave/guides/tracking/tracing",),
    accepts=(
        '{"id":"417bd701-fca8-4356-ac1f-81c7b87d4a6c","project_id":"example/agents","op_name":"weave:///example/agents/op/'
        'openai.chat.completions.create:ffd8","trace_id":"1d7cf475","parent_id":null,'
        '"started_at":"2026-09-02T08:41:12.907000Z","inputs":{"model":"@cf/zai-org/glm-5.3"},"output":null,"exception":null,'
        '"summary":{"usage":{"@cf/zai-org/glm-5.3":{"prompt_tokens":702114,"completion_tokens":7,"requests":1}},'
        '"weave":{"status":"success"}}}',
    ),
    refuses=(
        '{"id":"1","run_type":"llm","start_time":"2026-09-02T08:41:12","trace_id":"t"}',
        '{"model":"m","started_at":"2026-09-02T08:41:12Z","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
