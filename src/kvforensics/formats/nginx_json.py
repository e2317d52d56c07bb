"""nginx, JSON access log: what does a `log_format ... escape=json` line tell?

Keys are the operator's choice; most keep nginx's own variable names. Every time variable is the time of logging, which
is the end of the request; `request_time` leads back to its start. `request_length` counts line, headers and body.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="nginx-json",
    title="nginx access log (JSON)",
    containers=("lines", "json"),
    signature=tuple(
        ("status", size, target, "!model", "!usage", "!prompt_tokens")
        for size in ("request_length", "request_time", "body_bytes_sent", "bytes_sent")
        for target in ("request", "request_uri", "uri", "path")
    ),
    fields={
        "record_id": ("request_id", "req_id"),
        "end": ("msec", "time_iso8601", "time_local", "@timestamp", "timestamp", "time", "ts"),
        "duration": ("request_time|s",),
        "model": ("request_uri", "request", "uri", "path"),
        "host": ("proxy_host", "http_host", "host", "server_name"),
        "request_bytes": ("request_length",),
        "request_encoding": ("http_content_encoding", "content_encoding"),
        "http_status": ("status",),
        "user": ("remote_user",),
        "client_ip": ("realip_remote_addr", "remote_addr"),
        "user_agent": ("http_user_agent", "user_agent"),
        "node": ("hostname",),
    },
    ids={
        "x_request_id": ("http_x_request_id", "request_id", "req_id"), "cf_ray": ("upstream_http_cf_ray", "http_cf_ray"),
        "cf_aig_log_id": ("upstream_http_cf_aig_log_id",), "cf_ai_req_id": ("upstream_http_cf_ai_req_id",),
    },
    holds_prompts=False,
    framing=(("request_method", "GET"), ("request_method", "HEAD"), ("request_method", "OPTIONS")),
    nothing=("-",),
    tenant_says="the user of basic authentication, where there is one",
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("streams", "The status of a stream is settled at its first byte; a broken stream is still 200."),
        BlindSpot("conditional", "`access_log ... if=` and `access_log off` leave requests out, and lines do not say so."),
    ),
    export=("Copy the files of `access_log` as they are, rotated ones too, with the `log_format` of the configuration.",),
    links=("https://nginx.org/en/docs/http/ngx_http_log_module.html",),
    accepts=(
        '{"time_iso8601":"2026-09-02T10:41:22+02:00","msec":"1788338482.027","remote_addr":"192.0.2.17","remote_user":"",'
        '"request":"POST /client/v4/accounts/a/ai/run/@cf/zai-org/glm-5.3 HTTP/2.0","status":"200",'
        '"body_bytes_sent":"7662","request_length":"2935567","request_time":"9.120","upstream_status":"502, 200"}',
        '{"@timestamp":"2026-09-02T08:41:22+00:00","request_method":"POST","request_uri":"/v1/chat/completions",'
        '"status":499,"bytes_sent":0,"request_time":12.001,"host":"llm.example.com"}',
    ),
    refuses=(
        '{"status":200,"request_time":0.5,"request":"POST / HTTP/1.1","model":"m","usage":{"prompt_tokens":1}}',
        '{"response_code":200,"bytes_received":1,"start_time":"2026-09-02T08:41:12.907Z","path":"/"}',
    ),
)  # fmt: skip
