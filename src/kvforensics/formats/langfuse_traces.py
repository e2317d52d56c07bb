"""Langfuse: what do traces and scores tell, which lie beside the observations in its exports?

A trace frames the calls in it and a score grades them: neither is a request, so every row is framing.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="langfuse-traces",
    title="Langfuse, traces and scores (no requests of their own)",
    containers=("lines", "csv", "json", "parquet"),
    units=("data[]", "[]", ""),
    signature=(
        ("id", "timestamp", "name", "user_id", "session_id", "release", "!type"),
        ("id", "timestamp", "name", "userId", "sessionId", "release", "!type"),
        ("id", "timestamp", "trace_id", "observation_id", "data_type", "value"),
        ("id", "timestamp", "traceId", "observationId", "dataType", "value"),
    ),
    fields={"record_id": ("id",), "start": ("timestamp",)},
    framing=(("id", "*"),),
    zone="UTC",
    tenant_says="traces are no records",
    blind_spots=(BlindSpot("no_calls", "Traces and scores hold no calls: export the observations too."),),
    export=("They come with the blob storage export; the observations are what is needed.",),
    links=("https://langfuse.com/docs/api-and-data-platform/features/export-to-blob-storage",),
    accepts=(
        '{"id":"t-1","timestamp":"2026-09-02 08:41:12.907000","name":"agent-turn","user_id":"u","session_id":"s",'
        '"release":"","metadata":{"model":"@cf/zai-org/glm-5.3"},"input":"x","output":"y"}',
    ),
    refuses=('{"id":"o-1","trace_id":"t-1","type":"GENERATION","start_time":"2026-09-02 08:41:12","name":"chat"}',),
)  # fmt: skip
