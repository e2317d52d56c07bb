"""Between which bounds does the number of prompt tokens lie?

Reads the counts of a raw batch. The input field may or may not include what was read from the provider's cache; the
provider's own total, a cached count that is larger, or the rule of the source tells. What is left open is an interval.
Unknown is null; a zero is unknown too, as no answered prompt is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
from msgspec import Struct

_PLAIN_DIGITS = 18
_PLAIN = rf"^[0-9]{{1,{_PLAIN_DIGITS}}}$"
_LARGEST = 10**_PLAIN_DIGITS - 1
_EXACT = 2**53
_COUNTS = ("prompt", "cache_read", "cache_write", "completion", "total")
_NAMES = {c: f"{c}_tokens" for c in _COUNTS} | {"request_bytes": "request_bytes"}
ALSO = "prompt_also"
"""The column of all counts that a record gives for its prompt, where they are several: the one that is read may be wrong."""
_AND = "\x1f"
_LONGEST_COUNT = 64
_SCALARS = (int, float, bool, str)
_UNCOMPRESSED = ("", "-", "identity", "none")


class TokenLimits(Struct, frozen=True):
    """What a count is held against.

    `template_allowance`: tokens that a chat template can add to the bytes of a request. A count over `absurd_over` is no
    count; None believes every one.
    """

    template_allowance: int
    absurd_over: int | None


def read_tokens(
    raw: pl.DataFrame,
    *,
    rule: str | pl.Expr,
    incident_limits: TokenLimits,
    cache_visible: bool,
    own_total: bool,
    estimate: bool,
    total_is_sum: bool = False,
    cache_always_told: bool = False,
    bare: bool = False,
) -> pl.DataFrame:
    """The bounds of each record's prompt, one row for each row of `raw`.

    Columns: `prompt_tokens_min`, `prompt_tokens_max`, `token_basis`, `completion_tokens`, `problems`; where it is `bare`, only
    those of numbers.

    `rule` is one of those of `Format.cache_rule`, or an expression over `raw` that gives one of them. `cache_visible` says
    that cached tokens would be in the record, `cache_always_told` that a record without them leaves them open, `own_total`
    that the total is the provider's own sum, `estimate` that the count was made by the client, `total_is_sum` that the total
    may be the logging product's sum of all its buckets.
    """
    parsed: dict[str, pl.Series] = {}
    for slot in _NAMES:
        value, flaw = read_count(raw[slot], None if slot == "request_bytes" else incident_limits.absurd_over)
        parsed[slot], parsed[f"{slot}_flaw"] = value, flaw
    # One null for all rows costs nothing, wherever it is used.
    told = {name: held for name, held in parsed.items() if held.null_count() < len(held)}
    nothing = [pl.lit(None, dtype=held.dtype).alias(name) for name, held in parsed.items() if name not in told]
    says_encoding = raw["request_encoding"].null_count() < raw.height
    encoding = pl.col("request_encoding").str.strip_chars().str.to_lowercase().fill_null("") if says_encoding else pl.lit("")
    asked = (encoding.alias("encoding"), (rule if isinstance(rule, pl.Expr) else pl.lit(rule)).alias("rule"))
    frame = raw.with_columns(*nothing, *asked, **told).select(*parsed, "encoding", "rule")
    also = raw[ALSO] if ALSO in raw.columns else None
    cached = pl.col("cache_read").is_not_null() | pl.col("cache_write").is_not_null()
    visible = cached if cache_always_told else pl.lit(cache_visible)
    counted = _counted(frame, visible=visible, own_total=own_total and not total_is_sum, summed=total_is_sum, bare=bare)
    if also is not None and also.null_count() < len(also) and also.str.contains(_AND, literal=True).any():
        counted = _contradicted(counted, _highest(also, incident_limits.absurd_over), bare=bare)
    return _bounded(counted, incident_limits.template_allowance, estimate=estimate, bare=bare)


def all_counts(values: Iterable[Any]) -> str | None:
    """The text of `ALSO` for values that may be counts of one prompt, None where they are not several."""
    # What is no count may be the one that is read, so that another one contradicts it.
    told = dict.fromkeys(str(v)[:_LONGEST_COUNT] for v in values if type(v) in _SCALARS and v != "")
    return _AND.join(told) if len(told) > 1 else None


def more_counts(text: str | None, counts: Iterable[int]) -> str:
    """A text of `ALSO`, or none, with more counts."""
    return _AND.join((text or "0", *map(str, counts)))


def both_counts(one: pl.Series, other: pl.Series) -> pl.Series:
    """Two columns of counts as one, with both where they differ."""
    both = pl.concat_str("one", "other", separator=_AND, ignore_nulls=True)
    same = pl.when(pl.col("one") == pl.col("other")).then("one").otherwise(both)
    return pl.DataFrame({"one": one, "other": other}).select(pl.when(same != "").then(same).alias("one"))["one"]


def _highest(texts: pl.Series, absurd_over: int | None) -> pl.Series:
    """The highest of the counts of each row that can be read."""
    each = pl.DataFrame({"text": texts.str.split(_AND)}).with_row_index("row").drop_nulls().explode("text")
    read = each.select("row", n=read_count(each["text"], absurd_over)[0]).group_by("row").agg(pl.col("n").max())
    return pl.Series([None], dtype=pl.Int64).new_from_index(0, len(texts)).scatter(read["row"], read["n"])


def _contradicted(frame: pl.DataFrame, highest: pl.Series, *, bare: bool) -> pl.DataFrame:
    """Raises the upper bound to the highest count of a record, where the one that is read cannot come to it."""
    above = (pl.lit(highest) > pl.col("high")).fill_null(value=False)
    words = () if bare else (
        pl.when(above).then(pl.lit("uncertain-cache-rule")).otherwise("basis").alias("basis"),
        pl.when(above).then(pl.lit("counts_disagree")).otherwise("conflict").alias("conflict"),
    )  # fmt: skip
    return frame.with_columns(pl.when(above).then(pl.lit(highest)).otherwise("high").alias("high"), *words)


def read_count(text: pl.Series, absurd_over: int | None) -> tuple[pl.Series, pl.Series]:
    """The whole numbers that texts stand for, or that whole numbers are, and what is wrong with the others.

    Wrong is `absurd` (negative, fractional, too large) or `unreadable`; both are null where there is nothing.
    """
    if text.null_count() == len(text):
        return _nothing(text, pl.Int64()), _nothing(text, pl.String())
    if text.dtype == pl.Int64:
        if text.is_between(0, _LARGEST if absurd_over is None else absurd_over).all():
            return text, _nothing(text, pl.String())
        text = text.cast(pl.String)
    elif text.str.contains(_PLAIN).all():
        number = text.cast(pl.Int64)
        if absurd_over is None or number.max() <= absurd_over:  # type: ignore[operator]
            return number, _nothing(text, pl.String())
    return _read_count(text, absurd_over)


def _nothing(like: pl.Series, dtype: pl.DataType) -> pl.Series:
    return pl.Series([None], dtype=dtype).new_from_index(0, len(like))


def _read_count(text: pl.Series, absurd_over: int | None) -> tuple[pl.Series, pl.Series]:
    t = pl.col("text")
    digits = t.str.extract(rf"^0*([0-9]{{1,{_PLAIN_DIGITS}}})(?:\.0+)?$").cast(pl.Int64)
    scientific = t.str.extract(r"^([0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+)$").cast(pl.Float64, strict=False)
    whole = pl.when((scientific == scientific.floor()) & (scientific <= _EXACT)).then(scientific).cast(pl.Int64)
    number = pl.coalesce(digits, whole)
    believed = number if absurd_over is None else pl.when(number <= absurd_over).then(number)
    numeric = t.str.contains(r"^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$")
    frame = pl.DataFrame({"text": text.str.strip_chars()}).select(
        believed.alias("value"),
        pl.when(t.is_null() | t.is_in(["", "-"]) | believed.is_not_null()).then(None)
        .when(numeric).then(pl.lit("absurd")).otherwise(pl.lit("unreadable")).alias("flaw"),
    )  # fmt: skip
    return frame["value"], frame["flaw"]


def _counted(frame: pl.DataFrame, *, visible: pl.Expr, own_total: bool, summed: bool, bare: bool) -> pl.DataFrame:
    """Adds `low`, `high` and `basis` from the counts alone, and `conflict` where they contradict each other.

    Where it is `bare`, only the numbers.
    """
    a, total, output = pl.col("prompt"), pl.col("total"), pl.col("completion")
    read, write = pl.col("cache_read").fill_null(0), pl.col("cache_write").fill_null(0)
    cache = read + write
    cache_flaw = pl.col("cache_read_flaw").is_not_null() | pl.col("cache_write_flaw").is_not_null()
    rest = total - output
    given = a.is_not_null() & ((a > 0) | (cache > 0))

    proves_exclusive = pl.max_horizontal(read, write) > a
    rule = pl.col("rule").fill_null("unknown")
    if own_total:
        rule = (
            pl.when(rule.is_in(["split", "unproven"]))
            .then(rule)
            .when(rest == a)
            .then(pl.lit("inclusive"))
            .when(rest == a + cache)
            .then(pl.lit("exclusive"))
            .otherwise(rule)
        )
    if summed:
        # Buckets that come to more than the total count something twice.
        rule = pl.when((total >= a) & (rest < a + cache)).then(pl.lit("inclusive")).otherwise(rule)
    # Cached tokens are part of the prompt, so more of them than the field holds settles it against any total.
    # In steps, as an expression is planned again wherever it is used.
    frame = frame.with_columns(rule=pl.when(proves_exclusive).then(pl.lit("exclusive")).otherwise(rule))
    rule = pl.col("rule")
    inclusive, exclusive = rule == "inclusive", rule.is_in(["exclusive", "split"])
    untold = pl.col("cache_read").is_null() & pl.col("cache_write").is_null()
    open_above = cache_flaw | (exclusive & ~visible) | ((rule == "unproven") & untold)

    reported_low = pl.when(exclusive).then(a + cache).otherwise(a)
    counted_high = pl.when(inclusive).then(a).when(open_above).then(None).otherwise(a + cache)
    frame = frame.with_columns(open_above=open_above, counted_high=counted_high)
    open_above, counted_high = pl.col("open_above"), pl.col("counted_high")
    # A total of the provider that leaves more for the prompt than the record counts: cached tokens may be what is missing.
    proves = ~rule.is_in(["split", "unproven"]) if own_total else pl.lit(value=False)
    hidden = proves & (rest > counted_high).fill_null(value=False)
    reported_high = pl.when(hidden).then(rest).otherwise(counted_high)
    reported_basis = (
        pl.when(hidden).then(pl.lit("uncertain-cache-rule"))
        .when(inclusive).then(pl.lit("reported"))
        .when(open_above).then(pl.lit("uncertain-cache-rule"))
        .when(cache == 0).then(pl.lit("reported"))
        .when(exclusive).then(pl.lit("reported+cache"))
        .otherwise(pl.lit("uncertain-cache-rule"))
    )  # fmt: skip

    # Without an input field: the total less the output, else the total bounds from above, and the cache from below.
    exact, above = rest.is_not_null(), pl.when(total > 0).then(total)
    other_high = pl.when(exact & (rest > 0)).then(rest).when(~exact).then(above)
    other_low = pl.when(exact & (rest > 0)).then(rest).when(cache > 0).then(cache)
    contradicts = ~given & ((rest < 0) | (other_high < cache)).fill_null(value=False)
    other_basis = (
        pl.when(other_high.is_not_null()).then(pl.lit("total-minus-output"))
        .when(cache > 0).then(pl.lit("reported+cache")).otherwise(pl.lit("unknown"))
    )  # fmt: skip
    numbers = (
        pl.when(given).then(reported_low).when(~contradicts).then(other_low).alias("low"),
        pl.when(given).then(reported_high).when(~contradicts).then(other_high).alias("high"),
    )
    if bare:
        return frame.with_columns(numbers)
    return frame.with_columns(
        *numbers,
        pl.when(given)
        .then(reported_basis)
        .when(contradicts)
        .then(pl.lit("unknown"))
        .otherwise(other_basis)
        .alias("basis"),
        pl.when(contradicts).then(pl.lit("tokens_contradict")).alias("conflict"),
    )


def _bounded(frame: pl.DataFrame, allowance: int, *, estimate: bool, bare: bool) -> pl.DataFrame:
    """Meets the counts with what the size of the request allows."""
    size = pl.col("request_bytes")
    # A compressed body bounds nothing; no request has no bytes, so 0 is a size that nobody wrote down.
    bound = pl.when((size > 0) & pl.col("encoding").is_in(_UNCOMPRESSED)).then(size + allowance)
    low, high, basis = pl.col("low"), pl.col("high"), pl.col("basis")
    if estimate:
        basis = pl.when(low.is_null() & high.is_null()).then(pl.lit("unknown")).otherwise(pl.lit("client-estimate"))
        low = high = pl.lit(None, dtype=pl.Int64)
    exceeds = (low > bound).fill_null(value=False)
    bounds = (
        pl.when(~exceeds).then(low).alias("prompt_tokens_min"),
        pl.when(~exceeds).then(pl.min_horizontal(high, bound)).alias("prompt_tokens_max"),
    )
    completion = pl.col("completion").alias("completion_tokens")
    if bare:
        return frame.select(*bounds, completion)
    by_size = low.is_null() & high.is_null() & bound.is_not_null()
    problems = [
        pl.when(pl.col(f"{slot}_flaw").is_not_null()).then(pl.concat_str(pl.lit(f"{name}_"), f"{slot}_flaw"))
        for slot, name in _NAMES.items()
    ]
    return frame.select(
        *bounds,
        pl.when(exceeds)
        .then(pl.lit("unknown"))
        .when(by_size)
        .then(pl.lit("size-bound"))
        .otherwise(basis)
        .alias("token_basis"),
        completion,
        pl.concat_list(*problems, "conflict", pl.when(exceeds).then(pl.lit("tokens_exceed_size")))
        .list.drop_nulls()
        .alias("problems"),
    )
