"""What is each record, and what does that add up to?

Runs the queries in order. What a part means, what ties records to one call and what is counted is written in the
queries; here is only the order, the loops that run until nothing changes, and the values that come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct

from kvforensics.alias import KINDS, Aliases
from kvforensics.catalog import Value, query
from kvforensics.counting import Ask, count_all, one_row, warnings_of
from kvforensics.counts import Counts, Settled
from kvforensics.errors import EvidenceError
from kvforensics.exclusion import ExclusionRule, match_client_ips
from kvforensics.store import Store

if TYPE_CHECKING:
    from kvforensics.incident import Incident

_RULES = pa.schema(
    [("rule_id", pa.string()), ("ordinal", pa.int64()), ("valid_from", pa.int64()), ("valid_until", pa.int64())]
)
_RULE_VALUES = pa.schema([("rule_id", pa.string()), ("field", pa.string()), ("value", pa.string())])
_ALIASES = pa.schema([("kind", pa.string()), ("value", pa.string()), ("tenant", pa.string()), ("rank", pa.int64())])
_RULE_IPS = pa.schema([("rule_id", pa.string()), ("client_ip", pa.string())])
_THRESHOLDS = pa.schema([
    ("node", pa.string()), ("since_us", pa.int64()), ("until_us", pa.int64()), ("prompt_tokens_over", pa.int64()),
    ("uncertain_from", pa.int64()),
])  # fmt: skip
_NO_THRESHOLDS = pa.schema([
    ("source", pa.string()), ("line", pa.int64()), ("prompt_tokens_over", pa.int64()), ("uncertain_from", pa.int64()),
]).empty_table()  # fmt: skip
_NO_MATCHES = pa.schema([
    ("rule_id", pa.string()), ("ordinal", pa.int64()), ("n", pa.int64()), ("holds", pa.bool_()),
]).empty_table()  # fmt: skip
_NO_DUPLICATES = pa.schema([("call", pa.int64()), ("twin", pa.int64())]).empty_table()
_NONE_SETTLED = Settled()
_AUDITS = (
    "901_every_record_once", "902_every_call_counted_once", "903_no_affected_without_proof",
    "904_duplicates_point_to_a_counted_record",
)  # fmt: skip


class Judgement(Struct, frozen=True):
    """Findings in total order (every record that is not outside), counts, and warnings as (code, message).

    `findings` has the canonical columns, then `disposition`, the four parts, `excluded_by` and `duplicate_of`; `tenant` is that
    of the call, `replay_of` and `duplicate_of` are `source:line` where the other record is in the evidence. `rounds` is how
    often ties were followed. `context` are source and line of the records of other models that this leaned on.
    """

    findings: pa.Table
    counts: Counts
    warnings: tuple[tuple[str, str], ...]
    rounds: int
    context: pa.Table


def judge(
    store: Store,
    incident: Incident,
    rules: Sequence[ExclusionRule] = (),
    *,
    off_model_dropped: int = 0,
    settled: Settled = _NONE_SETTLED,
    sampled: bool = False,
    ask: Ask = query,
    aliases: Aliases | None = None,
) -> Judgement:
    """Judge the relation `records` of the store.

    `off_model_dropped` is the number of records on other models that the reader counted but did not keep, `settled` those
    of records which are outside whatever else is known, `sampled` whether a sampled source leaves the
    counts without an upper bound, `aliases` say which keys, users and accounts are one tenant, `ask` gives a query by its
    stem. Raises `EvidenceError` where the sums do not add up.
    """
    _register_rules(store, ask, rules)
    register_aliases(store, aliases)
    _create(store, ask, ("sources", "001_sources"))
    part(store, incident, ask=ask)
    rounds = _tie(store, ask)
    _create(store, ask, ("members", "210_members"), ("calls", "220_calls"), ("replay_targets", "230_replay_targets"))
    _verdicts(store, ask, rules, aliases)
    _dispositions(store, ask)
    for stem in _AUDITS:
        if broken := store.run(ask(stem)).num_rows:
            raise EvidenceError(f"the judgement does not add up: {broken} rows", where=stem)
    counts = count_all(store, ask, rules, off_model_dropped, settled, sampled=sampled)
    findings = store.run(ask("270_findings"))
    context = store.run(ask("280_context"))
    return Judgement(findings, counts, tuple(warnings_of(store, ask, counts)), rounds, context)


def judge_again(
    store: Store, incident: Incident, rules: Sequence[ExclusionRule], aliases: Aliases | None, *, parted: bool = False
) -> None:
    """Judge `records` anew where `sources`, `labels` and `replay_targets` are known from an earlier judgement.

    Ties between records rest on their ids and on what was answered, so a changed window, threshold, zone or rule leaves them
    as they are. `parted` says that the relation `parts` is that of the incident already. Ends in the relation
    `dispositions`.
    """
    _register_rules(store, query, rules)
    register_aliases(store, aliases)
    if not parted:
        part(store, incident)
    _create(store, query, ("members", "210_members"), ("calls", "220_calls"))
    _verdicts(store, query, rules, aliases)
    _dispositions(store, query)


def without_rule(store: Store, rule_id: str | None) -> None:
    """Dispose of the calls again as if one rule, or with None every rule, had never been written.

    `all_rule_matches` are the matches of every rule.
    """
    store.create_table_as("rule_matches", query("322_matches_without_rule"), {"rule_id": rule_id})
    _dispositions(store, query)


def part(store: Store, incident: Incident, name: str = "parts", ask: Ask = query) -> None:
    """Make the relation `name`: the four parts of each record, judged by the threshold of the node that served it."""
    thresholds: list[dict[str, Value]] = [
        {"node": host.lower(), "since_us": n.since_us, "until_us": n.until_us,
         "prompt_tokens_over": n.prompt_tokens_over, "uncertain_from": n.uncertain_from}
        for n in incident.nodes for host in n.names
    ]  # fmt: skip
    store.register("node_thresholds", pa.Table.from_pylist(thresholds, schema=_THRESHOLDS))
    own: dict[str, Value] = {"prompt_tokens_over": incident.prompt_tokens_over, "uncertain_from": incident.uncertain_from}
    if thresholds:
        store.create_table_as("thresholds", ask("105_thresholds"), own)
    else:
        store.register("thresholds", _NO_THRESHOLDS)
    store.create_table_as(name, ask("110_parts"), {
        "start_us": incident.start_us,
        "end_us": incident.end_us,
        "uncertain_until_us": incident.uncertain_until_us,
        **own,
    })  # fmt: skip


def _verdicts(store: Store, ask: Ask, rules: Sequence[ExclusionRule], aliases: Aliases | None) -> None:
    if aliases is not None:
        _create(store, ask, ("calls", "221_aliased_calls"))
    _create(store, ask, ("verdicts", "231_verdicts"))
    if rules:
        _create(store, ask, ("rule_matches", "240_rule_matches"))
    else:
        store.register("rule_matches", _NO_MATCHES)


def _dispositions(store: Store, ask: Ask) -> None:
    _create(store, ask, ("excluded_calls", "241_excluded_calls"))
    # In most logs there are none, and to plan the later questions takes longer than to see that.
    alike = store.create_table_as("alike_calls", ask("245_alike_calls"))
    if alike and store.create_table_as("compared_calls", ask("246_compared_calls")):
        _create(store, ask, ("possible_duplicates", "250_possible_duplicates"))
    else:
        store.register("possible_duplicates", _NO_DUPLICATES)
    _create(store, ask, ("dispositions", "260_dispositions"))


def _create(store: Store, ask: Ask, *named: tuple[str, str]) -> None:
    for name, stem in named:
        store.create_table_as(name, ask(stem))


def register_aliases(store: Store, aliases: Aliases | None) -> None:
    """Make the aliases readable as the relation `aliases`."""
    rows = [
        {"kind": kind, "value": value, "tenant": tenant, "rank": KINDS.index(kind)}
        for kind, value, tenant in (aliases.entries if aliases else ())
    ]
    store.register("aliases", pa.Table.from_pylist(rows, schema=_ALIASES))


def _register_rules(store: Store, ask: Ask, rules: Sequence[ExclusionRule]) -> None:
    heads: list[dict[str, Value]] = [
        {"rule_id": r.id, "ordinal": i, "valid_from": r.valid_from_us, "valid_until": r.valid_until_us}
        for i, r in enumerate(rules)
    ]
    # A matcher with an empty list is kept as one that nothing equals: dropping it would let the rule match more.
    values: list[dict[str, Value]] = [
        {"rule_id": r.id, "field": field, "value": value}
        for r in rules for field, texts in r.matchers for value in texts or (None,)
    ]  # fmt: skip
    pairs: list[tuple[str, str]] = []
    if any(field == "client_ip" for r in rules for field, _ in r.matchers):
        pairs = match_client_ips(rules, store.run(ask("002_client_ips"))["client_ip"].to_pylist())
    store.register("rules", pa.Table.from_pylist(heads, schema=_RULES))
    store.register("rule_values", pa.Table.from_pylist(values, schema=_RULE_VALUES))
    ips = [{"rule_id": rule_id, "client_ip": ip} for rule_id, ip in pairs]
    store.register("rule_ips", pa.Table.from_pylist(ips, schema=_RULE_IPS))


def _tie(store: Store, ask: Ask) -> int:
    """Follow ties until nothing changes; the number of rounds.

    Ids of a call come first. What they tie decides which ids of a request are unambiguous, and what those tie can
    settle others, so that is repeated until a look finds nothing.
    """
    shared = store.create_table_as("shared_ids", ask("201_shared_ids"))
    store.create_table_as("ties", ask("202_call_ties"))
    rounds = 0
    while True:
        if not store.create_table_as("labels", ask("203_labels_first")) and not shared:
            return rounds
        before = None
        while (total := one_row(store, ask, "205_labels_sum")["total"]) != before:
            before = total
            store.create_table_as("labels", ask("204_labels_next"))
            rounds += 1
        store.create_table_as("contested_ids", ask("206_contested_ids"))
        if not store.create_table_as("request_ties", ask("207_request_ties")):
            return rounds
        store.create_table_as("ties", ask("209_ties_joined"))
