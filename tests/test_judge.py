"""Does the judge tie, count and exclude as the contract says?"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa
import pytest

from judged_evidence import SmallIncident, dispositions, judged, letters, table
from kvforensics.judge import judge
from kvforensics.store import Store

Row = dict[str, Any]


def responses(rows: list[Row], **more: Any) -> tuple[int, int, int, int | None]:
    r = judged(rows, **more).counts.responses
    return r.affected, r.possible, r.lower, r.upper


SERVED = [
    ({"http_status": 200}, True),
    ({"http_status": 204}, True),
    ({"http_status": 499}, None),
    ({"http_status": 400}, False),
    ({"http_status": 500, "has_output": True}, None),
    ({"http_status": 0, "outcome": "aborted"}, None),
    ({"http_status": 0}, None),
    ({"outcome": "aborted"}, None),
    ({"outcome": "ok"}, True),
    ({"outcome": "unset"}, None),
    ({"outcome": "unset", "has_output": True}, True),
    ({"outcome": "failed"}, False),
    ({"outcome": "failed", "error_status": 499}, None),
    ({"outcome": "failed", "error_status": 502}, False),
    ({"outcome": "failed", "error_status": 502, "has_output": True}, None),
    ({"error_status": 429}, False),
    ({}, None),
    ({"has_output": True}, True),
]


@pytest.mark.parametrize(("given", "expected"), SERVED)
def test_served_is_what_status_outcome_and_output_say(given: Row, expected: bool | None) -> None:
    result = judged([{"without": ["http_status"], **given}])
    word = {True: (1, 0), None: (0, 1), False: (0, 0)}[expected]
    assert (result.counts.responses.affected, result.counts.responses.possible) == word
    assert result.counts.outside.served == (expected is False)


WINDOW = [
    (1000, 1000, True),
    (999, 1000, None),
    (998, 999, False),
    (1999, 1999, True),
    (1999, 2000, None),
    (2000, 2000, None),
    (2099, 2099, None),
    (2100, 2100, False),
    (2099, 2100, None),
    (0, 9999, None),
    (1600, 1500, None),
]


@pytest.mark.parametrize(("earliest", "latest", "expected"), WINDOW)
def test_the_window_takes_the_whole_interval_of_starts(earliest: int, latest: int, expected: bool | None) -> None:
    result = judged([{"started_earliest": earliest * 1_000_000, "started_latest": latest * 1_000_000}])
    found = result.counts.responses
    assert (found.affected, found.possible, result.counts.outside.in_window) == (
        int(expected is True), int(expected is None), int(expected is False),
    )  # fmt: skip


TOKENS = [
    (1001, 1001, True), (1001, None, True), (1000, 1000, None), (995, 995, None), (994, 994, False), (None, 994, False),
    (None, 995, None), (0, 5000, None), (None, None, None), (5000, 10, None),
]  # fmt: skip


@pytest.mark.parametrize(("low", "high", "expected"), TOKENS)
def test_the_threshold_takes_the_whole_interval_of_tokens(
    low: int | None, high: int | None, expected: bool | None
) -> None:
    result = judged([{"prompt_tokens_min": low, "prompt_tokens_max": high}])
    found = result.counts.responses
    assert (found.affected, found.possible, result.counts.outside.over_threshold) == (
        int(expected is True), int(expected is None), int(expected is False),
    )  # fmt: skip


def test_the_first_false_part_is_the_reason_for_outside() -> None:
    everything = {"model_match": False, "start": 1, "tokens": 1, "http_status": 500}
    rows: list[Row] = [
        everything,
        {**everything, "model_match": True},
        {**everything, "without": ["model_match"], "start": 1500},
        {"http_status": 500},
    ]
    rows[2].pop("model_match")
    outside = judged(rows, off_model_dropped=7).counts.outside
    assert (outside.on_model, outside.in_window, outside.over_threshold, outside.served) == (8, 1, 1, 1)


def test_unknown_parts_are_named_and_never_drop_a_record() -> None:
    result = judged([{"without": ["model_match", "started", "prompt_tokens", "http_status"], "reasons": ["tokens:text"]}])
    finding = result.findings.to_pylist()[0]
    assert finding["disposition"] == "possible"
    assert finding["reasons"] == [
        "tokens:text", "on_model: unknown", "in_window: unknown", "over_threshold: unknown", "served: unknown",
    ]  # fmt: skip


def test_no_records_are_a_judgement_too() -> None:
    result = judged([], [{"tenant": "qa"}], off_model_dropped=3)
    assert result.counts.records == 3
    assert result.findings.num_rows == 0
    assert [code for code, _ in result.warnings] == ["rule_matched_nothing"]


FIVE: list[Row] = [
    {"source": "gateway", "ids": {"cf_aig_log_id": "L", "cf_aig_event_id": "E"}, "tenant": None},
    {"source": "app", "format": "app-json", "ids": {"cf_aig_log_id": "L", "cf_ray": "R"}, "without": ["prompt_tokens"]},
    {
        "source": "edge", "format": "nginx", "ids": {"cf_ray": "R", "x_request_id": "X"},
        "without": ["model_match", "prompt_tokens"],
    },
    {"source": "litellm", "format": "litellm", "ids": {"x_request_id": "X", "response_id": "C"}, "tenant": "acme"},
    {"source": "otel", "format": "otel", "ids": {"response_id": "C", "trace_id": "T"}, "without": ["http_status"]},
]  # fmt: skip


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::17])
def test_one_call_in_five_sources_is_counted_once(order: tuple[int, ...]) -> None:
    result = judged([FIVE[i] for i in order])
    assert dispositions(result) == {
        "app:1": "duplicate", "edge:1": "duplicate", "gateway:1": "affected", "litellm:1": "duplicate",
        "otel:1": "duplicate",
    }  # fmt: skip
    assert result.counts.tenants.affected == 1
    assert {f["duplicate_of"] for f in result.findings.to_pylist()} == {None, "gateway:1"}


def test_attempts_of_a_retry_stay_different_calls() -> None:
    rows: list[Row] = [
        {"source": "gateway", "ids": {"cf_aig_log_id": "1", "trace_id": "T"}, "http_status": 502},
        {"source": "gateway", "ids": {"cf_aig_log_id": "2", "trace_id": "T"}},
        {"source": "app", "format": "app", "ids": {"trace_id": "T"}},
    ]
    result = judged(rows)
    assert dispositions(result) == {"app:1": "affected", "gateway:2": "duplicate"}
    assert result.counts.outside.served == 1
    assert not result.warnings


def test_attempts_in_rotated_files_stay_different_calls() -> None:
    rows: list[Row] = [
        {"source": "gateway-1", "ids": {"cf_aig_log_id": "1", "x_request_id": "X"}, "http_status": 502},
        {"source": "gateway-2", "ids": {"cf_aig_log_id": "2", "x_request_id": "X"}},
        {"source": "app", "format": "app", "ids": {"x_request_id": "X"}},
    ]
    result = judged(rows)
    assert dispositions(result) == {"app:1": "affected", "gateway-2:1": "duplicate"}
    assert result.counts.outside.served == 1


def test_two_answers_under_one_trace_are_two_calls() -> None:
    rows: list[Row] = [
        {"source": "gateway", "ids": {"cf_aig_log_id": "1", "trace_id": "T"}},
        {"source": "gateway", "ids": {"cf_aig_log_id": "2", "trace_id": "T"}},
        {"source": "app", "format": "app", "ids": {"trace_id": "T"}},
    ]
    assert responses(rows) == (3, 0, 3, 3)


def test_attempts_under_one_ray_stay_different_calls() -> None:
    rows: list[Row] = [
        {"ids": {"cf_aig_log_id": "1", "cf_ray": "R"}, "http_status": 500},
        {"ids": {"cf_aig_log_id": "2", "cf_ray": "R"}},
    ]
    result = judged(rows)
    assert dispositions(result) == {"a:2": "affected"}


def test_a_trace_id_does_not_tie_within_a_source() -> None:
    assert responses([{"ids": {"trace_id": "T"}}, {"ids": {"trace_id": "T"}}]) == (2, 0, 2, 2)


def test_a_log_s_own_id_ties_within_its_format_only() -> None:
    same: list[Row] = [{"ids": {"request_id": "1"}}, {"source": "b", "ids": {"request_id": "1"}}]
    other: list[Row] = [{"ids": {"request_id": "1"}}, {"source": "b", "format": "x", "ids": {"request_id": "1"}}]
    assert responses(same)[0] == 1
    assert responses(other)[0] == 2


def test_a_record_id_that_is_in_no_id_column_ties_overlapping_exports() -> None:
    assert responses([{"record_id": "r-1"}, {"source": "b", "record_id": "r-1"}])[0] == 1


def test_equal_text_of_different_kinds_ties_nothing() -> None:
    assert responses([{"ids": {"cf_ray": "1"}}, {"ids": {"upstream_id": "1"}}])[0] == 2


@pytest.mark.parametrize("nothing", ["-", "", "null", "None", "0" * 32, "00000000-0000-0000-0000-000000000000", "N/A"])
def test_what_a_log_writes_for_no_id_ties_nothing(nothing: str) -> None:
    rows: list[Row] = [{"ids": {"response_id": nothing}}, {"source": "b", "record_id": nothing, "ids": {"cf_ray": nothing}}]
    rows += [{"source": "c", "ids": {"cf_ray": nothing, "response_id": nothing, "trace_id": nothing}}]
    assert responses(rows) == (3, 0, 3, 3)


def test_parent_and_child_spans_of_a_trace_are_one_call() -> None:
    outer: Row = {"ids": {"trace_id": "T", "span_id": "1"}}
    inner: Row = {"ids": {"trace_id": "T", "span_id": "2", "parent_span_id": "1"}, "without": ["prompt_tokens"]}
    elsewhere: Row = {"ids": {"trace_id": "U", "span_id": "3", "parent_span_id": "1"}}
    result = judged([outer, inner, elsewhere])
    assert dispositions(result) == {"a:1": "affected", "a:2": "duplicate", "a:3": "affected"}
    assert letters(result, "a:2") == "TTNT"


def test_a_parent_span_joins_the_attempt_that_did_not_fail() -> None:
    rows: list[Row] = [
        {"ids": {"trace_id": "T", "span_id": "1"}},
        {"ids": {"trace_id": "T", "span_id": "2", "parent_span_id": "1"}, "http_status": 502},
        {"ids": {"trace_id": "T", "span_id": "3", "parent_span_id": "1"}},
    ]
    result = judged(rows)
    assert dispositions(result) == {"a:1": "affected", "a:3": "duplicate"}


def test_steps_under_one_parent_span_are_counted_each() -> None:
    rows: list[Row] = [
        {"ids": {"trace_id": "T", "span_id": "1"}},
        {"ids": {"trace_id": "T", "span_id": "2", "parent_span_id": "1"}},
        {"ids": {"trace_id": "T", "span_id": "3", "parent_span_id": "1"}},
    ]
    assert dispositions(judged(rows)) == {"a:1": "affected", "a:2": "duplicate", "a:3": "affected"}


def test_long_chains_of_ids_are_one_call_in_few_rounds() -> None:
    places = list(range(2000))
    random.Random(5).shuffle(places)
    kinds = ("response_id", "upstream_id")
    rows: list[Row] = [
        {"source": f"s{i % 7}", "ids": {kinds[i % 2]: f"{i}", kinds[1 - i % 2]: f"{i + 1}"}} for i in places
    ]
    result = judged(rows)
    assert result.counts.responses.affected == 1
    assert result.counts.duplicates == 1999
    assert result.rounds < 30


def test_records_that_disagree_make_the_part_unknown_and_warn() -> None:
    rows: list[Row] = [{"ids": {"cf_ray": "1"}}, {"ids": {"cf_ray": "1"}, "tokens": 5}]
    result = judged(rows)
    assert dispositions(result) == {"a:1": "possible", "a:2": "duplicate"}
    assert letters(result, "a:1") == "TTNT"
    assert result.findings.to_pylist()[0]["reasons"] == ["over_threshold: records_disagree"]
    assert [code for code, _ in result.warnings] == ["records_disagree"]


def test_disagreement_in_a_call_that_is_outside_is_no_warning() -> None:
    rows: list[Row] = [{"ids": {"cf_ray": "1"}, "start": 1}, {"ids": {"cf_ray": "1"}, "start": 1, "tokens": 5}]
    result = judged(rows)
    assert not result.warnings
    assert result.counts.outside.in_window == 2


def test_the_record_that_knows_most_carries_the_verdict() -> None:
    rows: list[Row] = [
        {"ids": {"cf_ray": "1"}, "without": ["prompt_tokens", "model_match"]},
        {"ids": {"cf_ray": "1"}, "without": ["started"]},
        {"ids": {"cf_ray": "1"}, "without": ["http_status"]},
    ]
    result = judged(rows)
    assert dispositions(result) == {"a:1": "duplicate", "a:2": "affected", "a:3": "duplicate"}
    assert letters(result, "a:2") == "TTTT"


def test_overlapping_exports_without_ids_are_tied_by_their_bytes() -> None:
    # Two equal lines in each file: two calls, each exported twice.
    rows: list[Row] = [
        {"source": s, "sha256": "d", "tokens": 2000, "start": 1500, "without": ["prompt_tokens"]}
        for s in ("a", "a", "b", "b")
    ]
    result = judged(rows)
    assert dispositions(result) == {"a:1": "possible", "a:2": "possible", "b:1": "duplicate", "b:2": "duplicate"}


CACHED: Row = {"from_cache": True, "start": 9000, "without": ["prompt_tokens"], "tenant": "b"}


def test_a_replay_counts_in_the_upper_bound_only() -> None:
    result = judged([{"tenant": "a", "record_id": "1"}, {**CACHED, "replay_of": "1"}])
    assert dispositions(result) == {"a:1": "affected", "a:2": "replay"}
    assert result.findings.to_pylist()[1]["replay_of"] == "a:1"
    counts = result.counts
    assert (counts.responses.lower, counts.responses.upper, counts.replays) == (1, 2, 1)
    assert (counts.tenants.affected, counts.tenants.possible, counts.tenants.lower, counts.tenants.upper) == (1, 1, 1, 2)


def test_a_replay_of_a_call_outside_is_outside_for_its_reason() -> None:
    result = judged([{"record_id": "1", "tokens": 5}, {**CACHED, "replay_of": "1"}])
    assert not dispositions(result)
    assert result.counts.outside.over_threshold == 2


def test_a_replay_of_a_replay_follows_to_the_first_call() -> None:
    first: Row = {"record_id": "1"}
    chain: list[Row] = [{**CACHED, "record_id": "2", "replay_of": "1"}, {**CACHED, "record_id": "3", "replay_of": "2"}]
    assert dispositions(judged([first, *chain])) == {"a:1": "affected", "a:2": "replay", "a:3": "replay"}
    assert not dispositions(judged([{**first, "start": 1}, *chain]))


def test_replays_that_name_each_other_are_kept() -> None:
    rows = [{**CACHED, "record_id": "2", "replay_of": "3"}, {**CACHED, "record_id": "3", "replay_of": "2"}]
    assert set(dispositions(judged(rows)).values()) == {"replay"}


@pytest.mark.parametrize(("change", "part"), [({"model_match": False}, "on_model"), ({"http_status": 500}, "served")])
def test_a_replay_on_another_model_or_failed_is_outside(change: Row, part: str) -> None:
    assert getattr(judged([{**CACHED, **change}]).counts.outside, part) == 1


def test_a_replay_that_shares_the_answer_s_id_is_no_evidence_about_the_first_call() -> None:
    rows: list[Row] = [
        {"ids": {"response_id": "C"}, "from_cache": False},
        {**CACHED, "ids": {"response_id": "C"}, "prompt_tokens_max": 5},
    ]
    result = judged(rows)
    assert dispositions(result) == {"a:1": "affected", "a:2": "replay"}
    assert result.findings.to_pylist()[1]["replay_of"] == "a:1"


def test_records_of_a_replay_that_say_nothing_of_a_cache_are_its_duplicates() -> None:
    rows: list[Row] = [
        {"source": "app", "format": "app", "ids": {"cf_aig_log_id": "L"}},
        {**CACHED, "source": "gateway", "ids": {"cf_aig_log_id": "L"}},
    ]
    assert dispositions(judged(rows)) == {"app:1": "duplicate", "gateway:1": "replay"}


def test_a_real_call_is_not_drawn_into_a_replay_that_contradicts_it() -> None:
    rows: list[Row] = [
        {"ids": {"cf_aig_log_id": "L"}, "from_cache": False},
        {**CACHED, "source": "b", "ids": {"cf_aig_log_id": "L"}},
    ]
    assert dispositions(judged(rows)) == {"a:1": "affected", "b:1": "replay"}


def test_a_rule_takes_out_replays_and_whole_calls() -> None:
    rows: list[Row] = [
        {"ids": {"cf_ray": "1"}},
        {"ids": {"cf_ray": "1"}, "tenant": "qa", "without": ["started"]},
        {**CACHED, "tenant": "qa"},
        {"tenant": "qa", "tokens": 5},
        {"tenant": "real"},
    ]
    result = judged(rows, [{"id": "qa", "tenant": "qa"}])
    assert dispositions(result) == {"a:1": "excluded", "a:2": "duplicate", "a:3": "excluded", "a:5": "affected"}
    excluded = result.counts.excluded
    assert (excluded.records, excluded.tenants) == (2, 1)
    assert (excluded.by_rule[0].hits, excluded.by_rule[0].would_be_affected) == (3, 2)
    assert result.findings.to_pylist()[0]["excluded_by"] == ["qa"]


MATCHERS = [
    ({"tenant": "t"}, {"tenant": "t"}, True),
    ({"tenant": "T"}, {"tenant": "t"}, False),
    ({"tenant": "t"}, {}, False),
    ({"key": ["x", "k"]}, {"key": "k"}, True),
    ({"user": "u"}, {"user": "u"}, True),
    ({"tag": "b"}, {"tags": ["a", "b"]}, True),
    ({"tag": "c"}, {"tags": ["a", "b"]}, False),
    ({"request_id": "r"}, {"record_id": "r"}, True),
    ({"request_id": "r"}, {"ids": {"cf_ray": "r"}}, True),
    ({"user_agent": "*Probe/?"}, {"user_agent": "my-probe/1"}, True),
    ({"user_agent": "probe"}, {"user_agent": "my-probe/1"}, False),
    ({"client_ip": "192.0.2.0/24"}, {"client_ip": "192.0.2.7"}, True),
    ({"client_ip": "192.0.2.0/24"}, {"client_ip": "198.51.100.7"}, False),
    ({"client_ip": "192.0.2.0/24", "tenant": "t"}, {"client_ip": "192.0.2.7"}, False),
    ({"client_ip": "198.51.100.0/24", "tenant": "t"}, {"client_ip": "192.0.2.7", "tenant": "t"}, False),
    ({"key": "k", "tenant": "t"}, {"key": "k", "tenant": "t"}, True),
    ({"tenant": [], "key": "k"}, {"key": "k", "tenant": "t"}, False),
]


@pytest.mark.parametrize(("matcher", "given", "expected"), MATCHERS)
def test_all_matchers_of_a_rule_must_hold(matcher: Row, given: Row, expected: bool) -> None:
    assert dispositions(judged([given], [matcher])) == {"a:1": "excluded" if expected else "affected"}


VALIDITY = [
    ({}, True, False),
    ({"valid_from": 1500}, True, False),
    ({"valid_from": 1501}, False, True),
    ({"valid_from": 1503}, False, False),
    ({"valid_until": 1503}, True, False),
    ({"valid_until": 1502}, False, True),
    ({"valid_until": 1500}, False, False),
    ({"valid_from": 1501, "valid_until": 1502}, False, True),
]


@pytest.mark.parametrize(("validity", "matches", "warns"), VALIDITY)
def test_validity_takes_the_whole_interval_of_starts(validity: Row, matches: bool, warns: bool) -> None:
    given = {"tenant": "t", "started_earliest": 1500_000_000, "started_latest": 1502_000_000}
    result = judged([given], [{"tenant": "t", **validity}])
    assert dispositions(result) == {"a:1": "excluded" if matches else "affected"}
    assert ("rule_validity_straddles" in {code for code, _ in result.warnings}) is warns


def test_a_missing_start_straddles_every_validity() -> None:
    result = judged([{"tenant": "t", "without": ["started"]}], [{"tenant": "t", "valid_from": 1}])
    assert dispositions(result) == {"a:1": "possible"}
    assert [code for code, _ in result.warnings] == ["rule_validity_straddles", "rule_matched_nothing"]


def test_overlapping_rules_show_each_other() -> None:
    rules = [{"id": "one", "tenant": "t"}, {"id": "two", "key": "k"}]
    result = judged([{"tenant": "t", "key": "k"}, {"tenant": "t"}], rules)
    one, two = result.counts.excluded.by_rule
    assert (one.hits, one.overlaps, two.hits, two.overlaps) == (2, (("two", 1),), 1, (("one", 1),))
    assert result.findings.to_pylist()[0]["excluded_by"] == ["one", "two"]


TWIN: Row = {"tenant": "t", "tokens": 3000, "start": 1500}


def test_a_likely_duplicate_without_an_id_widens_the_range() -> None:
    rows: list[Row] = [
        {**TWIN, "source": "gateway", "ids": {"cf_aig_log_id": "L"}},
        {**TWIN, "source": "app", "format": "app", "start": 1502},
    ]
    result = judged(rows)
    assert dispositions(result) == {"app:1": "duplicate", "gateway:1": "affected"}
    assert result.findings.to_pylist()[0]["reasons"] == ["possible_duplicate_without_id"]
    assert result.findings.to_pylist()[0]["duplicate_of"] == "gateway:1"
    assert (result.counts.responses.lower, result.counts.responses.upper) == (1, 2)


@pytest.mark.parametrize(
    "change",
    [{"start": 1503}, {"tokens": 3001}, {"tenant": "u"}, {"without": ["prompt_tokens"]}, {"model_text": "other"},
     {"ids": {"cf_aig_log_id": "M"}}],
)  # fmt: skip
def test_calls_that_differ_are_no_likely_duplicates(change: Row) -> None:
    rows: list[Row] = [{**TWIN, "ids": {"cf_aig_log_id": "L"}}, {**TWIN, "format": "app", **change}]
    assert judged(rows).counts.guessed_duplicates == 0


def test_two_calls_with_ids_stay_two_beside_one_without() -> None:
    rows: list[Row] = [
        TWIN | {"source": "app", "format": "app"},
        TWIN | {"ids": {"cf_ray": "1"}},
        TWIN | {"ids": {"cf_ray": "2"}},
    ]
    assert dispositions(judged(rows)) == {"a:1": "affected", "a:2": "affected", "app:1": "duplicate"}


def test_thousands_of_equal_calls_without_ids_are_compared_in_little_memory() -> None:
    count = 6000
    equal = table([TWIN]).take(pa.nulls(count, pa.int64()).fill_null(0))
    many = equal.set_column(equal.schema.get_field_index("line"), "line", pa.array(range(1, count + 1), pa.int64()))
    incident: Any = SmallIncident()
    with Store(threads=2, memory_bytes=128 << 20) as store:
        store.register("records", many)
        result = judge(store, incident)
    assert result.counts.guessed_duplicates == count - 1
    assert set(result.findings["duplicate_of"].to_pylist()) == {None, "a:1"}


def test_no_likely_duplicate_hides_an_affected_call_behind_an_excluded_one() -> None:
    rows: list[Row] = [TWIN | {"user": "qa"}, TWIN | {"format": "app", "source": "b"}]
    assert dispositions(judged(rows, [{"user": "qa"}])) == {"a:1": "excluded", "b:1": "affected"}


def test_tenants_have_bounds_of_their_own() -> None:
    rows: list[Row] = [
        {"tenant": "a"}, {"tenant": "a"}, {"tenant": "b", "without": ["prompt_tokens"]},
        {"tenant": "a", "without": ["prompt_tokens"]}, {}, {"without": ["prompt_tokens"]},
    ]  # fmt: skip
    t = judged(rows).counts.tenants
    assert (t.affected, t.possible, t.lower, t.upper, t.unknown_records) == (1, 1, 1, 4, 2)


def test_one_affected_answer_without_a_tenant_is_one_tenant_at_least() -> None:
    t = judged([{}, {}]).counts.tenants
    assert (t.affected, t.lower, t.upper, t.unknown_records) == (0, 1, 2, 2)


def test_a_sampled_source_leaves_no_upper_bound() -> None:
    counts = judged([{}], sampled=True).counts
    assert (counts.responses.lower, counts.responses.upper, counts.tenants.upper) == (1, None, None)


def test_many_records_with_ids_of_their_own_need_no_round() -> None:
    count = 300_000
    one = table([{"tokens": 5, "ids": {"cf_aig_log_id": "x"}}])
    many = one.take(pa.nulls(count, pa.int64()).fill_null(0))
    kinds = pa.repeat("cf_aig_log_id", count)
    ids = pa.StructArray.from_arrays([kinds, pa.array(f"id-{i}" for i in range(count))], ["kind", "value"])
    for name, values in (
        ("line", pa.array(range(1, count + 1), pa.int64())),
        ("ids", pa.ListArray.from_arrays(pa.array(range(count + 1), pa.int32()), ids)),
    ):
        many = many.set_column(many.schema.get_field_index(name), name, values)
    incident: Any = SmallIncident()
    with Store(threads=2) as store:
        store.register("records", many)
        result = judge(store, incident)
    assert (result.counts.outside.over_threshold, result.findings.num_rows, result.rounds) == (count, 0, 0)


def test_findings_do_not_depend_on_the_order_of_rows() -> None:
    rng = random.Random(11)
    kinds = ("cf_aig_log_id", "response_id", "cf_ray", "trace_id", "x_request_id")
    rows: list[Row] = [
        {
            "source": f"s{i % 5}", "line": i + 1, "format": f"f{i % 3}", "tokens": rng.choice((5, 998, 3000)),
            "start": rng.choice((1500, 1501, 1999, 2050)), "http_status": rng.choice((200, 500, 499)),
            "tenant": rng.choice(("a", "b", None)), "from_cache": rng.choice((None, None, False, True)),
            "ids": {k: str(rng.randrange(60)) for k in kinds if rng.random() < 0.3},
        }
        for i in range(300)
    ]  # fmt: skip
    first = judged(rows, [{"tenant": "b", "valid_until": 1501}])
    for _ in range(3):
        rng.shuffle(rows)
        again = judged(rows, [{"tenant": "b", "valid_until": 1501}])
        assert again.findings.equals(first.findings)
        assert again.counts == first.counts
        assert again.warnings == first.warnings
    places = [(f["source"], f["line"]) for f in first.findings.to_pylist()]
    assert places == sorted(places)
    assert first.counts.records == 300
