"""systemd journal as JSON: where is the line that a service wrote?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="journald",
    title="systemd journal (journalctl -o json)",
    signature=(("MESSAGE", "__REALTIME_TIMESTAMP"), ("MESSAGE", "__CURSOR")),
    units=("[]", ""),
    message=("MESSAGE",),
    fields={"stamp": ("__REALTIME_TIMESTAMP",), "node": ("_HOSTNAME",)},
    goes_on=(("_LINE_BREAK", "line-max"), ("CONTAINER_PARTIAL_MESSAGE", "true")),
    stream=("_HOSTNAME", "SYSLOG_IDENTIFIER", "_PID", "_STREAM_ID", "CONTAINER_ID"),
    blind_spots=(
        BlindSpot(
            "long_fields",
            "Without `--all` a message of more than 4,096 bytes is null; such an entry is a rejected line.",
        ),
        BlindSpot("rate_limit", "journald drops messages of a service above its rate limit and says so only in the journal."),
    ),
    export=("journalctl --all -o json --since ... --until ... > FILE",),
    links=(
        "https://systemd.io/JOURNAL_EXPORT_FORMATS/",
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.journal-fields.html",
    ),
    accepts=(
        ('{"__REALTIME_TIMESTAMP":"1788338482027000","MESSAGE":"{\\"model\\":\\"m\\"}"}', '{"model":"m"}'),
        ('{"__REALTIME_TIMESTAMP":"1788338482027000","MESSAGE":[104,105,7]}', "hi\x07"),
    ),
    refuses=('{"MESSAGE":"x"}',),
)
