"""SGLang Model Gateway: what does the router's own text tell?

Start, end, status and latency of each HTTP request in UTC, but neither its model nor its tokens, and an id that is not the
engine's. It is the operator's evidence, for `audit`.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="sglang-gateway",
    title="SGLang Model Gateway log",
    containers=("text",),
    pattern=(
        r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\s+(?P<level>TRACE|DEBUG|INFO|WARN|ERROR) "
        r"(?P<what>http_request\{.*|(?:[^ ]+ )?(?:smg|sglang_router_rs|sgl_model_gateway)::.*)$",
    ),
    signature=(("level", "what"),),
    chatter=True,
    zone="UTC",
    fields={},
    blind_spots=(
        BlindSpot("no_requests", "No line ties a request to its model or its tokens.", hides_long=True),
    ),
    export=("Copy the daily files of the gateway's --log-dir, for `kvforensics audit`.",),
    links=("https://docs.sglang.ai/advanced_features/router.html",),
    accepts=(
        '2026-09-02 08:41:22  INFO http_request{method=POST uri=/v1/chat/completions version=HTTP/1.1 '
        'request_id="chatcmpl-Qm3Z" status_code=200 latency=29430000}: smg::response: src/middleware.rs:357: finished',
        "2026-09-02 08:41:12  INFO smg::core::worker: src/core/worker.rs:10: Activated 2 workers",
    ),
    refuses=(
        "2026-09-02 08:41:12  INFO my_app::server: src/main.rs:10: listening",
        "[2026-09-02 08:41:12 TP0] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0",
    ),
)  # fmt: skip
