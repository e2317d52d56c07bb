"""Traefik, JSON access log: what does a line tell?

`StartUTC` and `StartLocal` are the start of the request, `time` is when the line was written, `Duration` counts
nanoseconds. `RequestContentSize` is the size of the body.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="traefik-json",
    title="Traefik access log (JSON)",
    containers=("lines", "json"),
    signature=(
        ("DownstreamStatus", "RequestPath"), ("OriginStatus", "RequestPath"), ("RequestCount", "RequestPath"),
        ("StartUTC", "RequestPath"),
    ),
    fields={
        "start": ("StartUTC", "StartLocal"),
        "end": ("time",),
        "duration": ("Duration|ns",),
        "model": ("RequestPath",),
        "host": ("ServiceURL.Host", "ServiceURL", "RequestHost", "RequestAddr"),
        "request_bytes": ("RequestContentSize",),
        "request_encoding": ("request_Content-Encoding",),
        "http_status": ("DownstreamStatus", "OriginStatus"),
        "user": ("ClientUsername",),
        "client_ip": ("ClientHost", "ClientAddr"),
        "user_agent": ("request_User-Agent",),
    },
    ids={
        "x_request_id": ("request_X-Request-Id",), "cf_ray": ("downstream_Cf-Ray", "origin_Cf-Ray"),
        "cf_aig_log_id": ("downstream_Cf-Aig-Log-Id", "origin_Cf-Aig-Log-Id"), "trace_id": ("TraceId",),
        "span_id": ("SpanId",),
    },
    holds_prompts=False,
    framing=(("RequestMethod", "GET"), ("RequestMethod", "HEAD"), ("RequestMethod", "OPTIONS")),
    nothing=("-",),
    tenant_says="the user of basic authentication, where there is one",
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("filters", "Filters by status, retries or shortest duration leave requests out; lines do not say so."),
        BlindSpot("buffered", "Lines still in the buffer (`bufferingSize`) are lost when Traefik stops."),
    ),
    export=("Copy the file of `accessLog.filePath`, or the container's output, with the static configuration.",),
    links=("https://doc.traefik.io/traefik/observe/logs-and-access-logs/",),
    accepts=(
        '{"ClientHost":"192.0.2.17","ClientUsername":"-","DownstreamStatus":200,"Duration":9120000000,"OriginStatus":200,'
        '"RequestContentSize":2935567,"RequestHost":"llm.example.com","RequestMethod":"POST",'
        '"RequestPath":"/ai/run/@cf/zai-org/glm-5.3","StartUTC":"2026-09-02T08:41:12.907Z","level":"info","msg":"",'
        '"time":"2026-09-02T10:41:22+02:00"}',
    ),
    refuses=(
        '{"time":"2026-09-02T08:41:22Z","level":"info","msg":"Configuration loaded"}',
        '{"request":{"uri":"/"},"status":200,"duration":0.1}',
    ),
)  # fmt: skip
