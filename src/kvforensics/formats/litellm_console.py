"""LiteLLM proxy: what does its console log in JSON tell?

Free text in `message`. Only access lines of model calls are records: they show address, status and the local time at
which the call ended, and neither model nor tokens.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="litellm-console",
    title="LiteLLM proxy, console log in JSON (JSON_LOGS)",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(("message", "level", "timestamp", "component", "logger", "!model", "!usage"),),
    fields={
        "end": ("timestamp",),
        "model": ("message|/(?:deployments|engines)/([^/ ]+)/",),
        "http_status": (r"message|/ HTTP/[0-9.]+\" ([0-9]{3})\b/",),
        "client_ip": (r"message|/^\[?([0-9A-Fa-f.:]+?)\]?:[0-9]+ - \"/",),
    },
    framing=(
        (
            r"message|/^(?!\S+ - \"POST \S*/(?:completions|responses|messages)(?:\?\S*)? HTTP).*/=chatter",
            "chatter",
        ),
    ),
    blind_spots=(
        BlindSpot("no_model_no_tokens", "Access lines name neither the model nor its tokens: nothing here is proof."),
        BlindSpot("end_only", "The time is the end of the call and has no duration, so its start is uncertain."),
        BlindSpot("rotated", "Containers drop their console output when they are replaced."),
    ),
    export=(
        "docker logs or kubectl logs of every replica, one file each; state the host's zone (`--timezone`).",
        "Prefer the spend logs: they name model, tokens and tenant of each call.",
    ),
    links=("https://docs.litellm.ai/docs/proxy/debugging", "https://docs.litellm.ai/docs/proxy/logging"),
    accepts=(
        r'{"message":"192.0.2.17:24469 - \"POST /v1/chat/completions HTTP/1.1\" 200","level":"INFO",'
        '"timestamp":"2026-09-02T10:41:22.027000","component":"uvicorn.access","logger":"h11_impl.py:476"}',
    ),
    refuses=(
        '{"message":"started","level":"INFO","timestamp":"2026-09-02T10:41:22Z"}',
        '{"message":"call","level":"INFO","timestamp":"2026-09-02T10:41:22Z","logger":"a","component":"b","model":"m"}',
    ),
)  # fmt: skip
