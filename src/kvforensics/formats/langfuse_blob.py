"""Langfuse: what does an observation of its export to blob storage tell?

`usage_details` holds buckets that exclude each other; some integrations send a prompt count that includes its cached
part, and where no total was sent Langfuse adds up the buckets. Times are UTC. Traces and scores are other files.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="langfuse-blob",
    title="Langfuse, observations of the blob storage export",
    containers=("lines", "csv", "json", "parquet"),
    units=("[]", ""),
    signature=(
        ("id", "trace_id", "type", "start_time", "provided_model_name"),
        ("id", "trace_id", "type", "start_time", "usage_details"),
        ("id", "trace_id", "type", "start_time", "parent_observation_id", "level"),
    ),
    fields={
        "record_id": ("id",),
        "start": ("start_time",),
        "end": ("end_time",),
        "first_token_at": ("completion_start_time",),
        "model": (
            "provided_model_name", "model", "metadata.attributes.gen_ai.response.model",
            "metadata.attributes.gen_ai.request.model",
        ),
        "provider": ("metadata.attributes.gen_ai.provider.name", "metadata.ls_provider"),
        "host": (
            "metadata.api_base", "metadata.hidden_params.api_base", "metadata.base_url",
            "metadata.attributes.server.address",
        ),
        "prompt": (
            "output.usage.prompt_tokens", "usage_details.input", "usage_details.prompt_tokens",
            "usage_details.input_tokens", "prompt_tokens",
        ),
        "cache_read": (
            "output.usage.prompt_tokens_details.cached_tokens",
            "usage_details|+input_* cache_* prompt_details.cache* !input_tokens !input_tokens_details*",
        ),
        "completion": (
            "output.usage.completion_tokens", "usage_details|+output output_*", "usage_details.completion_tokens",
            "completion_tokens",
        ),
        "total": (
            "output.usage.total_tokens", "usage_details.total", "usage_details.total_tokens", "total_tokens",
        ),
        "state": ("level",),
        "error": ("status_message",),
        "output": ("output",),
        "tenant": (
            "metadata.~organisation", "metadata.~organization", "metadata.~org", "metadata.~team", "metadata.~team_id",
            "metadata.~tenant", "metadata.~tenant_id", "metadata.~account", "project_id",
        ),
        "user": ("user_id",),
        "user_agent": ("metadata.~user_agent",),
        "tag": ("tags",),
    },
    ids={
        "span_id": ("id",), "trace_id": ("trace_id",), "parent_span_id": ("parent_observation_id",),
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
    zone="UTC",
    cache_rule="unknown",
    total_is_sum=True,
    failed_states=("error",),
    unset_states=("default", "debug", "warning"),
    framing=tuple(
        ("type", kind) for kind in ("SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL")
    ),
    tenant_says="organisation, team, tenant or account in the caller's metadata, else the Langfuse project, else the user",
    blind_spots=(
        BlindSpot("client_sampling", "The SDK may send a sample of the traces only; the export does not tell."),
        BlindSpot("inferred_usage", "Where the SDK sent no usage, another model's tokenizer may have estimated it."),
        BlindSpot("no_host", "Often nothing tells the provider: a bare model name is then undecided."),
        BlindSpot("no_replay_flag", "An answer from a response cache looks like a call."),
    ),
    export=(
        "Project settings > Integrations > Blob storage: export observations (v2) for the window, all field groups.",
        "Copy the folder `observations_v2` as it is; windows that overlap are no problem.",
    ),
    links=(
        "https://langfuse.com/docs/api-and-data-platform/features/export-to-blob-storage",
        "https://langfuse.com/docs/observability/features/token-and-cost-tracking",
    ),
    accepts=(
        '{"id":"5d05","trace_id":"dad8","type":"GENERATION","parent_observation_id":"","level":"DEFAULT",'
        '"start_time":"2026-09-02 08:41:12.907000","provided_model_name":"workers-ai/@cf/zai-org/glm-5.3",'
        '"usage_details":{"input":46754,"input_cached_tokens":655360,"output":1207,"total":703321},"output":"x"}',
    ),
    refuses=(
        '{"id":"t-1","timestamp":"2026-09-02 08:41:12.907000","name":"agent-turn","user_id":"u","input":"x"}',
        '{"id":"s-1","trace_id":"t-1","start_time":"2026-09-02T08:41:12Z","name":"chat","attributes":{}}',
    ),
)  # fmt: skip
