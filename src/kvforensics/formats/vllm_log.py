"""vLLM: what does the server's own text tell?

Neither the model of a request nor its tokens: throughput is an average, and prompts appear at DEBUG only, cut. Times have
neither year nor zone. It is the operator's evidence, for `audit`.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="vllm-log",
    title="vLLM server log",
    containers=("text",),
    pattern=(
        r"^(?:\([A-Za-z_0-9]+(?: \w+)* pid=\d+\) )?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) "
        r"(?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[(?P<place>[^\]]+)\](?: .*)?$",
        r"^\([A-Za-z_0-9]+(?: \w+)* pid=\d+\) (?P<level>\w+):? (?P<place>.*)$",
    ),
    signature=(("level", "place"),),
    chatter=True,
    fields={},
    speaks=("uvicorn",),
    blind_spots=(
        BlindSpot("no_requests", "No line ties a request to its model, its tokens or its status.", hides_long=True),
    ),
    export=("Copy the containers' output from the start of each process, for `kvforensics audit`.",),
    links=("https://docs.vllm.ai/en/latest/usage/troubleshooting.html",),
    accepts=(
        "(APIServer pid=1) INFO 09-02 10:41:22 [loggers.py:259] Engine 000: Avg prompt throughput: 70000.1 tokens/s",
        '(APIServer pid=1) INFO:     192.0.2.17:24469 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "INFO 09-02 10:41:12 [logger.py:62] Received request chatcmpl-1: params: SamplingParams(n=1), lora_request: None.",
    ),
    refuses=(
        'INFO:     192.0.2.17:24469 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "[2026-09-02 08:41:12 TP0] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0",
    ),
)  # fmt: skip
