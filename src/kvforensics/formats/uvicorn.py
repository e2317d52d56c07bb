"""Uvicorn: what does an access line of a Python service tell?

By default it has no time at all; where the operator's own layout puts one in front, it is when the answer began, never
the start of the request.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="uvicorn",
    title="Uvicorn access lines",
    containers=("text",),
    pattern=(
        r"^(?:\[?(?P<end>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?)\]?[\s:|-].*?)?"
        r"(?P<level>\bINFO\b).*?\s(?P<client_ip>[0-9A-Fa-f.:\[\]]+):\d+ - "
        r'"(?P<method>[A-Z]{3,16}) (?P<path>\S+) HTTP/[0-9.]+" (?P<status>\d{3})(?: [A-Za-z][A-Za-z \'-]*)?$',
    ),
    signature=(("level", "method", "status"),),
    fields={
        "end": ("end",), "model": ("path",), "http_status": ("status",), "client_ip": ("client_ip",),
    },
    holds_prompts=False,
    framing=(("method", "GET"), ("method", "HEAD"), ("method", "OPTIONS")),
    blind_spots=(
        BlindSpot("no_time", "Default lines have no time: they say that there was a request, not when."),
        BlindSpot(
            "no_size", "Neither tokens nor the size of a request are logged, so nothing can rule a long one out.",
            hides_long=True,
        ),
        BlindSpot("model_in_path", "The model is seen only where the address shows it (`/ai/run/...`)."),
    ),
    export=("Copy the service's output with the collector's own stamps, which tell when a line was written.",),
    links=("https://uvicorn.dev/settings/",),
    accepts=(
        'INFO:     192.0.2.17:24469 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        '2026-09-02 10:41:22,027 - uvicorn.access - INFO - 192.0.2.17:24469 - "POST /ai/run/@cf/zai-org/glm-5.3 HTTP/1.1" 200',
    ),
    refuses=(
        "INFO:     Started server process [1]",
        '192.0.2.17 - - [02/Sep/2026:08:41:22 +0000] "POST / HTTP/1.1" 200 5 "-" "curl"',
    ),
)  # fmt: skip
