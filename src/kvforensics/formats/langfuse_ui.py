"""Langfuse: what does a table exported from its user interface tell?

CSV, JSON or JSON lines with nested values as JSON in a cell; which columns there are depends on the view. All else is
read as in `langfuse-api`.
"""

from __future__ import annotations

from msgspec.structs import replace

from kvforensics.formats.langfuse_api import FORMAT as API
from kvforensics.spec import BlindSpot

FORMAT = replace(
    API,
    name="langfuse-ui",
    title="Langfuse, observations exported from the user interface",
    containers=("csv", "json", "lines", "parquet"),
    units=("[]", ""),
    signature=(
        ("id", "traceId", "type", "startTime", "model"), ("id", "traceId", "startTime", "model", "usage"),
        ("id", "traceId", "startTime", "providedModel"), ("id", "traceId", "startTime", "usageDetails"),
        ("id", "traceId", "startTime", "totalTokens"), ("id", "traceId", "startTime", "level", "type"),
    ),
    fields={**API.fields, "model": ("model", "providedModelName", "providedModel")},
    blind_spots=(
        BlindSpot("view_filters", "The filters of the view decide which rows are exported; all columns are."),
        BlindSpot("client_sampling", "The SDK may send a sample of the traces only; the export does not tell."),
        BlindSpot("inferred_usage", "Where the SDK sent no usage, another model's tokenizer may have estimated it."),
        BlindSpot("no_host", "Often nothing tells the provider: a bare model name is then undecided."),
    ),
    export=(
        "Tracing > Observations: filter the type GENERATION and the window, Export as CSV or JSON.",
        "Times without an offset are those of the browser: state its zone (`--timezone`).",
    ),
    links=("https://langfuse.com/docs/api-and-data-platform/features/export-from-ui",),
    accepts=(
        '{"id":"5d05","traceId":"dad8","name":"chat","type":"GENERATION","model":"workers-ai/@cf/zai-org/glm-5.3",'
        '"startTime":"2026-09-02T08:41:12.907Z","usage":"{\\"input\\": 702114, \\"output\\": 1207}","level":"DEFAULT"}',
    ),
    refuses=('{"id":"t-1","timestamp":"2026-09-02T08:41:12.907Z","name":"agent-turn","userId":"u-1"}',),
)  # fmt: skip
