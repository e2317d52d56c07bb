"""Apache httpd, combined access log: what does a line tell that only httpd writes?

Such as `-` for no body, or the bytes received and sent of `combinedio`. Its time is the start by default, but `%{end}t`
makes it the end, and other servers share the layout. Lines that could as well be nginx's are read as those.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

_LINE = (
    r"^(?:(?P<host>[^\s\[]+) )?(?P<client_ip>[0-9A-Za-z:][^\s\[]*) [^\s\[]+ (?P<user>[^\[]+?) "
    r"\[(?P<time>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    r'"(?:(?P<method>[A-Z]{3,16}) (?P<path>(?:[^\s"\\]|\\.)+)(?: HTTP/[0-9.]+)?|(?:[^"\\]|\\.)*)" (?P<status>\d{3}) '
)
_AGENT = r' "(?:[^"\\]|\\.)*" "(?P<user_agent>(?:[^"\\]|\\.)*)"'

FORMAT = Format(
    name="apache-combined",
    title="Apache httpd access log (common, combined, combinedio)",
    containers=("text",),
    pattern=(
        _LINE + r"(?P<sent>\d+|-)" + _AGENT + r" (?P<request_bytes>\d+) \d+$",
        _LINE + r"(?P<sent>-)(?:" + _AGENT + r")?(?: .*)?$",
    ),
    signature=(("time", "status", "sent"),),
    fields={
        "stamp": ("time",),
        "model": ("path",),
        "host": ("host",),
        "request_bytes": ("request_bytes",),
        "http_status": ("status",),
        "user": ("user",),
        "client_ip": ("client_ip",),
        "user_agent": ("user_agent",),
    },
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    tenant_says="the user of basic authentication, where there is one",
    beside=("nginx-combined",),
    blind_spots=(
        BlindSpot(
            "no_size", "There are no token counts; only `combinedio` has the size of a request.",
            hides_long=True,
        ),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
        BlindSpot("conditional", "`CustomLog ... env=` leaves requests out, and lines do not say so."),
    ),
    export=("Copy the files of `CustomLog` as they are, rotated ones too, with the `LogFormat` of the configuration.",),
    links=("https://httpd.apache.org/docs/2.4/mod/mod_log_config.html", "https://httpd.apache.org/docs/2.4/logs.html"),
    accepts=(
        '198.51.100.24 - team-a [02/Sep/2026:10:41:12 +0200] "POST /ai/run/@cf/zai-org/glm-5.3 HTTP/1.1" 200 7662 "-" '
        '"ai-sdk/6.0.321" 2935567 7991',
        '192.0.2.17 - - [02/Sep/2026:08:41:12 +0000] "POST /v1/chat/completions HTTP/1.1" 504 - "-" "a \\"b\\""',
        '192.0.2.17 - - [02/Sep/2026:08:41:12 +0000] "POST /v1/chat/completions HTTP/1.1" 504 -',
    ),
    refuses=(
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 5 "-" "curl"',
        "[Wed Sep 02 08:41:22.027 2026] [proxy:error] [pid 7] (70007) AH00957: attempt to connect failed",
    ),
)  # fmt: skip
