"""Which log formats are there, and in which order are they tried?"""

from __future__ import annotations

import difflib

from kvforensics.errors import UsageError
from kvforensics.formats import (
    alb,
    anthropic_batch,
    anthropic_messages,
    apache_combined,
    app_json,
    app_json_anthropic,
    app_json_uncertain,
    app_sums,
    azure_apim_llm,
    azure_openai,
    bedrock,
    caddy_json,
    cloudflare_aig_logpush,
    cloudflare_aig_otel,
    cloudflare_aig_rest,
    cloudflare_graphql,
    cloudflare_graphql_groups,
    cloudflare_workers_observability,
    cloudflare_workers_trace,
    cloudflare_wrangler_tail,
    ecs_http,
    envoy_json,
    envoy_text,
    haproxy,
    helicone,
    helicone_csv,
    http_dump,
    kong,
    langfuse_api,
    langfuse_blob,
    langfuse_traces,
    langfuse_ui,
    langsmith,
    litellm_console,
    litellm_daily,
    litellm_spendlogs,
    litellm_standard_payload,
    mlflow,
    nginx_combined,
    nginx_json,
    openai_batch,
    openai_chat,
    openai_responses,
    openrouter_activity,
    openrouter_daily,
    openrouter_generation,
    otlp_json,
    phoenix,
    portkey,
    sglang_gateway,
    sglang_log,
    sglang_request_metrics,
    sglang_requests,
    traefik_clf,
    traefik_json,
    uvicorn,
    vercel_ai_sdk,
    vercel_generation,
    vllm_log,
    weave,
)
from kvforensics.spec import Format

_RANKED = (
    cloudflare_aig_rest,
    cloudflare_aig_logpush,
    cloudflare_graphql,
    cloudflare_graphql_groups,
    cloudflare_aig_otel,
    vercel_ai_sdk,
    otlp_json,
    phoenix,
    langsmith,
    weave,
    mlflow,
    vercel_generation,
    cloudflare_workers_trace,
    cloudflare_wrangler_tail,
    cloudflare_workers_observability,
    litellm_spendlogs,
    litellm_standard_payload,
    litellm_console,
    litellm_daily,
    langfuse_blob,
    langfuse_api,
    langfuse_ui,
    langfuse_traces,
    helicone,
    helicone_csv,
    openrouter_activity,
    openrouter_generation,
    openrouter_daily,
    portkey,
    bedrock,
    azure_apim_llm,
    azure_openai,
    kong,
    sglang_requests,
    sglang_request_metrics,
    # Access logs: the servers that name their own fields before those whose operators do.
    traefik_json,
    caddy_json,
    envoy_json,
    nginx_json,
    ecs_http,
    # Text logs: strict layouts first; a layout that others share comes after theirs.
    alb,
    envoy_text,
    haproxy,
    traefik_clf,
    apache_combined,
    nginx_combined,
    sglang_gateway,
    sglang_log,
    vllm_log,
    uvicorn,
    # Shapes of a protocol come after every product's own format, home-made logs last of all.
    openai_batch,
    anthropic_batch,
    anthropic_messages,
    openai_responses,
    openai_chat,
    http_dump,
    app_sums,
    app_json_anthropic,
    app_json_uncertain,
    app_json,
)

_GROUPS = {
    "Cloudflare": (
        cloudflare_aig_rest, cloudflare_aig_logpush, cloudflare_aig_otel, cloudflare_graphql, cloudflare_graphql_groups,
        cloudflare_workers_trace, cloudflare_wrangler_tail, cloudflare_workers_observability,
    ),
    "Gateways and proxies": (
        litellm_spendlogs, litellm_standard_payload, litellm_console, litellm_daily, openrouter_activity,
        openrouter_generation, openrouter_daily, portkey, helicone, helicone_csv, vercel_generation, kong,
    ),
    "Tracing and observability": (
        otlp_json, vercel_ai_sdk, phoenix, langfuse_blob, langfuse_api, langfuse_ui, langfuse_traces, langsmith, weave, mlflow,
    ),
    "Other clouds": (bedrock, azure_apim_llm, azure_openai),
    "Engines that you run yourself": (
        sglang_requests, sglang_request_metrics, sglang_log, sglang_gateway, vllm_log, uvicorn,
    ),
    "Web servers and load balancers": (
        nginx_combined, nginx_json, apache_combined, envoy_text, envoy_json, traefik_clf, traefik_json, caddy_json, haproxy,
        alb, ecs_http,
    ),
    "Dumps of calls and home-made logs": (
        openai_chat, openai_responses, openai_batch, anthropic_messages, anthropic_batch, http_dump, app_json,
        app_json_anthropic, app_json_uncertain, app_sums,
    ),
}  # fmt: skip


def grouped() -> dict[str, tuple[Format, ...]]:
    """Every format by the kind of product that writes it, for people who look for theirs."""
    return {title: tuple(module.FORMAT for module in modules) for title, modules in _GROUPS.items()}


def all_formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are tried on a record."""
    return tuple(module.FORMAT for module in _RANKED)


def by_name(name: str) -> Format:
    """The format of that name; a `UsageError` that names the nearest ones where there is none."""
    known = {f.name: f for f in all_formats()}
    if name in known:
        return known[name]
    near = [n for n in known if n.startswith(f"{name}-")] or difflib.get_close_matches(name, known, n=3)
    advice = f"did you mean {' or '.join(near)}" if near else "`kvforensics formats` lists them"
    raise UsageError(f"there is no log format named {name!r}", advice=advice)
