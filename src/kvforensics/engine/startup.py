"""What does each start of each node say about itself?

A start is everything that one server process and its ranks print. It begins at `server_args=`, or, where that line was
cut off, where a rank tells a second time what it told before. Line shapes are those of `srt/managers/scheduler.py`,
`srt/mem_cache/` and `srt/entrypoints/` of the released SGLang packages 0.4.6.post5 to 0.5.23.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

from msgspec import Struct, field

from kvforensics.engine.lines import EngineLine
from kvforensics.engine.proof import Proof, is_anchored, proof_of
from kvforensics.engine.server_args import ServerArgs, read_server_args
from kvforensics.engine.version import Version, named_version

QUARTER_US = 900_000_000
SAME_START_US = 120_000_000
MAX_SHAPES = 64
WANTED = re.compile(
    rb"server_args=|max_total_num_tokens=|#tokens: |Post-capture KV sizing|context_len|chunk cache for decode server"
    rb"|Radix cache is enabled for decode|install_canary: |aggregation (?:mode )?warmup|fired up and ready"
    rb"|exceeds the maximum allowed length|Truncated\. len\(req|KV pool holds|#(?:bootstrap|unbootstrapped|inflight"
    rb"|transferring)-req|pre-allocated usage|Req ?Time ?Stats\(|Load weight end|[Ss]glang[- ]version|Deferred KV release"
    rb"|Tree cache initialized|Cache flushed|request\.finished|\"?version\"?: ?\""
)
_SERVER_ARGS = re.compile(r"server_args=(?:ServerArgs\(|\{)")
_CAPACITY = re.compile(r"max_total_num_tokens=(\d{1,18})(?!\d)")
_CONTEXT = re.compile(r"context_len=(\d{1,18})(?!\d)")
_ALLOCATED = re.compile(r"(.*?)KV Cache is allocated\. (?:dtype: [^,]+, )?#tokens: (\d{1,18})(?!\d)")
_CAPTURED = re.compile(r"Post-capture KV sizing: KV cache allocated\. (?:dtype: [^,]+, )?#tokens: (\d{1,18})(?!\d)")
_CAPTURED_LAYERS = re.compile(r"Post-capture KV sizing: full_layer_tokens=(\d{1,18}), swa_layer_tokens=(\d{1,18})(?!\d)")
_WARNED = re.compile(r"KV pool holds (\d{1,18}) tokens, fewer than --context-length (\d{1,18})(?!\d)")
_CHUNK = re.compile(r"KV cache is forced as chunk cache for decode server")
_RADIX = re.compile(r"EXPERIMENTAL: Radix cache is enabled for decode server")
_CANARY = re.compile(r"install_canary: disaggregation_mode=(\w+)")
_WARMUP = re.compile(r"End of prefill disaggregation mode warmup")
_READY = re.compile(r"The server is fired up and ready to roll!")
_REJECTED = re.compile(r"Input length \((\d{1,18}) tokens\) exceeds the maximum allowed length \((\d{1,18}) tokens\)")
_TRUNCATED = re.compile(r"Request length is longer than .{0,90}Truncated\. len\(req\.origin_input_ids\)=(\d{1,18}), "
                        r"max_req_input_len=(\d{1,18})(?!\d)")  # fmt: skip
_PREFILL = re.compile(r"Prefill batch[.,].*#(?:bootstrap|unbootstrapped|inflight|transferring|prealloc)-req")
_DECODE = re.compile(r"Decode batch.*?#(?:full )?token: (\d{1,18}), (?:full )?token usage: (\d{1,3}\.\d{1,9}).*"
                     r"pre-allocated usage")  # fmt: skip
_DECODE_ROLE = re.compile(r"Decode batch.*pre-allocated usage")
_STATS = re.compile(r"Req ?Time ?Stats\(rid=.*?type=(prefill|decode|unified)\)")
_ENTRY = re.compile(r"entry_time=(\d{9,10}\.\d{1,12})")
LONGEST = 4_000
"""Characters of a run-time line that are looked at: longer ones hold texts of requests."""
_DURATION = re.compile(r"\b\w{1,40}_duration[=(](\d{1,12}(?:\.\d{1,12})?)ms")
_MODEL = re.compile(r"Load weight end\..*?type=(\w+)")
_RELEASED = re.compile(r"Deferred KV release for room \S+ timed out")
_FINISHED = re.compile(r'"timestamp": ?"([^"]{19,26})".*"request_finished_ts": ?(\d{9,10}\.\d{1,12})')


class Pool(Struct, frozen=True):
    """A pool size that a line tells. `ranks` tells who said it; `context` is in the same line or None."""

    tokens: int
    context: int | None
    ranks: str
    proof: Proof


class NodeStart(Struct):
    """Everything that one start of a node told. Times are microseconds; `local_us` is naive local time."""

    node: str
    source: str
    line: int
    began: bool
    """Whether the start itself is in the evidence; otherwise these are lines of a node that was running already."""
    local_us: int | None = None
    utc_us: int | None = None
    last_local_us: int | None = None
    args: ServerArgs | None = None
    args_proof: Proof | None = None
    capacities: list[Pool] = field(default_factory=list)
    captured: list[Pool] = field(default_factory=list)
    allocated: list[Pool] = field(default_factory=list)
    swa_tokens: int | None = None
    warned: Pool | None = None
    usages: list[tuple[float, float, Proof]] = field(default_factory=list)
    limits: Counter[int] = field(default_factory=Counter)
    limit_proof: Proof | None = None
    longest_rejected: int | None = None
    truncations: int = 0
    truncation_proof: Proof | None = None
    role_hints: Counter[str] = field(default_factory=Counter)
    role_proof: Proof | None = None
    canaries: set[str] = field(default_factory=set)
    canary_proof: Proof | None = None
    ready: bool = False
    released_late: int = 0
    released_proof: Proof | None = None
    model_class: str | None = None
    offsets: Counter[int] = field(default_factory=Counter)
    shapes: list[str] = field(default_factory=list)
    named: Version | None = None
    flushes: int = 0


class StartReader:
    """Reads the lines of one source, and keeps what each start of each node told."""

    def __init__(self) -> None:
        self.starts: list[NodeStart] = []
        """In the order of their first lines."""
        self._open: dict[str, NodeStart] = {}

    def take(self, line: EngineLine) -> None:
        """Read one line that holds something `WANTED`."""
        start = self._open.get(line.node)
        if start is None or _begins_another(start, line):
            start = NodeStart(line.node, line.source, line.line, began=False)
            self._open[line.node] = start
            self.starts.append(start)
        _take(start, line)


def _begins_another(start: NodeStart, line: EngineLine) -> bool:
    args = _settings(line.text)
    if args is not None:
        copy = start.args == args and _near(start.local_us, line.local_us)
        return not copy and (start.args is not None or bool(start.capacities) or bool(start.limits) or start.ready)
    capacity = _CAPACITY.match(line.text)
    if capacity is None:
        return False
    ranks = _ranks(line)
    for pool in start.capacities:
        if pool.ranks == ranks:
            return pool.tokens != int(capacity[1]) or not _near(start.last_local_us, line.local_us)
    return False


def _settings(text: str) -> ServerArgs | None:
    """The settings of a start, where the engine itself printed any on this line."""
    found = _SERVER_ARGS.search(text)
    args = read_server_args(text) if found and is_anchored(text, found.start()) else None
    return args if args is not None and args.keys else None


def _near(one: int | None, other: int | None) -> bool:
    return one is None or other is None or abs(one - other) <= SAME_START_US


def _ranks(line: EngineLine) -> str:
    return " ".join(f"{name}{number}" for name, number in line.ranks)


def _take(start: NodeStart, line: EngineLine) -> None:
    text = line.text
    # What a request holds is quoted in these lines; of them only times are read.
    if text.startswith(("Receive", "Finish", "{")):
        _offset_of_record(start, text)
        return
    started = _started(start, line)
    if started and start.local_us is None and start.utc_us is None:
        start.local_us, start.utc_us = line.local_us, line.utc_us
    start.began = start.began or started
    if line.local_us is not None:
        start.last_local_us = line.local_us
        if line.utc_us is not None:
            _vote(start, line.local_us, line.utc_us, slack_us=SAME_START_US)
    if not started:
        _running(start, line)
    if len(start.shapes) < MAX_SHAPES and not _SERVER_ARGS.search(text):
        shape = re.sub(r"\d+", "0", text)[:80]
        if all(re.sub(r"\d+", "0", seen)[:80] != shape for seen in start.shapes):
            start.shapes.append(text[:300])


def _started(start: NodeStart, line: EngineLine) -> bool:
    text = line.text
    if (args := _settings(text)) is not None:
        start.args = args
        told = f"server_args= with {len(args.keys)} settings" + ("" if args.whole else ", cut")
        start.args_proof = proof_of(line, told)
        return True
    if (found := _CAPACITY.search(text)) and is_anchored(text, found.start()):
        context = _CONTEXT.search(text)
        excerpt = found[0] + (f" ... {context[0]}" if context else "")
        pool = Pool(int(found[1]), int(context[1]) if context else None, _ranks(line), proof_of(line, excerpt))
        if all(p.ranks != pool.ranks for p in start.capacities):
            start.capacities.append(pool)
        return True
    if found := _CAPTURED.match(text):
        start.captured.append(Pool(int(found[1]), None, _ranks(line), proof_of(line, found[0])))
    elif found := _CAPTURED_LAYERS.match(text):
        start.captured.append(Pool(int(found[1]), None, _ranks(line), proof_of(line, found[0])))
        start.swa_tokens = int(found[2]) or start.swa_tokens
    elif (found := _ALLOCATED.match(text)) and len(found[1]) < 60:
        # A labelled pool belongs to a draft model or to another kind of state.
        if not found[1].strip(" *"):
            start.allocated.append(Pool(int(found[2]), None, _ranks(line), proof_of(line, found[0])))
    elif found := _WARNED.match(text):
        start.warned = Pool(int(found[1]), int(found[2]), _ranks(line), proof_of(line, found[0]))
    elif found := _CHUNK.match(text) or _RADIX.match(text):
        _hint(start, line, "decode", found[0])
    elif found := _CANARY.match(text):
        start.canaries.add(_ranks(line))
        start.canary_proof = start.canary_proof or proof_of(line, found[0])
        if found[1] in ("prefill", "decode"):
            _hint(start, line, found[1], found[0])
    elif found := _WARMUP.match(text):
        _hint(start, line, "prefill", found[0])
    elif _READY.match(text):
        start.ready = True
    elif found := _MODEL.match(text):
        start.model_class = found[1]
    elif (version := named_version(text[:300])) is not None:
        start.named = version
    else:
        return False
    return True


def _running(start: NodeStart, line: EngineLine) -> None:
    text = line.text[:LONGEST]
    if found := _REJECTED.match(text):
        start.limits[int(found[2])] += 1
        start.limit_proof = start.limit_proof or proof_of(line, found[0])
        start.longest_rejected = max(int(found[1]), start.longest_rejected or 0)
    elif found := _TRUNCATED.match(text):
        start.truncations += 1
        start.limits[int(found[2])] += 1
        start.truncation_proof = start.truncation_proof or proof_of(line, found[0])
    elif found := _PREFILL.match(text):
        _hint(start, line, "prefill", found[0].split(",")[0] + " ... #bootstrap-req")
    elif _DECODE_ROLE.match(text):
        _hint(start, line, "decode", "Decode batch ... pre-allocated usage")
        if (used := _DECODE.match(text)) and len(start.usages) < 4096:
            _usage(start, line, int(used[1]), float(used[2]))
    elif found := _STATS.match(text):
        if found[1] != "unified":
            _hint(start, line, found[1], f"type={found[1]}")
        entry = _ENTRY.search(text)
        if entry and line.local_us is not None:
            took = sum(float(d) for d in _DURATION.findall(text)) * 1_000
            _vote(start, line.local_us, int(float(entry[1]) * 1_000_000 + took), slack_us=SAME_START_US)
    elif _RELEASED.match(text):
        start.released_late += 1
        start.released_proof = start.released_proof or proof_of(line, "Deferred KV release ... timed out")
    elif text.startswith("Cache flushed successfully"):
        start.flushes += 1


def _usage(start: NodeStart, line: EngineLine, tokens: int, usage: float) -> None:
    """Two decimals of a ratio bound the pool."""
    if usage >= 0.05 and tokens > 0:
        proof = proof_of(line, f"#token: {tokens}, token usage: {usage:.2f}")
        start.usages.append((tokens / (usage + 0.005), tokens / (usage - 0.005), proof))


def _hint(start: NodeStart, line: EngineLine, role: str, why: str) -> None:
    start.role_hints[role] += 1
    start.role_proof = start.role_proof or proof_of(line, why)


def _vote(start: NodeStart, local_us: int, utc_us: int, *, slack_us: int) -> None:
    """One more clue for the offset of the node's local time: offsets are whole quarters of an hour."""
    offset = round((local_us - utc_us) / QUARTER_US) * QUARTER_US
    if abs(local_us - utc_us - offset) <= slack_us and abs(offset) <= 14 * 4 * QUARTER_US:
        start.offsets[offset] += 1


def _offset_of_record(start: NodeStart, text: str) -> None:
    found = _FINISHED.search(text[:200] + text[-4000:]) if text.startswith("{") else None
    if found:
        try:
            moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
        except ValueError:
            return
        _vote(start, int(moment.timestamp() * 1e6), int(float(found[2]) * 1e6), slack_us=SAME_START_US)
