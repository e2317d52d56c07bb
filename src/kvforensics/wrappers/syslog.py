"""syslog: where is the line that a service sent?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

# HAProxy's own format knows the header that is always around its lines. A traditional stamp has no year, so it tells no time.
WRAPPER = Wrapper(
    name="syslog",
    title="syslog lines (RFC 3164 and RFC 5424)",
    pattern=(
        r"(?:<\d{1,3}>(?:1 )?)?(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))|"
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) "
        # What an application writes to its console has a level there.
        r"(?P<host>(?!(?i:trace|debug|info|notice|warn|warning|error|critical|fatal) )[A-Za-z0-9][^\s:\[\]]*) "
        r"(?:(?!haproxy)[A-Za-z][\w./-]*(?:\[\d+\])?: |"
        r"[A-Za-z][\w./-]* (?:\d+|-) [\w.-]+ (?:-|(?:\[[^\]]*\])+) (?:\xef\xbb\xbf)?)"
    ),
    message=("message",),
    fields={"stamp": ("time",), "node": ("host",)},
    blind_spots=(
        BlindSpot(
            "message_size", "Daemons cut messages over 8 KB unless told otherwise, and lose some over UDP.", hides_long=True
        ),
    ),
    export=("Copy the files of the syslog daemon as they are, rotated ones too.",),
    links=("https://www.rfc-editor.org/rfc/rfc5424", "https://www.rfc-editor.org/rfc/rfc3164"),
    accepts=(
        ('Sep  2 10:41:22 web1 nginx: {"model":"m"}', '{"model":"m"}'),
        ("<190>Sep 12 10:41:22 web1 app[31]: text", "text"),
        ("2026-09-02T10:41:22.027+02:00 web1 app[31]: text", "text"),
        ('<134>1 2026-09-02T08:41:22.027Z web1 app 31 ID47 [x@1 a="b"] text', "text"),
    ),
    refuses=(
        "2026-09-02T08:41:22.027Z stdout F text", "2026-09-02T10:41:22+02:00 - uvicorn.access - INFO - text",
        "Sep  2 10:41:22 lb1 haproxy[812]: text", "2026-09-02T08:41:22.027Z INFO app: text",
    ),
)  # fmt: skip
