"""From which prompt length on does a node reject, and so may answer from stale memory?

`max_req_input_len = min(context - 1, capacity - 1) - 5`, and a prompt of that length is refused too: the first rejected
length is `min(context, pool) - 6` (`srt/managers/tp_worker.py`, `get_worker_info`). What counts as capacity differs by
version; where the version is not settled, both readings are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kvforensics.engine.server_args import ServerArgs
from kvforensics.engine.version import Bracket

MARGIN = 6


class Range(Struct, frozen=True):
    """A number of tokens between two ends, both inclusive; None where nobody can say."""

    low: int | None = None
    high: int | None = None

    @property
    def exact(self) -> int | None:
        """The number, where it is settled."""
        return self.low if self.low == self.high else None

    @property
    def told(self) -> bool:
        """Whether either end is known."""
        return self.low is not None or self.high is not None


class Limit(Struct, frozen=True):
    """The first rejected length, how it was found, and which variants were considered."""

    tokens: Range
    basis: str
    notes: tuple[str, ...] = ()


def over_all(limits: Iterable[Range]) -> Range:
    """From which length on some of several nodes reject (`low`), and from which all do (`high`, None where one is not told).

    Where a node's lower end is not told, its upper end stands in: what lies below is not asked about.
    """
    told = [r for r in limits if r.told]
    lows = [low for r in told if (low := r.high if r.low is None else r.low) is not None]
    highs = [r.high for r in told]
    certain = None if None in highs or not highs else max(high for high in highs if high is not None)
    return Range(min(lows) if lows else None, certain)


def first_rejected(
    pool: Range,
    context: int | None,
    args: ServerArgs | None,
    version: Bracket,
    swa_tokens: int | None,
    observed: int | None,
) -> Limit:
    """The first rejected length. `observed` is the limit that the node itself printed with a rejection."""
    capacity, notes = _capacity(pool, args, version, swa_tokens)
    # A context that is not told can only make the limit lower; a pool that is not told likewise.
    ends_high = [end for end in (capacity.high, context) if end is not None]
    high = min(ends_high) - MARGIN if ends_high else None
    low = None
    if capacity.low is not None and context is not None:
        low = min(capacity.low, context) - MARGIN
    computed = Range(low if low is None or low > 0 else 0, high)
    if observed is None:
        return Limit(computed, "min(context, pool) - 6" if computed.told else "unknown", notes)
    if computed.exact is not None and computed.exact != observed:
        notes = (*notes, f"the node printed {observed}, min(context, pool) - 6 gives {computed.exact}")
    return Limit(Range(observed, observed), "printed with a rejection", notes)


def _capacity(
    pool: Range, args: ServerArgs | None, version: Bracket, swa_tokens: int | None
) -> tuple[Range, tuple[str, ...]]:
    low, high = pool.low, pool.high
    notes: list[str] = []
    if swa_tokens:
        notes.append("hybrid attention: 0.5.8 counts the smaller of both pools, later versions the full one")
        if version.since((0, 5, 11)) is not True and low is not None:
            low = min(low, swa_tokens)
    if args is None:
        return Range(low, high), tuple(notes)
    shards = max(args.number(k) or 1 for k in ("attn_dcp_size", "dcp_size", "decode_context_parallel_size"))
    if shards > 1:
        notes.append(f"decode context parallel over {shards}: 0.5.18 to 0.5.20 multiply the printed pool by it")
        scaled = version.since((0, 5, 21)) is not True and version.since((0, 5, 18)) is not False
        certain = version.since((0, 5, 18)) is True and version.since((0, 5, 21)) is False
        if scaled and high is not None:
            high *= shards
            low = low * shards if certain and low is not None else low
    if args.flag("enable_kv_cache_sharding"):
        notes.append("KV cache sharding: the capacity is the pool times a number of shards that is not printed")
        high = None
    if args.text("dllm_algorithm"):
        notes.append("diffusion model: the capacity is less by a block whose size is not printed")
        low = None
    return Range(low, high), tuple(notes)
