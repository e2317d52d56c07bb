"""Elastic Common Schema: what does the record of an HTTP request tell, whichever server wrote it?

Filebeat, Elastic Agent and loggers write access logs of nginx, Apache httpd, Traefik and others so. `@timestamp` is whatever
the source of the record meant by its time: for nginx and Apache httpd the end of the request, for others its start.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="ecs-http",
    title="Web access logs in the Elastic Common Schema (Filebeat, Elastic Agent)",
    containers=("lines", "json", "csv"),
    signature=tuple(
        (told, target, "!model", "!usage", "!gen_ai")
        for told in ("http.request.method", "http.response.status_code")
        for target in ("url.path", "url.original", "url.full")
    ),
    fields={
        "record_id": ("http.request.id",),
        "start": ("event.start",),
        "end": ("event.end",),
        "stamp": ("@timestamp",),
        "duration": ("event.duration|ns",),
        "model": ("url.path", "url.original", "url.full"),
        "host": ("url.domain", "url.full", "destination.domain", "server.domain"),
        "request_bytes": ("http.request.bytes", "http.request.body.bytes"),
        "request_encoding": ("http.request.headers.~content_encoding",),
        "http_status": ("http.response.status_code",),
        "user": ("user.name",),
        "client_ip": ("client.ip", "source.ip", "source.address"),
        "user_agent": ("user_agent.original",),
        "node": ("host.name", "observer.name"),
    },
    ids={"x_request_id": ("http.request.id",), "trace_id": ("trace.id",)},
    holds_prompts=False,
    framing=tuple(("http.request.method", m) for name in ("GET", "HEAD", "OPTIONS") for m in (name, name.lower())),
    nothing=("-",),
    tenant_says="the user of basic authentication, where there is one",
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("no_sizes", "nginx and Apache httpd do not log the size of requests unless they are told to."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("streams", "The status of a stream is settled at its first byte; a broken stream is still 200."),
    ),
    export=(
        "Page through the index with `search_after` or a scroll and write one hit a line, with all fields.",
        "Better still, copy the access log files that the agent read.",
    ),
    links=(
        "https://www.elastic.co/docs/reference/ecs/ecs-http", "https://www.elastic.co/docs/reference/ecs/ecs-event",
        "https://www.elastic.co/docs/reference/ecs/ecs-url",
    ),
    accepts=(
        '{"@timestamp":"2026-09-02T08:41:22.000Z","event":{"dataset":"nginx.access","outcome":"success"},"http":{"request":{'
        '"method":"POST","bytes":2935567},"response":{"status_code":200,"body":{"bytes":7662}},"version":"2.0"},"url":{'
        '"path":"/client/v4/accounts/a/ai/run/@cf/zai-org/glm-5.3"},"source":{"ip":"192.0.2.17"}}',
        '{"@timestamp":"2026-09-02T08:41:22.027Z","http.request.method":"POST","http.response.status_code":499,'
        '"url.original":"/v1/chat/completions","event.duration":12001000000,"client.ip":"192.0.2.17"}',
    ),
    refuses=(
        '{"@timestamp":"2026-09-02T08:41:22Z","log.level":"info","message":"started","service.name":"web"}',
        '{"http":{"request":{"method":"POST"}},"url":{"path":"/v1/chat/completions"},"model":"m","usage":{"prompt_tokens":1}}',
    ),
)  # fmt: skip
