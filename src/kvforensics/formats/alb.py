"""AWS Application Load Balancer: what does an access log entry tell?

Its first time is the end of the answer, `request_creation_time` the start, both UTC. `received_bytes` counts the whole
request with its headers. A status of 460 means that the client left first.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="alb",
    title="AWS Application Load Balancer access log",
    containers=("text",),
    pattern=(
        r"^(?P<type>https?|h2|grpcs|wss?) (?P<end>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (?P<elb>\S+) "
        r"(?P<client_ip>\S+):\d+ \S+ (?:-1|\d+\.\d+) (?:-1|\d+\.\d+) (?:-1|\d+\.\d+) "
        r'(?:(?P<client_left>460)|(?P<status>\d{3}|-)) \S+ (?P<request_bytes>\d+|-) (?:\d+|-) '
        r'"(?P<method>\S+) (?P<url>.*?) (?P<protocol>HTTP/[0-9.]+|-) ?" "(?P<user_agent>.*?)" \S+ \S+ \S+ "(?P<trace>[^"]*)"'
        r'(?: "[^"]*" "[^"]*" \S+ (?P<start>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z).*)?$',
    ),
    signature=(("end", "elb", "request_bytes"),),
    fields={
        "record_id": ("trace",),
        "start": ("start",),
        "end": ("end",),
        "model": ("url",),
        "request_bytes": ("request_bytes",),
        "http_status": ("status",),
        "state": ("client_left",),
        "client_ip": ("client_ip",),
        "user_agent": ("user_agent",),
        "node": ("elb",),
    },
    zone="UTC",
    ids={"x_request_id": ("trace",)},
    aborted_states=("460",),
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("best_effort", "AWS delivers these logs on a best-effort basis; entries may be missing."),
    ),
    export=("Copy the objects AWSLogs/{account}/elasticloadbalancing/{region}/ of the days in question, as they are.",),
    links=("https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html",),
    accepts=(
        "https 2026-09-02T08:41:22.027000Z app/llm/50dc6c495c0c9188 192.0.2.17:2817 203.0.113.9:80 0.086 9.048 0.037 200 200 "
        '2935567 7662 "POST https://llm.example.com:443/ai/run/@cf/zai-org/glm-5.3 HTTP/1.1" "curl/8.10.1" - TLSv1.2 - '
        '"Root=1-58337281-1d84f3d73c47ec4e58577259" "llm.example.com" "-" 1 2026-09-02T08:41:12.907000Z "forward" "-" "-"',
        "h2 2026-09-04T09:30:12.600000Z app/llm/50dc6c495c0c9188 [2001:db8::42]:2817 - -1 -1 -1 460 - 2980653 0 "
        '"POST https://llm.example.com:443/v1/chat/completions HTTP/2.0" "curl" - - - "Root=1-5833732772bd00b0343d75b9"',
    ),
    refuses=(
        "tls 2.0 2026-09-02T08:41:22 net/my-network-loadbalancer/c6e77e28c25b2234 g3d4b5e8bb8464cd 192.0.2.17:51341",
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 5 "-" "curl"',
    ),
)  # fmt: skip
