"""What would the engines behind the incident have logged, start by start and request by request?

Three prefill nodes and one decode node with two ranks, in the shapes of SGLang 0.5.18. `make_samples.py` calls this. Made up
like everything here; the truth comes from the requests as they were made.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

LOCAL = ZoneInfo("Europe/Amsterdam")
PAGE, CONTEXT = 64, 1_048_576
SMALL_POOL, LARGE_POOL, DECODE_POOL = 681_280, 1_179_648, 2_359_296
FIRST_REJECTED = SMALL_POOL - 6
RANKS = 2
STARTED = datetime(2026, 8, 26, 4, 0, tzinfo=UTC)
"""When the nodes came up with the small pool."""
CORRECTED = datetime(2026, 9, 9, 14, 5, tzinfo=UTC)
DAY = datetime(2026, 9, 3, 12, 0, tzinfo=UTC)
"""When the requests of the samples come in."""
TENANTS = ("org-4e07ab", "org-6b86b2", "org-d4735e", "org-ef2d12", "org-4b2277", "org-7902a9")
LONG = {41: 702_144, 58: 681_274, 83: 955_008, 84: 681_281, 117: 733_501}
"""Prompts that prefill rejects, by the number of the request."""
REQUESTS = 132


@dataclass(frozen=True, slots=True)
class Request:
    """One request with the times of its phases on decode, and where it went."""

    number: int
    tenant: str
    prompt: int
    output: int
    arrives: datetime
    waits: timedelta
    transfers: timedelta
    decodes: timedelta
    rank: int
    prefill: int
    prefill_rank: int

    @property
    def affected(self) -> bool:
        """Whether prefill rejected it and decode answered all the same."""
        return FIRST_REJECTED <= self.prompt < CONTEXT

    @property
    def room(self) -> int:
        """The number that both sides know it by: 63 bits, as the router draws it."""
        return int(self.rid("room"), 16) >> 65 | 1 << 62

    @property
    def ends(self) -> datetime:
        """When decode ends it."""
        return self.arrives + self.waits + self.transfers + self.decodes

    def rid(self, role: str) -> str:
        """Thirty-two hexadecimal digits, other ones on each side."""
        return hashlib.sha256(f"{role} {self.number}".encode()).hexdigest()[:32]


def requests() -> Iterator[Request]:
    """The requests, in the order in which they come."""
    chance = random.Random(681_280)

    def below(n: int) -> int:
        return int(chance.random() * n)

    at = DAY
    for number in range(REQUESTS):
        at += timedelta(milliseconds=800 + below(9_000))
        prompt = LONG.get(number) or 900 + int(chance.random() ** 3 * 520_000)
        output = 40 + below(500)
        read = 900 if prompt >= FIRST_REJECTED else 400 + prompt // 45
        yield Request(
            number, TENANTS[below(len(TENANTS))], prompt, output, at, timedelta(milliseconds=2 + below(9)),
            timedelta(milliseconds=read + below(300)), timedelta(milliseconds=output * (18 + below(9))), below(RANKS), below(3),
            below(RANKS),
        )  # fmt: skip


def stamp(at: datetime) -> str:
    """Local time of the container without an offset, as the engine prints it."""
    return at.astimezone(LOCAL).strftime("%Y-%m-%d %H:%M:%S")


def started(role: str, pool: int, at: datetime) -> Iterator[tuple[datetime, str]]:
    """The lines of one start of a node."""
    mode = (
        f"server_args=ServerArgs(model_path='/models/glm-5.3', trust_remote_code=True, context_length={CONTEXT}, "
        f"served_model_name='glm-5.3', page_size={PAGE}, mem_fraction_static=0.82, max_total_tokens=None, tp_size={RANKS}, "
        f"pp_size=1, dp_size={RANKS}, ep_size={RANKS}, enable_dp_attention=True, load_balance_method='round_robin', "
        f"disable_radix_cache=False, radix_eviction_policy='lru', enable_hierarchical_cache=False, "
        f"allow_auto_truncate=False, speculative_algorithm=None, kv_canary='none', log_requests={role == 'decode'}, "
        f"log_requests_level=0, log_requests_format='json', enable_request_time_stats_logging=True, "
        f"disaggregation_mode='{role}', disaggregation_transfer_backend='mooncake', "
        "disaggregation_decode_enable_radix_cache=False, disaggregation_decode_extra_slots=0, retraction_policy='length')"
    )
    capacity = (
        f"max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, "
        f"context_len={CONTEXT}, available_gpu_mem=9.81 GB"
    )
    yield at, f"[{stamp(at)}] {mode}"
    for rank in reversed(range(RANKS)):
        later = at + timedelta(seconds=41, milliseconds=200 * rank)
        text = f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {pool}, KV size: 58.12 GB"
        yield later, f"[{stamp(later)} DP{rank} TP{rank} EP{rank}] {text}"
        if role == "decode":
            text = "KV cache is forced as chunk cache for decode server"
            yield later, f"[{stamp(later)} DP{rank} TP{rank} EP{rank}] {text}"
    last = at + timedelta(seconds=44)
    yield last, f"[{stamp(last)} DP0 TP0 EP0] {capacity}"
    yield last, f"[{stamp(last)}] The server is fired up and ready to roll!"


def prefilled(request: Request) -> Iterator[tuple[datetime, str]]:
    """What the prefill node prints about a request."""
    rank, at = request.prefill_rank, request.arrives + request.waits
    place = f"DP{rank} TP{rank} EP{rank}"
    if request.affected:
        pages = -(-request.prompt // PAGE)
        if rank == 0:  # no other rank prints the rejection
            yield at, (
                f"[{stamp(at)} {place}] Input length ({request.prompt} tokens) exceeds the maximum allowed length "
                f"({FIRST_REJECTED} tokens). Use a shorter input or enable --allow-auto-truncate., "
                f"self.rid='{request.rid('prefill')}'"
            )
        yield at, f"[{stamp(at)} {place}] len(prefill_state_indices) = 1, len(dst_state_indices) = {pages}"
    length = 1 if request.affected else request.prompt
    end = at + request.transfers
    yield end, (
        f"[{stamp(end)} {place}] ReqTimeStats(rid={request.rid('prefill')}, bootstrap_room={request.room}, "
        f"input_len={length}, cached_input_len=0, output_len=1, attempts=1, type=prefill): bootstrap_duration=1.00ms, "
        f"queue_duration=0.50ms, transfer_total={-(-length // PAGE) * 5.5:.2f} MB, "
        f"entry_time={request.arrives.timestamp():.3f}"
    )


def decoded(request: Request) -> Iterator[tuple[datetime, str]]:
    """What the decode node prints about a request: time statistics, then the request log."""
    end, place = request.ends, f"DP{request.rank} TP{request.rank} EP{request.rank}"

    def ms(span: timedelta) -> str:
        return f"{span / timedelta(milliseconds=1):.2f}ms"

    yield end, (
        f"[{stamp(end)} {place}] ReqTimeStats(rid={request.rid('decode')}, bootstrap_room={request.room}, "
        f"input_len={request.prompt}, cached_input_len=0, output_len={request.output}, type=decode): "
        f"bootstrap_duration=1.00ms, alloc_wait_duration={ms(request.waits - timedelta(milliseconds=1))}, "
        f"transfer_duration={ms(request.transfers)}, queue_duration=0.00ms, forward_duration={ms(request.decodes)}, "
        f"entry_time={request.arrives.timestamp():.3f}"
    )
    meta = {
        "id": request.rid("decode"), "finish_reason": {"type": "stop", "matched": 151_336}, "prompt_tokens": request.prompt,
        "completion_tokens": request.output, "cached_tokens": 0, "dp_rank": request.rank,
    }  # fmt: skip
    asked = {
        "rid": request.rid("decode"), "bootstrap_host": f"192.0.2.{10 + request.prefill}", "bootstrap_room": request.room,
        "custom_labels": {"tenant": request.tenant},
    }  # fmt: skip
    local = end.astimezone(LOCAL).replace(tzinfo=None).isoformat(timespec="microseconds")
    row = {"timestamp": local, "event": "request.finished", "rid": meta["id"], "obj": asked, "out": {"meta_info": meta}}
    yield end, f"[{stamp(end)}] {json.dumps(row)}"


def in_pieces(lines: Sequence[tuple[datetime, str]], size: int = 700) -> Iterator[str]:
    """The lines as containerd keeps them: UTC stamp, stream, and P for a piece that goes on."""
    for at, line in lines:
        cut = [line[i : i + size] for i in range(0, len(line), size)]
        for number, piece in enumerate(cut, 1):
            yield f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06}000Z stderr {'F' if number == len(cut) else 'P'} {piece}\n"


def write_engine(root: Path) -> dict[str, Any]:
    """Write the folder `engine`; what an audit and the replay of it have to answer."""
    made = tuple(requests())
    folder = root / "engine"
    folder.mkdir(parents=True, exist_ok=True)
    for node in range(3):
        lines = [*started("prefill", SMALL_POOL, STARTED + timedelta(minutes=node))]
        lines += [line for r in made if r.prefill == node for line in prefilled(r)]
        # Corrected one after the other; the last one was up again at the end of the uncertain time.
        lines += started("prefill", LARGE_POOL, CORRECTED + timedelta(minutes=15 * node))
        lines.sort(key=lambda line: line[0])
        text = "".join(in_pieces(lines)) if node == 1 else "".join(f"{line}\n" for _, line in lines)
        (folder / f"prefill-{node}.log").write_bytes(text.encode())
    lines = [*started("decode", DECODE_POOL, STARTED)] + [line for r in made for line in decoded(r)]
    lines.sort(key=lambda line: line[0])
    (folder / "decode-0.log").write_bytes("".join(f"{line}\n" for _, line in lines).encode())
    hit = [r for r in made if r.affected]
    # Whoever took pages on the rank before: the safe superset of each affected response.
    earlier = {
        r.rid("decode"): sorted({o.tenant for o in made if o.rank == r.rank and o.arrives < r.arrives}) for r in hit
    }
    return {
        "arguments": ["sample_logs/engine"],
        "audit": {
            "exit_status": 10,
            "first_rejected": {"prefill": [FIRST_REJECTED, CONTEXT - 6] * 3, "decode": [CONTEXT - 6]},
            "failed": ["deferred_release", "kv_canary", "kv_canary_covers", "kv_checksum", "limits_agree",
                       "mooncake_batches_bounded", "pool_covers_context", "version_both_fixes", "version_result_guard"],
        },
        "whose": {"exit_status": 10, "affected": sorted(earlier), "earlier_tenants": earlier,
                  "receiving_tenants": sorted({r.tenant for r in hit})},
        "signatures": {"exit_status": 10, "affected_at_least": len(hit),
                       "rejections_printed": sum(r.prefill_rank == 0 for r in hit)},
    }  # fmt: skip
