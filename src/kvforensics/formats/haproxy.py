"""HAProxy, HTTP log format: what does a line tell, with or without a syslog header?

The time is when the request began, in the machine's local time without an offset. The size logged is that of the answer.
A termination state that starts with `C` means that the client ended it; with a status of -1 nobody was answered.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="haproxy",
    title="HAProxy HTTP log",
    containers=("text",),
    pattern=(
        r"^(?:.*?\bhaproxy(?:\[\d+\])?: )?(?P<client_ip>\S+):\d+ "
        r"\[(?P<start>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d+)\] "
        r"(?P<frontend>\S+) (?P<backend>\S+) -?\d+/-?\d+/-?\d+/-?\d+/\+?(?P<duration>-?\d+) (?P<status>-?\d+) \+?\d+ \S+ \S+ "
        r"(?:(?P<client_left>C)|[^C\s])\S{1,3} [\d/+]+ [\d/]+ (?:\{.*\} )?"
        r'"(?:(?P<method>[A-Z]{3,16}) (?P<path>[^\s"]+)|[^"]*).*$',
    ),
    signature=(("start", "backend", "status"),),
    fields={
        "start": ("start",),
        "duration": ("duration",),
        "model": ("path",),
        "http_status": ("status",),
        "state": ("client_left",),
        "client_ip": ("client_ip",),
        "node": ("frontend",),
    },
    aborted_states=("c",),
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    nothing=("-",),
    tenant_says="nothing in this log names a tenant; captured headers have no names",
    blind_spots=(
        BlindSpot(
            "no_size", "Neither tokens nor the size of a request are logged, so nothing can rule a long one out.",
            hides_long=True,
        ),
        BlindSpot("model_in_path", "The model is seen only where the address shows it, and addresses are cut at 1,024 bytes."),
        BlindSpot("local_time", "Times are the machine's local time and do not say their zone."),
        BlindSpot("dontlog", "`option dontlog-normal` leaves successful requests out; syslog over UDP loses lines."),
    ),
    export=("Copy the syslog files that HAProxy writes to, and say the machine's zone.",),
    links=("https://docs.haproxy.org/3.2/configuration.html#8.2.3",),
    accepts=(
        '192.0.2.17:14853 [02/Sep/2026:10:41:12.907] https-in~ ai/node_1 170/0/0/3/9120 200 7662 - - ---- 1/1/0/0/0 0/0 '
        '"POST /ai/run/@cf/zai-org/glm-5.3 HTTP/1.1"',
        'Sep  4 11:30:12 lb1 haproxy[812]: 192.0.2.17:14853 [04/Sep/2026:11:30:00.600] https-in~ ai/<NOSRV> '
        '12000/-1/-1/-1/12000 -1 0 - - CD-- 1/1/0/0/0 0/0 {llm.example.com|curl} "POST /v1/chat/completions HTTP/1.1"',
        '[2001:db8::42]:14853 [02/Sep/2026:10:41:12.907] in in/<NOSRV> -1/-1/-1/-1/0 400 0 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>"',
    ),
    refuses=(
        "192.0.2.17:50033 [28/Feb/2026:02:43:10.123] frontend/backend: SSL handshake failure",
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 5 "-" "curl"',
    ),
)  # fmt: skip
