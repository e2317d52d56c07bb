"""nginx, combined access log: what does a text line tell, also as ingress-nginx extends it?

The time is that of logging, the end of the request. Only the ingress layout has the size and duration of a request. Apache
writes the same layout with the time of the start: it lies in the hour before the stamp that is assumed here, so both hold.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

_LINE = (
    r"^(?:(?P<host>[^\s\[]+) )?(?P<client_ip>[0-9A-Za-z:][^\s\[]*) [^\s\[]+(?: (?P<user>[^\[]*?))? "
    r"\[(?P<end>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    r'"(?:(?P<method>[A-Z]{3,16}) (?P<path>(?:[^\s"\\]|\\.)+)(?: HTTP/[0-9.]+)?|(?:[^"\\]|\\.)*)" '
    r'(?P<status>\d{3}) (?P<sent>\d+)(?: "(?:[^"\\]|\\.)*" "(?P<user_agent>(?:[^"\\]|\\.)*)"'
)

FORMAT = Format(
    name="nginx-combined",
    title="nginx access log (combined), and logs of the same layout",
    containers=("text",),
    pattern=(
        _LINE + r" (?P<request_bytes>\d+) (?P<duration>\d+\.\d+) \[(?P<upstream>[^\]]*)\] .*?(?P<request_id>[0-9a-f]{32})?$)",
        _LINE + r")?(?: .*)?$",
    ),
    signature=(("end", "status", "sent"),),
    fields={
        "record_id": ("request_id",),
        "end": ("end",),
        "duration": ("duration|s",),
        "model": ("path",),
        "host": ("host",),
        "request_bytes": ("request_bytes",),
        "http_status": ("status",),
        "user": ("user",),
        "client_ip": ("client_ip",),
        "user_agent": ("user_agent",),
    },
    ids={"x_request_id": ("request_id",)},
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    tenant_says="the user of basic authentication, where there is one",
    beside=("apache-combined",),
    blind_spots=(
        BlindSpot(
            "no_size", "Neither tokens nor the size of a request are logged, so nothing can rule a long one out.",
            hides_long=True,
        ),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("end_only", "Without a duration a request may have begun up to an hour before its line."),
        BlindSpot("streams", "The status of a stream is settled at its first byte; a broken stream is still 200."),
    ),
    export=("Copy the files of `access_log` as they are, rotated ones too, with the `log_format` of the configuration.",),
    links=("https://nginx.org/en/docs/http/ngx_http_log_module.html",),
    accepts=(
        '198.51.100.24 - team-a [02/Sep/2026:10:41:22 +0200] "POST /client/v4/accounts/a/ai/run/@cf/zai-org/glm-5.3 '
        'HTTP/1.1" 200 7662 "-" "ai-sdk/6.0.321"',
        'llm.example.com:443 2001:db8::42 - - [02/Sep/2026:08:41:22 +0000] "\\x16\\x03\\x01" 400 157 "-" "-"',
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST /v1/chat/completions HTTP/1.1" 200 13 "-" "curl/8.10.1" '
        "2935567 9.120 [default-llm-80] [] 203.0.113.9:80 13 9.119 200 c99400a4db42e32187a3cbda00920e41",
    ),
    refuses=(
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 - "-" "curl"',
        '2026/09/02 08:41:22 [error] 31#31: *46 open() failed, client: 192.0.2.17, request: "GET / HTTP/1.1"',
    ),
)  # fmt: skip
