"""Datadog logs: where are the attributes of the event, or the line that it keeps?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="datadog",
    title="Datadog logs (API pages and archives)",
    signature=(
        ("attributes.timestamp", "id", "type"), ("attributes.message", "id", "type"),
        ("attributes", "date", "_id"), ("attributes", "date", "service"), ("attributes", "date", "source"),
    ),
    units=("data[]", "[]", ""),
    message=("attributes.message", "attributes.attributes.message", "message"),
    body=("attributes.attributes", "attributes"),
    fields={
        "stamp": ("attributes.timestamp", "date"), "node": ("attributes.host", "host"),
        "tag": ("attributes.tags", "tags"),
    },
    blind_spots=(
        BlindSpot("event_limit", "Log events over 1 MB are cut or refused.", hides_long=True),
        BlindSpot("index_filters", "Exclusion filters of an index keep a sample; archives are written before them."),
    ),
    export=("Prefer the archive of the period; else page through the logs API for the whole period.",),
    links=("https://docs.datadoghq.com/api/latest/logs/", "https://docs.datadoghq.com/logs/log_configuration/archives/"),
    accepts=(
        (
            '{"id":"a","type":"log","attributes":{"timestamp":"2026-09-02T08:41:22.027Z","message":"{\\"model\\":\\"m\\"}"}}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"id":"a","attributes":{"model":"m"}}',),
)  # fmt: skip
