"""LangSmith: what do its runs tell of each model call?

Bulk export (Parquet), runs of the API and of the client (JSON lines). Chains repeat the tokens of the calls inside them,
so only runs of the type `llm` are records.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="langsmith",
    title="LangSmith runs (bulk export, API)",
    containers=("parquet", "lines", "json", "csv"),
    units=("runs[]", "[]", ""),
    signature=(("run_type", "trace_id", "start_time"), ("run_type", "dotted_order")),
    requests=(("run_type=llm",), ("run_type=embedding",)),
    fields={
        "record_id": ("id",),
        "start": ("start_time",),
        "end": ("end_time",),
        "model": ("extra.metadata.ls_model_name", "extra.invocation_params.model", "extra.invocation_params.model_name",
                  "metadata.ls_model_name", "outputs.llm_output.model_name", "outputs.model"),
        "provider": ("extra.metadata.ls_provider", "metadata.ls_provider"),
        "host": ("extra.invocation_params.base_url", "extra.invocation_params.openai_api_base",
                 "extra.metadata.ls_base_url"),
        "prompt": ("prompt_tokens", "outputs.usage_metadata.input_tokens", "extra.metadata.usage_metadata.input_tokens",
                   "outputs.llm_output.token_usage.prompt_tokens", "outputs.usage.prompt_tokens"),
        "cache_read": ("outputs.usage_metadata.input_token_details.cache_read",
                       "extra.metadata.usage_metadata.input_token_details.cache_read", "prompt_token_details.cache_read"),
        "completion": ("completion_tokens", "outputs.usage_metadata.output_tokens",
                       "extra.metadata.usage_metadata.output_tokens",
                       "outputs.llm_output.token_usage.completion_tokens", "outputs.usage.completion_tokens"),
        "total": ("total_tokens", "outputs.usage_metadata.total_tokens"),
        "state": ("status",),
        "error": ("error",),
        "output": ("outputs.generations", "outputs.choices", "outputs.messages", "outputs.output", "outputs.content"),
        "tenant": ("extra.metadata.~tenant", "extra.metadata.~tenant_id", "extra.metadata.~organization_id",
                   "extra.metadata.~org_id", "extra.metadata.~team", "extra.metadata.~team_id",
                   "extra.metadata.~project", "session_name", "session_id", "tenant_id"),
        "user": ("extra.metadata.~user_id", "metadata.~user_id"),
        "tag": ("tags",),
    },
    # A run is its own span; `trace_id` is the id of the root run.
    ids={"trace_id": ("trace_id",), "span_id": ("id",), "parent_span_id": ("parent_run_id",),
         "response_id": ("outputs.id", "outputs.llm_output.id")},
    zone="UTC",
    cache_rule="inclusive",
    own_total=False,
    unset_states=("pending", "unset"),
    tenant_says="tenant, organisation, team or project in the run's metadata, else the project (session), else the workspace",
    blind_spots=(
        BlindSpot("sampling", "`LANGSMITH_TRACING_SAMPLING_RATE` drops traces, and the export does not tell.", hides_long=True),
        BlindSpot("size_limit", "Runs whose inputs are over the size limit are rejected or cut at ingestion.", hides_long=True),
        BlindSpot("retention", "Base traces are deleted after 14 days."),
    ),
    export=(
        "POST /api/v1/bulk-exports with the project's session_id, start_time and end_time: Parquet in your own bucket.",
        "Or Python: Client().list_runs(project_name=..., start_time=..., run_type='llm'), one JSON object a line.",
    ),
    links=("https://docs.langchain.com/langsmith/data-export",),
    accepts=(
        '{"id":"e6f09d0c-11bd-4a1f-a095-b594e53b39b6","session_id":"950f8c94-74fc-45da-ab5b-37bf61da674d",'
        '"trace_id":"3e66931e-998c-4a7c-ab2d-45d4f09261ec","name":"ChatOpenAI","run_type":"llm",'
        '"start_time":"2026-09-02T08:41:12.907000","status":"success","error":null,"prompt_tokens":702114,'
        '"extra":"{\\"metadata\\": {\\"ls_model_name\\": \\"@cf/zai-org/glm-5.3\\"}}"}',
    ),
    refuses=(
        '{"id":"4177","op_name":"weave:///a/op/x","trace_id":"1d7c","started_at":"2026-09-02T08:41:12Z"}',
        '{"id":"1","trace_id":"t","start_time":"2026-09-02T08:41:12","model":"m"}',
    ),
)  # fmt: skip
