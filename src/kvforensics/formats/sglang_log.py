"""SGLang: what does the engine's own text tell?

Where request logging or time statistics are on, the length of finished requests, at local time without an offset; JSON
behind a stamp is the request log's. All other lines name neither a model nor the tokens of a request and are for `audit`.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

_STAMP = r"^(?:.*?\[(?P<end>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)(?: [A-Z_]+\d+)*\] )?"

FORMAT = Format(
    name="sglang-log",
    title="SGLang server log",
    containers=("text",),
    pattern=(
        _STAMP + r"Finish: obj=.*'meta_info': \{'id': '(?P<id>[^']*)', 'finish_reason': (?:None|\{'type': '(?P<state>\w+)'"
        r"(?:[^{}]*'status_code': (?P<code>\d{3}))?.*?\}), 'prompt_tokens': (?P<prompt>\d+)"
        r"(?:.*?'completion_tokens': (?P<completion>\d+))?(?:.*?'cached_tokens': (?P<cached>\d+))?"
        r"(?:.*?'e2e_latency': (?P<duration>[0-9.e-]+))?(?:.*?'request_received_ts': (?P<start>\d{10}\.\d+))?.*$",
        _STAMP + r"Req ?Time ?Stats\(rid=(?P<id>[^,]+), bootstrap_room=[^,]*, input[_ ]len=(?P<prompt>\d+)"
        r"(?:, cached_input_len=(?P<cached>\d+))?, output[_ ]len=(?P<completion>\d+)"
        r".*?\)(?:.*?entry_time=(?P<start>\d{10}\.\d+))?.*$",
        r"^.*?\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)(?P<text>(?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+)+\] .*|"
        r"\] (?:server_args=|Receive(?: OpenAI)?: obj=|(?:Prefill|Decode) batch|INFO: +\S+:\d+ - \"|[^{].*(?:KV Cache|KV cache|"
        r"max_total_num_tokens=|disaggregation|The server is fired up|Cache flushed|tokenizer|Load weight)).*)$",
    ),
    signature=(("id", "prompt"), ("time", "text")),
    framing=(("text", "*"),),
    fields={
        "record_id": ("id",),
        "start": ("start",),
        "end": ("end",),
        "duration": ("duration|s",),
        "prompt": ("prompt",),
        "cache_read": ("cached",),
        "completion": ("completion",),
        "http_status": ("code",),
        # An abort with a status was the engine's own doing; one without was the client's.
        "state": ("code", "state"),
    },
    ids={"response_id": ("id",)},
    cache_rule="inclusive",
    ok_states=("stop", "length", "tool_calls"),
    aborted_states=("abort",),
    speaks=("uvicorn",),
    beside=("sglang-requests",),
    blind_spots=(
        BlindSpot("no_model", "The engine does not name its model: every request is possibly on it."),
        BlindSpot(
            "requests_off", "Without --log-requests no line tells the length of a request, and it is off by default.",
            hides_long=True,
        ),
        BlindSpot("prefill_stub", "A prefill node logs an affected request as one token.", hides_long=True),
        BlindSpot("local_time", "Times are the container's local time and do not say their zone."),
    ),
    export=("Copy the containers' output from the start of each process, and say their zone.",),
    links=("https://docs.sglang.ai/advanced_features/server_arguments.html",),
    accepts=(
        "[2026-09-02 08:41:22] Finish: obj=GenerateReqInput(rid='2de1ad63', stream=True), out={'meta_info': {'id': '2de1ad63', "
        "'finish_reason': {'type': 'stop', 'matched': 151336}, 'prompt_tokens': 702114, 'completion_tokens': 1207, "
        "'cached_tokens': 655360, 'e2e_latency': 9.12}}",
        "[2026-09-02 08:41:22 DP2 TP2] ReqTimeStats(rid=2de1ad63, bootstrap_room=1, input_len=702114, cached_input_len=655360, "
        "output_len=1207, type=decode): queue_duration=12.71ms, entry_time=1788338472.907",
        "[2026-09-02 08:41:12 TP0] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, token usage: 0.41",
    ),
    refuses=(
        '[2026-09-02T08:41:12.907Z] "POST / HTTP/2" 200 - 1 1 1 1 "-" "-" "-" "-" "-"',
        "(APIServer pid=1) INFO 09-02 10:41:22 [loggers.py:259] Engine 000: Avg prompt throughput: 70000.1 tokens/s",
    ),
)  # fmt: skip
