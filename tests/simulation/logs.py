"""What the simulated engine would have logged, in the shapes of real ones (0.5.18, request log level 0, time statistics)."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from simulation.engine import Incident, Request

EPOCH = datetime(2026, 9, 3, 12, 0, tzinfo=UTC)
LOCAL = timedelta(hours=2)


def at(ms: float) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def stamp(ms: float) -> str:
    return (at(ms) + LOCAL).strftime("%Y-%m-%d %H:%M:%S")


def rid(request: Request, role: str) -> str:
    return f"{role[0]}{request.number:031x}"


def started(role: str, pool: int, incident: Incident) -> list[tuple[float, str]]:
    settings = (
        f"server_args=ServerArgs(model_path='m', context_length={incident.context}, page_size={incident.page}, "
        f"tp_size={incident.dp}, dp_size={incident.dp}, enable_dp_attention=True, allow_auto_truncate=False, "
        f"disaggregation_mode='{role}', disaggregation_transfer_backend='mooncake', kv_canary='none')"
    )
    capacity = (
        f"max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, "
        f"context_len={incident.context}, available_gpu_mem=9.81 GB"
    )
    return [(0.0, f"[{stamp(0)}] {settings}"), (500.0, f"[{stamp(500)} DP0 TP0] {capacity}")]


def decode_stats(request: Request, *, epoch: bool) -> str:
    entry = at(request.arrives).timestamp()
    begun = (
        f"entry_time={entry:.3f}" if epoch else f"start_time={request.arrives / 1000 + 5000:.3f}"
    )
    return (
        f"{'ReqTimeStats' if epoch else 'Req Time Stats'}(rid={rid(request, 'decode')}, bootstrap_room={request.room}, "
        f"{'input_len' if epoch else 'input len'}={request.prompt}, "
        f"{'cached_input_len=0, output_len' if epoch else 'output len'}={request.output}, type=decode): "
        f"bootstrap_duration=1.00ms, alloc_wait_duration={request.allocated - request.arrives - 1.0:.2f}ms, "
        f"transfer_duration={request.arrived - request.allocated:.2f}ms, queue_duration=0.00ms, "
        f"forward_duration={request.finished - request.began:.2f}ms, {begun}"
    )


def finished(request: Request) -> str:
    ended = at(request.finished) + LOCAL
    return json.dumps({
        "timestamp": ended.replace(tzinfo=None).isoformat(timespec="microseconds"), "event": "request.finished",
        "rid": rid(request, "decode"),
        "obj": {"rid": rid(request, "decode"), "bootstrap_host": "10.42.3.20", "bootstrap_room": request.room,
                "custom_labels": {"tenant": request.tenant}},
        "out": {"meta_info": {"id": rid(request, "decode"), "finish_reason": {"type": "stop", "matched": 1},
                              "prompt_tokens": request.prompt, "completion_tokens": request.output, "cached_tokens": 0,
                              "dp_rank": request.rank}},
    })  # fmt: skip


def write(incident: Incident, folder: Path, *, coarse: bool = False, missing: float = 0.0) -> set[int]:
    """Write prefill.log and decode.log; the numbers of the decode requests that the log leaves out.

    `coarse` gives whole seconds and no epoch; the tenant is then in the text of the labels of a request log without times.
    """
    chance = random.Random(incident.seed + 7)
    left_out = {r.number for r in incident.requests if not r.affected and chance.random() < missing}
    decode, prefill = started("decode", incident.decode_pool, incident), started("prefill", incident.prefill_pool, incident)
    for r in incident.requests:
        place = f"DP{r.prefill_rank} TP{r.prefill_rank}"
        length = 1 if r.affected else r.prompt
        head = f"[{stamp(r.allocated)} {place}]"
        if r.affected:
            if r.prefill_rank == 0:
                prefill.append((r.allocated, (
                    f"{head} Input length ({r.prompt} tokens) exceeds the maximum allowed length ({incident.limit} tokens). "
                    f"Use a shorter input or enable --allow-auto-truncate., self.rid='{rid(r, 'prefill')}'"
                )))  # fmt: skip
            pages = -(-r.prompt // incident.page)
            prefill.append((r.allocated, f"{head} len(prefill_state_indices) = 1, len(dst_state_indices) = {pages}"))
        prefill.append((r.arrived, (
            f"[{stamp(r.arrived)} {place}] ReqTimeStats(rid={rid(r, 'prefill')}, bootstrap_room={r.room}, input_len={length}, "
            f"cached_input_len=0, output_len=1, attempts=1, type=prefill): bootstrap_duration=1.00ms, "
            f"entry_time={at(r.arrives).timestamp():.3f}, transfer_total={max(1, length // 64) * 0.08:.2f} MB"
        )))  # fmt: skip
        if r.number in left_out:
            continue
        place = f"DP{r.rank} TP{r.rank}"
        decode.append((r.finished, f"[{stamp(r.finished)} {place}] {decode_stats(r, epoch=not coarse)}"))
        if coarse:
            decode.append((r.finished + 1e-4, (
                f"[{stamp(r.finished)}] Finish: obj=GenerateReqInput(rid='{rid(r, 'decode')}', bootstrap_room={r.room}, "
                f"custom_labels={{'tenant': '{r.tenant}'}}), out={{'meta_info': {{'id': '{rid(r, 'decode')}', "
                f"'finish_reason': {{'type': 'stop', 'matched': 1}}, 'prompt_tokens': {r.prompt}, "
                f"'completion_tokens': {r.output}, 'dp_rank': {r.rank}}}}}"
            )))  # fmt: skip
        else:
            decode.append((r.finished + 1e-4, f"[{stamp(r.finished)}] {finished(r)}"))
    for rank, seen in incident.usage.items():
        for now, running, tokens in seen:
            decode.append((now, (
                f"[{stamp(now)} DP{rank} TP{rank}] Decode batch, #running-req: {running}, #token: {tokens}, "
                f"token usage: {tokens / incident.decode_pool:.2f}, pre-allocated usage: 0.00, #prealloc-req: 0, "
                "#transfer-req: 0, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 1.00, #queue-req: 0"
            )))  # fmt: skip
    for name, lines in (("prefill", prefill), ("decode", decode)):
        text = "".join(f"{line}\n" for _, line in sorted(lines, key=lambda item: item[0]))
        (folder / f"{name}.log").write_text(text, encoding="utf-8")
    return left_out
