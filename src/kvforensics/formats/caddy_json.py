"""Caddy, JSON access log: what does a `handled request` line tell?

`ts` is when the line was written, the end of the request; `duration` leads back to its start and counts seconds unless
the encoder was told otherwise. A status of 0 means that nobody was answered.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="caddy-json",
    title="Caddy access log (JSON)",
    containers=("lines", "json"),
    signature=(("request.uri", "request.method", "status", "!response"), ("request.uri", "bytes_read")),
    fields={
        "end": ("ts", "time", "timestamp"),
        "duration": ("duration|s",),
        "model": ("request.uri",),
        "host": ("request.host",),
        "request_bytes": ("bytes_read",),
        "request_encoding": ("request.headers.~content_encoding",),
        "http_status": ("status",),
        "user": ("user_id",),
        "client_ip": ("request.client_ip", "request.remote_ip", "request.remote_addr"),
        "user_agent": ("request.headers.~user_agent",),
    },
    ids={
        "x_request_id": ("request.headers.~x_request_id", "resp_headers.~x_request_id"),
        "cf_ray": ("resp_headers.~cf_ray",), "cf_aig_log_id": ("resp_headers.~cf_aig_log_id",),
        "cf_ai_req_id": ("resp_headers.~cf_ai_req_id",), "trace_id": ("traceID",),
    },
    holds_prompts=False,
    framing=(("request.method", "GET"), ("request.method", "HEAD"), ("request.method", "OPTIONS")),
    nothing=("-",),
    tenant_says="the authenticated user (`user_id`), where there is one",
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("encoder", "A `duration` without a unit is read as seconds; look for `duration_format` in the Caddyfile."),
        BlindSpot("skipped", "`log_skip` and log sampling leave requests out, and lines do not say so."),
    ),
    export=("Copy the access log files, rolled ones too, with the `log` blocks of the Caddyfile.",),
    links=("https://caddyserver.com/docs/caddyfile/directives/log", "https://caddyserver.com/docs/logging"),
    accepts=(
        '{"level":"info","ts":1788338482.027,"logger":"http.log.access.log0","msg":"handled request","request":{'
        '"remote_ip":"192.0.2.17","client_ip":"192.0.2.17","proto":"HTTP/2.0","method":"POST","host":"llm.example.com",'
        '"uri":"/ai/run/@cf/zai-org/glm-5.3","headers":{"User-Agent":["curl/8.10.1"]}},"bytes_read":2935567,'
        '"user_id":"","duration":9.12,"size":7662,"status":200,"resp_headers":{"Cf-Ray":["580acdae5437fa67-AMS"]}}',
    ),
    refuses=(
        '{"level":"info","ts":1788338482.027,"logger":"tls","msg":"cleaning storage unit"}',
        '{"url":"https://example.com/","request":{"uri":"/","method":"POST"},"status":200,"response":{}}',
    ),
)  # fmt: skip
