"""Which versions can have written this log?

The version is never logged at start. Which settings the `server_args=` line has, and how lines are worded, brackets it:
the table is read from the released Python packages 0.4.6.post5 to 0.5.23; "at least" is relative to the versions read.
An operator can back-port patches, so this brackets the base, not the state of its patches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.engine.server_args import ServerArgs

Version = tuple[int, int, int]
KEYS_SINCE: Mapping[str, Version] = {
    "radix_eviction_policy": (0, 5, 5),
    "log_requests_format": (0, 5, 8), "export_metrics_to_file": (0, 5, 8),
    "uvicorn_access_log_exclude_prefixes": (0, 5, 8),
    "disaggregation_decode_enable_radix_cache": (0, 5, 11), "attn_cp_size": (0, 5, 11), "moe_dp_size": (0, 5, 11),
    "kv_canary": (0, 5, 13),
    "disaggregation_decode_extra_slots": (0, 5, 15),
    "disaggregation_decode_retraction_backup": (0, 5, 18), "retraction_policy": (0, 5, 18),
    "hicache_host_memory_mode": (0, 5, 19),
    "radix_eviction_policy_config": (0, 5, 20),
    "disaggregation_enable_kv_checksum": (0, 5, 21),
    "attn_dp_size": (0, 5, 22), "enable_kv_cache_sharding": (0, 5, 22),
    "paged_experts_num_resident": (0, 5, 23),
}  # fmt: skip
KEYS_BELOW: Mapping[str, Version] = {
    "pdlb_url": (0, 5, 2),
    "disaggregation_prefill_pp": (0, 5, 11), "disaggregation_decode_tp": (0, 5, 11),
    "nsa_prefill_backend": (0, 5, 13),
    "cuda_graph_max_bs": (0, 5, 15),
    "torchao_config": (0, 5, 18), "optimistic_prefill_retries": (0, 5, 18),
    "dsa_prefill_cp_mode": (0, 5, 20),
    "elastic_ep_rejoin": (0, 5, 21),
}  # fmt: skip
DICTIONARY_SINCE: Version = (0, 5, 19)
WORDED_SINCE: tuple[tuple[str, Version], ...] = (
    (r"available_gpu_mem=", (0, 4, 10)),
    (r"KV Cache VA upper bound", (0, 5, 18)),
    (r"Post-capture KV sizing", (0, 5, 18)),
    (r"Tree cache initialized: ", (0, 5, 13)),
    (r"install_canary: disaggregation_mode=", (0, 5, 13)),
    (r"KV pool holds \d+ tokens, fewer than --context-length", (0, 5, 23)),
    (r"ReqTimeStats\(rid=", (0, 5, 13)),
    (r"Prefill batch, #", (0, 5, 5)),
    (r"Disaggregation warmup request completed", (0, 5, 11)),
)
WORDED_BELOW: tuple[tuple[str, Version], ...] = (
    (r"Req Time Stats\(rid=", (0, 5, 13)),
    (r"Prefill batch\. #", (0, 5, 5)),
    (r"End of prefill disaggregation mode warmup", (0, 5, 11)),
    (r"^max_total_num_tokens=\d+, chunked_prefill_size.*context_len=\d+$", (0, 4, 10)),
)
# A whole line of the oldest version read has more settings than this; a shorter one was trimmed by somebody, so that a
# missing setting says nothing.
WHOLE_LINE_SETTINGS = 120
_SINCE = tuple((re.compile(text), version) for text, version in WORDED_SINCE)
_BELOW = tuple((re.compile(text), version) for text, version in WORDED_BELOW)
_NAMED = re.compile(
    r"sglang(?:\s+version:?\s*|[\"']?\s*[:=]{1,2}\s*[\"']?v?|:v)(\d+)\.(\d+)\.(\d+)|"
    r"[\"']version[\"']\s*:\s*[\"'](\d+)\.(\d+)\.(\d+)",
)


class Bracket(Struct, frozen=True):
    """The versions that are possible: `at_least` inclusive, `below` exclusive, None where nothing bounds them."""

    at_least: Version | None = None
    below: Version | None = None
    basis: tuple[str, ...] = ()

    def since(self, version: Version) -> bool | None:
        """Whether the version is this one or later; None where the bracket holds both."""
        if self.at_least is not None and self.at_least >= version:
            return True
        if self.below is not None and self.below <= version:
            return False
        return None

    @property
    def contradictory(self) -> bool:
        """Whether the clues exclude each other: several versions, or a patched one."""
        return self.at_least is not None and self.below is not None and self.at_least >= self.below

    def at_or_above(self, version: Version, why: str) -> Bracket:
        """The same with another lower bound, where it is higher."""
        if self.at_least is not None and self.at_least >= version:
            return self
        return replace(self, at_least=version, basis=(*self.basis, f"{why}: {written(version)} or later"))

    def under(self, version: Version, why: str) -> Bracket:
        """The same with another upper bound, where it is lower."""
        if self.below is not None and self.below <= version:
            return self
        return replace(self, below=version, basis=(*self.basis, f"{why}: before {written(version)}"))


def written(version: Version) -> str:
    """The version as people write it."""
    return ".".join(str(part) for part in version)


def bracket(args: ServerArgs | None, texts: Iterable[str], named: Version | None = None) -> Bracket:
    """The bracket that settings and wordings give. `named` is a version that the operator's own evidence names."""
    found = Bracket()
    if named is not None:
        return Bracket(named, (named[0], named[1], named[2] + 1), (f"named: {written(named)}",))
    if args is not None:
        found = _by_settings(found, args)
    for text in texts:
        for pattern, version in _SINCE:
            if (found.at_least or (0, 0, 0)) < version and pattern.search(text):
                found = found.at_or_above(version, f"wording {pattern.pattern!r}")
        for pattern, version in _BELOW:
            if pattern.search(text):
                found = found.under(version, f"wording {pattern.pattern!r}")
    return found


def _by_settings(found: Bracket, args: ServerArgs) -> Bracket:
    for key, version in sorted(KEYS_SINCE.items(), key=lambda item: item[1], reverse=True):
        if key in args.keys:
            found = found.at_or_above(version, f"setting {key}")
    if args.dictionary:
        found = found.at_or_above(DICTIONARY_SINCE, "settings shown as a dictionary")
    else:
        found = found.under(DICTIONARY_SINCE, "settings shown as ServerArgs(...)")
    for key, version in sorted(KEYS_BELOW.items(), key=lambda item: item[1]):
        if key in args.keys:
            found = found.under(version, f"setting {key}")
    if args.whole and len(args.keys) >= WHOLE_LINE_SETTINGS:
        for key, version in sorted(KEYS_SINCE.items(), key=lambda item: item[1]):
            if key not in args.keys and (found.at_least is None or found.at_least < version):
                found = found.under(version, f"no setting {key} in a whole line")
    return found


def named_version(text: str) -> Version | None:
    """A version that a text names: server info, command line, image tag."""
    found = _NAMED.search(text)
    if not found:
        return None
    parts = [int(p) for p in found.groups() if p is not None]
    return parts[0], parts[1], parts[2]
