"""Envoy, default text access log: what does a line tell, also as Istio extends it?

The time is the start. The numbers are the size of the body received, the bytes sent and the duration in milliseconds. A
code of 0 with the flag `DC` means that the client left before there was an answer.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

_START = r"(?P<start>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
# Where no field holds a quote or a space, each has one place only, and such an expression is read four times as fast.
_PLAIN = (
    rf"^\[{_START}\] "
    r'"(?P<method>[A-Z]+) (?P<path>[^\s"]*) (?P<protocol>[^\s"]+)" (?P<status>[0-9]{1,3}|-) (?P<flags>[^\s"]+)'
    r' (?P<request_bytes>[0-9]+|-) (?:[0-9]+|-) (?P<duration>[0-9]+|-) (?:[^\s"]+) '
    r'"(?P<client_ip>[^",]*)(?:,[^"]*)?" "(?P<user_agent>[^"]*)" "(?P<request_id>[^"]*)" "(?P<host>[^"]*)" '
    r'"(?P<upstream>[^"]*)"(?: .*)?$'
)

FORMAT = Format(
    name="envoy-text",
    title="Envoy access log (default text)",
    containers=("text",),
    pattern=(
        _PLAIN,
        rf"^\[{_START}\] "
        r'"(?P<method>\S+) (?P<path>.*?) (?P<protocol>\S+)" (?P<status>\d{1,3}|-) (?P<flags>\S+)'
        r'(?: \S+ \S+ (?:"[^"]*"|-))? (?P<request_bytes>\d+|-) (?:\d+|-) (?P<duration>\d+|-) (?:\S+) '
        r'"(?P<client_ip>[^",]*)[^"]*" "(?P<user_agent>.*?)" "(?P<request_id>[^"]*)" "(?P<host>[^"]*)" '
        r'"(?P<upstream>[^"]*)"(?: .*)?$',
    ),
    signature=(("start", "flags", "request_bytes", "upstream"),),
    fields={
        "record_id": ("request_id",),
        "start": ("start",),
        "duration": ("duration",),
        "model": ("path",),
        "host": ("host",),
        "request_bytes": ("request_bytes",),
        "http_status": ("status",),
        "state": ("flags",),
        "client_ip": ("client_ip",),
        "user_agent": ("user_agent",),
    },
    ids={"x_request_id": ("request_id",)},
    zone="UTC",
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    aborted_states=("dc", "downstreamconnectiontermination", "dr", "downstreamremotereset"),
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("filters", "Access log filters (status, duration, runtime share) leave requests out; lines do not say so."),
    ),
    export=("Copy the access log files, or the proxy container's output, with the `access_log` configuration.",),
    links=("https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage",),
    accepts=(
        '[2026-09-02T08:41:12.907Z] "POST /ai/run/@cf/zai-org/glm-5.3 HTTP/2" 200 - 2935567 7662 9120 9117 '
        '"192.0.2.17, 203.0.113.1" "curl/8.10.1" "247b1d36-d482-4c8a-a731-528a4d4d7d0d" "llm.example.com" "203.0.113.5:443"',
        '[2026-09-04T09:30:00.600Z] "POST /v1/chat/completions HTTP/1.1" 0 DC downstream_remote_disconnect - "-" 2980653 0 '
        '12000 - "192.0.2.17" "curl" "247b1d36" "api.z.ai" "203.0.113.5:443" outbound|443||api.z.ai - - - - default',
    ),
    refuses=(
        "[2026-09-02 08:41:12.907][1][info][main] [source/server/server.cc:990] starting main dispatch loop",
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 5 "-" "curl"',
    ),
)  # fmt: skip
