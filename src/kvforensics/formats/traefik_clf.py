"""Traefik, access log in the common log format: what does a text line tell?

The time is the start, the last field the duration in milliseconds. The status is the service's, and neither the size of a
request nor its host is logged.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="traefik-clf",
    title="Traefik access log (common log format)",
    containers=("text",),
    pattern=(
        r"^(?P<client_ip>\S+) - (?P<user>.*?) \[(?P<start>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
        r'"(?P<method>\S+) (?P<path>.*?) (?P<protocol>\S+)" (?P<status>\d{1,3}|-) (?P<sent>\d+|-) (?:".*?"|-) '
        r'(?:"(?P<user_agent>.*?)"|-) (?P<count>\d+|-) (?P<router>"[^"]*"|-) (?:"(?P<service>[^"]*)"|-) (?P<duration>\d+)ms$',
    ),
    signature=(("start", "router", "duration"),),
    fields={
        "start": ("start",),
        "duration": ("duration",),
        "model": ("path",),
        "host": ("service",),
        "http_status": ("status",),
        "user": ("user",),
        "client_ip": ("client_ip",),
        "user_agent": ("user_agent",),
    },
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    tenant_says="the user of basic authentication, where there is one",
    blind_spots=(
        BlindSpot(
            "no_size", "Neither tokens nor the size of a request are logged, so nothing can rule a long one out.",
            hides_long=True,
        ),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("filters", "Filters by status, retries or shortest duration leave requests out; lines do not say so."),
    ),
    export=("Copy the file of `accessLog.filePath`, or the container's output; JSON tells more from now on.",),
    links=("https://doc.traefik.io/traefik/observe/logs-and-access-logs/",),
    accepts=(
        '192.0.2.17 - - [02/Sep/2026:08:41:12 +0000] "POST /ai/run/@cf/zai-org/glm-5.3 HTTP/2.0" 200 7662 "-" "curl" 500 '
        '"ai@file" "https://203.0.113.5:443" 9120ms',
        '192.0.2.17 - - [02/Sep/2026:08:41:12 +0000] "POST /v1/chat/completions HTTP/1.1" - - "-" "curl" 45 "-" "-" 0ms',
    ),
    refuses=(
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 5 "-" "curl"',
        'time="2026-09-02T08:41:12Z" level=info msg="Configuration loaded"',
    ),
)  # fmt: skip
