"""Envoy, JSON access log: what does a line tell, with Envoy's documented or Istio's key names?

`start_time` is the start of the request, `bytes_received` the size of its body. A code of 0 with the flag `DC` means that
the client left before there was an answer.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="envoy-json",
    title="Envoy access log (JSON)",
    containers=("lines", "json"),
    signature=(
        ("start_time", "bytes_received", "response_code"), ("start_time", "response_code", "response_flags"),
        ("start_time", "response_code", "upstream_host"),
    ),
    fields={
        "record_id": ("x-request-id", "x_request_id", "request_id"),
        "start": ("start_time",),
        "duration": ("duration",),
        "model": ("x-envoy-origin-path", "x-envoy-original-path", "x_envoy_original_path", "path"),
        "host": (":authority", "authority", "requested_server_name"),
        "request_bytes": ("bytes_received",),
        "request_encoding": ("content-encoding", "content_encoding"),
        "http_status": ("response_code",),
        "state": ("response_flags",),
        "client_ip": ("x-forwarded-for", "x_forwarded_for", "downstream_remote_address"),
        "user_agent": ("user-agent", "user_agent"),
    },
    ids={"x_request_id": ("x-request-id", "x_request_id", "request_id"), "cf_ray": ("cf-ray", "cf_ray")},
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    aborted_states=("dc", "downstreamconnectiontermination", "dr", "downstreamremotereset"),
    tenant_says="nothing in this log names a tenant, unless the operator added a header (`--tenant-by FIELD`)",
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("filters", "Access log filters (status, duration, runtime share) leave requests out; lines do not say so."),
    ),
    export=("Copy the access log files, or the proxy container's output, with the `access_log` configuration.",),
    links=("https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage",),
    accepts=(
        '{"start_time":"2026-09-02T08:41:12.907Z","method":"POST","path":"/ai/run/@cf/zai-org/glm-5.3",'
        '"response_code":200,"response_flags":"-","bytes_received":2935567,"bytes_sent":7662,"duration":9120,'
        '"x-request-id":"247b1d36-d482-4c8a-a731-528a4d4d7d0d",":authority":"llm.example.com"}',
        '{"start_time":"2026-09-04T09:30:00.600Z","method":"POST","path":"/v1/chat/completions","response_code":0,'
        '"response_flags":"DC","authority":"api.z.ai","upstream_host":null}',
    ),
    refuses=(
        '{"start_time":"2026-09-02T08:41:12.907Z","status":200,"model":"m"}',
        '{"StartUTC":"2026-09-02T08:41:12.907Z","DownstreamStatus":200,"RequestPath":"/"}',
    ),
)  # fmt: skip
