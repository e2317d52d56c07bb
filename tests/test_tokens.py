"""Are token counts read as the evidence allows, and no further?"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle_tokens
from effort import cases
from kvforensics.tokens import ALSO, TokenLimits, all_counts, read_count, read_tokens

SLOTS = ("prompt", "cache_read", "cache_write", "completion", "total", "request_bytes", "request_encoding")
LIMITS = TokenLimits(template_allowance=4096, absurd_over=16 * 1_048_576)
COLUMNS = ["prompt_tokens_min", "prompt_tokens_max", "token_basis", "completion_tokens", "problems"]


def batch(*records: dict[str, str | None]) -> pl.DataFrame:
    return pl.DataFrame([{s: r.get(s) for s in SLOTS} for r in records], schema=dict.fromkeys(SLOTS, pl.String))


def one(
    rule: str = "inclusive", *, cache_visible: bool = True, own_total: bool = True, estimate: bool = False, **record: Any
) -> Any:  # fmt: skip
    frame = read_tokens(
        batch(record), rule=rule, incident_limits=LIMITS, cache_visible=cache_visible, own_total=own_total,
        estimate=estimate,
    )  # fmt: skip
    assert frame.columns == COLUMNS
    return frame.row(0)


@pytest.mark.parametrize(
    ("text", "value", "flaw"),
    [
        ("681281", 681281, None), ("681281.0", 681281, None), ("6.81281e5", 681281, None), ("7.0E5", 700000, None),
        (" 681281 ", 681281, None), ("000681281", 681281, None), ("0", 0, None), ("-", None, None), ("", None, None),
        ("681,281", None, "unreadable"), ("NaN", None, "unreadable"), ("true", None, "unreadable"), ("x", None, "unreadable"),
        ("٦٨١٢٨١", None, "unreadable"), ("0x10", None, "unreadable"), ("Infinity", None, "unreadable"),
        ("-5", None, "absurd"), ("681280.5", None, "absurd"), ("681281.000000000000000001", None, "absurd"),
        ("16777217", None, "absurd"), ("16777216", 16777216, None), ("1e400", None, "absurd"), ("9" * 30, None, "absurd"),
    ],
)  # fmt: skip
def test_a_text_is_a_count_only_if_it_is_a_whole_believable_number(
    text: str, value: int | None, flaw: str | None
) -> None:
    values, flaws = read_count(pl.Series([text]), 16 * 1_048_576)
    assert (values[0], flaws[0]) == (value, flaw)


@pytest.mark.parametrize(
    ("rule", "record", "low", "high", "basis"),
    [
        ("inclusive", {"prompt": "702114", "cache_read": "655360"}, 702114, 702114, "reported"),
        ("exclusive", {"prompt": "46754", "cache_read": "655360"}, 702114, 702114, "reported+cache"),
        ("exclusive", {"prompt": "46754", "cache_write": "655360"}, 702114, 702114, "reported+cache"),
        ("exclusive", {"prompt": "681281"}, 681281, 681281, "reported"),
        ("unknown", {"prompt": "400000", "cache_read": "300000"}, 400000, 700000, "uncertain-cache-rule"),
        ("unknown", {"prompt": "400000", "cache_read": "0"}, 400000, 400000, "reported"),
        ("inclusive", {"prompt": "0", "cache_read": "700000"}, 700000, 700000, "reported+cache"),
        ("exclusive", {"prompt": "9", "cache_read": "4", "total": "11", "completion": "2"}, 9, 9, "reported"),
        ("inclusive", {"prompt": "9", "cache_read": "4", "total": "15", "completion": "2"}, 13, 13, "reported+cache"),
        ("inclusive", {"prompt": "0"}, None, None, "unknown"),
        ("inclusive", {}, None, None, "unknown"),
        ("inclusive", {"total": "700100", "completion": "100"}, 700000, 700000, "total-minus-output"),
        ("inclusive", {"total": "700100"}, None, 700100, "total-minus-output"),
        ("inclusive", {"total": "100", "completion": "100"}, None, None, "unknown"),
        ("inclusive", {"cache_read": "690000"}, 690000, None, "reported+cache"),
        ("inclusive", {"request_bytes": "18000"}, None, 22096, "size-bound"),
        ("inclusive", {"request_bytes": "18000", "request_encoding": "Identity"}, None, 22096, "size-bound"),
        ("inclusive", {"request_bytes": "18000", "request_encoding": "gzip"}, None, None, "unknown"),
        ("inclusive", {"request_bytes": "18000", "request_encoding": "identity, gzip"}, None, None, "unknown"),
        ("inclusive", {"request_bytes": "0"}, None, None, "unknown"),
        ("inclusive", {"request_bytes": "-"}, None, None, "unknown"),
        ("unknown", {"prompt": "400", "cache_read": "300000", "request_bytes": "1000"}, None, None, "unknown"),
        ("unknown", {"prompt": "4000", "cache_read": "3000", "request_bytes": "1000"}, 4000, 5096, "uncertain-cache-rule"),
    ],
)  # fmt: skip
def test_the_named_cases_give_their_bounds(
    rule: str, record: dict[str, Any], low: int | None, high: int | None, basis: str
) -> None:
    assert one(rule, **record)[:3] == (low, high, basis)


@pytest.mark.parametrize(
    ("rule", "record", "also", "high", "basis"),
    [
        ("inclusive", {"prompt": "5"}, (5, 700_000), 700_000, "uncertain-cache-rule"),
        ("inclusive", {"prompt": "700000"}, (700_000, 5), 700_000, "reported"),
        ("inclusive", {"prompt": "5"}, (5, "681281"), 681_281, "uncertain-cache-rule"),
        ("inclusive", {"prompt": "5"}, (5, "x", None, True, -7, 99_999_999), 5, "reported"),
        ("exclusive", {"prompt": "5", "cache_read": "699995"}, (5, 700_000), 700_000, "reported+cache"),
        ("exclusive", {"prompt": "5", "cache_write": "699994"}, (5, 700_000), 700_000, "uncertain-cache-rule"),
        ("unknown", {"prompt": "5", "cache_read": "2"}, (5, 7), 7, "uncertain-cache-rule"),
        ("inclusive", {"total": "9", "completion": "2"}, ("x", 8), 8, "uncertain-cache-rule"),
        ("inclusive", {"prompt": "5", "request_bytes": "40"}, (5, 700_000), 4136, "uncertain-cache-rule"),
    ],
)
def test_another_count_of_the_prompt_raises_the_upper_bound_alone(
    rule: str, record: dict[str, str], also: tuple[Any, ...], high: int, basis: str
) -> None:
    raw = batch(record).with_columns(pl.lit(all_counts(also)).alias(ALSO))
    alone, both = (
        read_tokens(frame, rule=rule, incident_limits=LIMITS, cache_visible=True, own_total=True, estimate=False).row(0)
        for frame in (batch(record), raw)
    )
    assert both[:3] == (alone[0], high, basis)
    assert both[4] == (["counts_disagree"] if high != alone[1] else [])


def test_a_total_that_the_product_added_up_does_not_make_a_field_exclusive() -> None:
    record: dict[str, Any] = {"prompt": "9", "cache_read": "4", "total": "15", "completion": "2"}
    assert one("inclusive", own_total=False, **record)[:2] == (9, 9)


@pytest.mark.parametrize(
    ("total", "bounds"), [("15", (9, 13)), ("11", (9, 9)), ("14", (9, 9)), ("20", (9, 13)), ("0", (9, 13))]
)
def test_a_total_that_may_be_the_sum_of_all_buckets_proves_only_that_they_overlap(
    total: str, bounds: tuple[int, int]
) -> None:
    raw = batch({"prompt": "9", "cache_read": "4", "total": total, "completion": "2"})
    frame = read_tokens(
        raw, rule="unknown", incident_limits=LIMITS, cache_visible=True, own_total=True, estimate=False, total_is_sum=True
    )
    assert frame.row(0)[:2] == bounds


def test_an_exclusive_count_without_its_cache_is_only_a_lower_bound() -> None:
    assert one("exclusive", cache_visible=False, prompt="46754")[:3] == (46754, None, "uncertain-cache-rule")


def test_an_unreadable_cached_count_leaves_an_exclusive_field_open_above() -> None:
    assert one("exclusive", prompt="46754", cache_read="many") == (
        46754, None, "uncertain-cache-rule", None, ["cache_read_tokens_unreadable"],
    )  # fmt: skip


def test_a_client_estimate_bounds_nothing_but_the_size_still_does() -> None:
    assert one(estimate=True, prompt="700000")[:3] == (None, None, "client-estimate")
    assert one(estimate=True, prompt="700000", request_bytes="5")[:3] == (None, 4101, "size-bound")


def test_more_tokens_than_the_bytes_can_hold_are_unknown_with_a_reason() -> None:
    assert one(prompt="700000", request_bytes="5763") == (None, None, "unknown", None, ["tokens_exceed_size"])


def test_every_broken_field_is_named_and_the_others_are_kept() -> None:
    assert one(prompt="NaN", total="-3", completion="7", request_bytes="1.5") == (
        None, None, "unknown", 7, ["prompt_tokens_unreadable", "total_tokens_absurd", "request_bytes_absurd"],
    )  # fmt: skip


def test_a_rule_can_differ_from_record_to_record() -> None:
    raw = batch(
        {"prompt": "10", "cache_read": "5"}, {"prompt": "11", "cache_read": "5"}, {"prompt": "12", "cache_read": "5"}
    )
    rule = (
        pl.when(pl.col("prompt") == "10")
        .then(pl.lit("inclusive"))
        .when(pl.col("prompt") == "11")
        .then(pl.lit("exclusive"))
    )
    frame = read_tokens(raw, rule=rule, incident_limits=LIMITS, cache_visible=True, own_total=True, estimate=False)
    assert frame["prompt_tokens_min"].to_list() == [10, 16, 12]
    assert frame["prompt_tokens_max"].to_list() == [10, 16, 17]


def test_no_records_give_no_rows_of_the_right_types() -> None:
    frame = read_tokens(
        batch(), rule="unknown", incident_limits=LIMITS, cache_visible=True, own_total=True, estimate=False
    )
    assert frame.schema == dict(
        zip(COLUMNS, [pl.Int64, pl.Int64, pl.String, pl.Int64, pl.List(pl.String)], strict=True)
    )


SMALL = st.integers(0, 12).map(str)
COUNT = st.one_of(
    st.none(), SMALL, SMALL, st.sampled_from(["681280", "681281", "700000", "16777217", "9" * 18, "9" * 19, "0.5", "7e5", "1e1",
    "10e-1", "1e-1", "-4", "+4", "x", "-", "", "NaN", "1e400", "12.0", "1,000"]),
)  # fmt: skip
RECORD = st.fixed_dictionaries(
    dict.fromkeys(("prompt", "cache_read", "cache_write", "completion", "total", "request_bytes"), COUNT)
    | {"request_encoding": st.sampled_from([None, "", "-", "identity", "gzip", " IDENTITY "])}
)


@settings(max_examples=cases(120), deadline=None, derandomize=True)
@given(
    records=st.lists(
        st.tuples(
            RECORD, st.sampled_from(["inclusive", "exclusive", "split", "unproven", "unknown", None]),
            st.lists(COUNT.filter(bool), max_size=3, unique=True),
        ),
        min_size=1, max_size=20
    ),
    allowance=st.sampled_from([0, 3, 4096]),
    absurd_over=st.sampled_from([None, 16 * 1_048_576, 11]),
    cache_visible=st.booleans(),
    own_total=st.booleans(),
    estimate=st.booleans(),
    total_is_sum=st.booleans(),
    cache_always_told=st.booleans(),
)
def test_the_vectorised_reading_agrees_with_the_slow_one(
    records: list[tuple[dict[str, str | None], str | None, list[str]]], allowance: int, absurd_over: int | None, *,
    cache_visible: bool, own_total: bool, estimate: bool, total_is_sum: bool, cache_always_told: bool,
) -> None:  # fmt: skip
    raw = batch(*(r for r, _, _ in records)).with_columns(
        pl.Series("rule_text", [rule for _, rule, _ in records], dtype=pl.String),
        pl.Series(ALSO, [all_counts(also) for _, _, also in records], dtype=pl.String),
    )
    options = {
        "cache_visible": cache_visible, "own_total": own_total, "estimate": estimate, "total_is_sum": total_is_sum,
        "cache_always_told": cache_always_told,
    }  # fmt: skip
    limits = TokenLimits(allowance, absurd_over)
    frame = read_tokens(raw, rule=pl.col("rule_text"), incident_limits=limits, **options)
    slow = [
        oracle_tokens.read(r, rule, allowance, absurd_over, **options, also=also if len(also) > 1 else ()).row()
        for r, rule, also in records
    ]
    assert frame.rows() == slow
    for low, high, *_ in frame.rows():
        assert low is None or high is None or low <= high
