"""What is a log format, as data?

A `Format` says where each canonical field is, how its time and its cached tokens are to be read, what the log cannot
show, and what it looks like. It holds no code. `raw.py` runs one over parsed records.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

SLOTS = (
    "record_id", "start", "end", "stamp", "duration", "model", "provider", "host", "prompt", "cache_read", "cache_write",
    "completion", "total", "request_bytes", "request_encoding", "http_status", "success", "state", "error", "output",
    "from_cache", "replay_of", "tenant", "key", "user", "client_ip", "user_agent", "tag", "node", "sample_interval",
    "answer_model", "first_token", "first_token_at", "response_bytes", "finish_reason", "requests", "bucket",
)  # fmt: skip
ID_KINDS = (
    "cf_aig_log_id", "cf_ai_req_id", "response_id", "cf_ray", "upstream_id", "request_id", "x_request_id",
    "litellm_call_id", "cf_aig_otel_trace_id", "cf_aig_event_id", "trace_id", "span_id", "parent_span_id",
)  # fmt: skip
CONTAINERS = ("lines", "json", "csv", "parquet", "text")


class BlindSpot(Struct, frozen=True):
    """Something that a log cannot show. `hides_long` is true where a record of a very long prompt may be missing."""

    code: str
    text: str
    hides_long: bool = False


class Format(Struct, frozen=True):
    """One log format. Paths are tried in order and the first that is not null wins; see `paths` and `value_reading`."""

    name: str
    title: str
    containers: tuple[str, ...]
    signature: tuple[tuple[str, ...], ...]
    """Alternatives; a record is of the format if every path of one alternative is present (null counts, `!x` forbids)."""
    fields: Mapping[str, tuple[str, ...]]
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: tuple[str, ...] = ("[]", "")
    """Envelope paths in JSON documents; see `framing_json`."""
    zone: str | None = None
    """The zone of times without offset where the format's own documentation tells it (`UTC`), else None."""
    duration_unit: str = "ms"
    stand_ins: tuple[str, ...] = ()
    """Paths of `prompt` that count something else (a whole trace, by another tokenizer), so that they contradict no count."""
    cache_rule: str = "unknown"
    """`inclusive`, `exclusive` or `unknown`: does the prompt count include tokens read from the provider's cache?

    In `cache_rules` there are two more. `split`: exclusive, as the shape of the counts tells, and no total belongs to them.
    `unproven`: unknown, a total proves nothing, and cached counts that are not there may be missing.
    """
    own_total: bool = True
    """Whether `total` is the provider's own sum; a sum made by the logging product proves nothing."""
    total_is_sum: bool = False
    """Whether a total that nobody sent is the sum of all buckets: an equal one then proves nothing, a smaller one that the
    prompt count includes its cached part."""
    cache_visible: bool = True
    cache_always_told: bool = False
    """Whether a record of a complete export tells its cached counts, if only as 0: one that does not leaves them open."""
    provider_serves: bool = False
    """Whether `provider` says who served the call, rather than a protocol or client library."""
    ok_states: tuple[str, ...] = ("success", "ok", "completed")
    failed_states: tuple[str, ...] = ("failure", "error", "failed")
    aborted_states: tuple[str, ...] = ("cancelled", "canceled", "aborted")
    unset_states: tuple[str, ...] = ("unset",)
    view: str = ""
    """The name of the reading in `views` that is made of a unit before paths are tried, empty for the unit as it is."""
    requests: tuple[tuple[str, ...], ...] = ()
    """Alternatives of terms (see `terms`): a unit that meets none is framing, not a model call; empty where every unit is."""
    sums: tuple[tuple[str, ...], ...] = ()
    """Alternatives of terms: a unit that meets one may add up several model calls, so that its counts only bound each."""
    cache_rules: tuple[tuple[str, str], ...] = ()
    """(term, rule): the first path that leads to a value, or to one of a form (`a.b=form*`), gives the rule of a record."""
    framing: tuple[tuple[str, str], ...] = ()
    """(path, value): a unit that has this value is framing, not a record of its own.

    `*` is any value but null, `!x` any value but null and x.
    """
    opening: tuple[str, str, str] | None = None
    """(path, value, key path): a unit that has this value announces the request that a later unit with the same key tells.

    The two are one record at the line of the first, with the first's own plain values under `opening`; see `openings`.
    """
    holds_prompts: bool = True
    """Whether a record may hold the prompt itself, so that a limit on the length of lines loses those with long prompts."""
    nothing: tuple[str, ...] = ()
    """Texts by which this log says that it has no value, such as `-`."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Slots whose value is a fact of the format (such as the provider), used where no path gives one."""
    pattern: tuple[str, ...] = ()
    """Of text logs: regular expressions with named groups (the syntax that Rust and RE2 share), tried in order on a line
    without its colours. A line that matches one is a record {group: text}; `fields` and `ids` name the groups."""
    chatter: bool = False
    """Whether its lines name neither a model nor tokens, as an engine's own text does: framing, and nothing to be judged."""
    speaks: tuple[str, ...] = ()
    """Formats whose lines are this log's own talk in a source that is mostly of this format: there they are framing."""
    beside: tuple[str, ...] = ()
    """Formats whose records may come in a source of this one long after its start, where no sample shows them."""
    aggregates: bool = False
    """Whether every unit is a sum over several requests: framing that can bound but never flag.

    Then `stamp` is the start of the unit's bucket, `prompt` (and `cache_read`, `cache_write` where the sum leaves them out) its
    input tokens, `requests` how many requests it holds. Its length is that of the path of `buckets` which gave the stamp, else
    what the slot `bucket` says (`60s`, `1h`, `24h`, `1d`, or seconds).
    """
    buckets: Mapping[str, str] = field(default_factory=dict)
    """Paths of a bucket's start, finest first, each with its length."""
    tenant_says: str = "nothing in this log names a tenant"
    blind_spots: tuple[BlindSpot, ...] = ()
    export: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
