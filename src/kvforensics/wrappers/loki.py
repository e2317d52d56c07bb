"""Grafana Loki: where is the line of a log entry?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="loki",
    title="Grafana Loki (query answers, logcli JSON lines, downloads from Explore)",
    signature=(("[0]", "[1]"), ("line", "timestamp", "labels"), ("line", "timestamp", "fields"), ("line", "timestamp", "date")),
    units=("data.result[].values[]", "streams[].values[]", "[]", ""),
    message=("line", "[1]"),
    fields={"stamp": ("timestamp", "[0]"), "node": ("labels.pod", "labels.host", "labels.hostname")},
    stream=("labels",),
    blind_spots=(
        BlindSpot(
            "line_size", "Lines over the tenant's `max_line_size` (256 KB unless set) are refused or cut.", hides_long=True,
        ),
        BlindSpot("query_limit", "One query answers with `limit` lines at most; compare the first and last time."),
    ),
    export=("logcli query --output=jsonl --forward --limit=0 --from ... --to ... '{app=\"...\"}' > FILE",),
    links=("https://grafana.com/docs/loki/latest/reference/loki-http-api/",),
    accepts=(
        ('["1788338482027000000","{\\"model\\":\\"m\\"}"]', '{"model":"m"}'),
        ('{"labels":{"app":"a"},"line":"{\\"model\\":\\"m\\"}","timestamp":"2026-09-02T08:41:22.027Z"}', '{"model":"m"}'),
    ),
    refuses=('{"line":"x"}', "[1]", '[{"model":"m"},{"model":"m"}]'),
)  # fmt: skip
