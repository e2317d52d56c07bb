"""Which settings does a `server_args=` line show?

Up to 0.5.18 the line is the repr of a dataclass, `ServerArgs(key=value, ...)`; from 0.5.19 on the repr of a dictionary
(`srt/entrypoints/engine.py` of the released packages). It is scanned, never evaluated, and only the settings named here
are kept, so that keys and passwords in it go no further. A line that breaks off gives what stands before the break.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from kvforensics.engine.literals import Literal, pairs, scalar

KEPT = frozenset({
    "allow_auto_truncate", "attention_backend", "attn_cp_size", "attn_dp_size", "context_length", "dcp_size",
    "decode_context_parallel_size", "attn_dcp_size", "device", "disable_radix_cache", "disaggregation_bootstrap_port",
    "disaggregation_decode_allocation_policy", "enable_unified_memory",
    "disaggregation_decode_enable_offload_kvcache", "disaggregation_decode_enable_radix_cache",
    "disaggregation_enable_kv_checksum", "disaggregation_mode", "disaggregation_transfer_backend", "dist_init_addr",
    "dllm_algorithm", "dp_size", "enable_dp_attention", "enable_hierarchical_cache", "enable_hisparse",
    "enable_kv_cache_sharding", "enable_request_time_stats_logging", "ep_size", "export_metrics_to_file", "host",
    "kv_canary", "kv_canary_real_data", "kv_canary_sweep_interval", "load_balance_method", "log_requests",
    "log_requests_format", "log_requests_level", "max_running_requests", "max_total_tokens", "mem_fraction_static",
    "moe_dp_size", "nnodes", "node_rank", "num_reserved_decode_tokens", "page_size", "port", "pp_size",
    "radix_eviction_policy", "served_model_name", "speculative_algorithm", "swa_full_tokens_ratio", "tp_size",
})  # fmt: skip


class ServerArgs(Struct, frozen=True):
    """The settings of one start.

    `keys` are the names of all settings of the line, which bracket the version; `values` those that are kept. `whole` says
    whether the line was read to its end, `dictionary` that it has the newer shape.
    """

    keys: frozenset[str]
    whole: bool
    dictionary: bool
    values: Mapping[str, Literal] = field(default_factory=dict)

    def told(self, key: str) -> bool:
        """Whether the line tells this setting."""
        return key in self.values

    def number(self, key: str) -> int | None:
        """A setting as a whole number, None where it is not told, is none, or is no number."""
        value = self.values.get(key)
        return value if type(value) is int else None

    def text(self, key: str) -> str | None:
        """A setting as text, None where it is not told or no text."""
        value = self.values.get(key)
        return value if type(value) is str else None

    def flag(self, key: str) -> bool | None:
        """A switch, None where it is not told."""
        value = self.values.get(key)
        return value if type(value) is bool else None


def read_server_args(text: str) -> ServerArgs | None:
    """The settings in a line that holds `server_args=`; None where it holds no such thing."""
    start = text.find("server_args=")
    if start < 0:
        return None
    at = start + len("server_args=")
    if text.startswith("ServerArgs(", at):
        at, dictionary = at + len("ServerArgs("), False
    elif text.startswith("{", at):
        at, dictionary = at + 1, True
    else:
        return None
    keys: set[str] = set()
    values: dict[str, Literal] = {}
    for key, begin, end in pairs(text, at):
        if not key:
            return ServerArgs(frozenset(keys), begin >= 0, dictionary, values)
        keys.add(key)
        if key in KEPT:
            known, value = scalar(text[begin:end])
            if known:
                values[key] = value
    return None
