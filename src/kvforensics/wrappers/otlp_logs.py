"""OpenTelemetry logs as OTLP JSON: where is the line that a log record keeps as its body?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="otlp-logs",
    title="OpenTelemetry log records (OTLP JSON, as the collector's file exporter writes them)",
    signature=(("timeUnixNano", "body"), ("observedTimeUnixNano", "body"), ("severityNumber", "body")),
    units=("resourceLogs[].scopeLogs[].logRecords[]",),
    message=("body.stringValue",),
    fields={"stamp": ("timeUnixNano", "observedTimeUnixNano")},
    ids={"trace_id": ("traceId",), "span_id": ("spanId",)},
    blind_spots=(
        BlindSpot("limits", "Receivers cut or split long lines (`max_log_size`, 1 MiB unless set).", hides_long=True),
    ),
    export=("Collector: add the `file` exporter to the logs pipeline (`exporters: {file: {path: logs.jsonl}}`).",),
    links=("https://opentelemetry.io/docs/specs/otel/logs/data-model/",),
    accepts=(
        (
            '{"timeUnixNano":"1788338482027000000","severityText":"INFO","body":{"stringValue":"{\\"model\\":\\"m\\"}"}}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"timeUnixNano":"1788338482027000000","name":"chat"}', '{"body":{"stringValue":"x"}}'),
)  # fmt: skip
