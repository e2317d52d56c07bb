"""Helicone: what does its older CSV export tell?

`prompt_tokens` leaves out cached tokens and there is no column for them, so the count is a lower bound. Times are UTC.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="helicone-csv",
    title="Helicone, older CSV export",
    containers=("csv", "lines", "json"),
    units=("data[]", "[]", ""),
    signature=(("response_id", "response_status", "request_created_at", "prompt_tokens", "!request_id"),),
    fields={
        "record_id": ("response_id",),
        "start": ("request_created_at",),
        "end": ("response_created_at",),
        "model": (
            "model", "request_body.model",
            # The export doubles the quotes of bodies.
            r"request_body|/^\s*\{\s*[\\\"]{2,}model[\\\"]{2,}\s*:\s*[\\\"]{2,}([^\\\"]+)/",
        ),
        "prompt": ("prompt_tokens",),
        "completion": ("completion_tokens",),
        "http_status": ("response_status",),
        "state": ("response_status",),
        "tenant": tuple(
            f"request_properties.~{name}"
            for name in ("organisation", "organization", "org", "team", "team_id", "tenant", "tenant_id", "project")
        ),
        "user": ("request_user_id",),
        "user_agent": ("request_properties.~user_agent",),
    },
    ids={
        "response_id": ("response_id",),
        "cf_aig_log_id": ("request_properties.~cf_aig_log_id",), "cf_ray": ("request_properties.~cf_ray",),
        "x_request_id": ("request_properties.~x_request_id", "request_properties.~request_id"),
        "litellm_call_id": ("request_properties.~litellm_call_id",),
        "trace_id": ("request_properties.~trace_id",),
    },
    zone="UTC",
    cache_rule="exclusive",
    cache_visible=False,
    ok_states=("200", "201"),
    aborted_states=("-3", "499"),
    failed_states=("failure", "error", "failed", "-1", "-4"),
    unset_states=("-2",),
    tenant_says="organisation, team, tenant or project in the caller's properties, else the user",
    blind_spots=(
        BlindSpot("no_cached_tokens", "Cached tokens are missing: a small count may be a long prompt."),
        BlindSpot("no_host", "Nothing tells the provider: a bare model name is undecided."),
        BlindSpot("no_replay_flag", "An answer from Helicone's cache looks like a call."),
    ),
    export=(
        "Requests page: choose the window, Export as CSV.",
        "Prefer `npx @helicone/export --format jsonl`: it has the cached tokens and the host.",
    ),
    links=("https://docs.helicone.ai/tools/export",),
    accepts=(
        '{"response_id":"fd5b","response_created_at":"2026-09-02 08:41:22.027","response_status":"200",'
        '"request_created_at":"2026-09-02 08:41:12.907","request_body":"{\\"model\\": \\"@cf/zai-org/glm-5.3\\"}",'
        '"request_properties":"{\\"team\\": \\"team-a\\"}","request_user_id":"u-1","model":"","prompt_tokens":"46754",'
        '"completion_tokens":"1207","latency":"","cost":""}',
    ),
    refuses=(
        '{"request_id":"4a68","response_id":"fd5b","request_created_at":"2026-09-02","response_status":200,'
        '"prompt_tokens":1}',
        '{"response_id":"fd5b","status":200,"created_at":"2026-09-02T08:41:12Z","prompt_tokens":1}',
    ),
)  # fmt: skip
