"""How are the common time texts read, a whole column at once?

Rows are sorted by byte length and by a few telling bytes into layouts, each of which is decoded from its bytes with
integer arithmetic. Every layout is a strict subset of what `clock_text` reads and gives the same numbers; a row that a
layout does not read whole (or whose year is outside 2000 to 2099) is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl
from msgspec import Struct

from kvforensics.clock_text import AMBIGUOUS, LARGEST_EPOCH, MONTHS, SECOND, SMALLEST_EPOCH

FEWEST: Final = 200
"""Below so many rows of a layout, setting up a column costs more than reading its rows one by one."""
_ISO, _CLF, _WHOLE, _SECONDS, _MILLIS, _NONE = 0, 16, 32, 33, 34, 255
_DAYS_TO_2000: Final = 10_957
_MONTH_CODES: Final = {int.from_bytes(m.title().encode(), "big"): i for m, i in MONTHS.items()}


class Decoded(Struct, frozen=True):
    """Rows of one layout. `frame` has `row`, `local` and, where `offset` is True, `offset`; all in microseconds.

    `offset` False is a time without an offset, None is an epoch.
    """

    frame: pl.DataFrame
    precision: int
    offset: bool | None


def decode(texts: pl.Series) -> Iterator[Decoded]:
    """The rows that have a common layout, layout by layout; rows that are in none of the results are not decoded."""
    lengths = pl.DataFrame({"t": texts, "n": texts.str.len_bytes()})
    sizes = lengths["n"].value_counts().drop_nulls().sort("n")
    for length, count in sizes.iter_rows():
        if count < FEWEST or not 9 <= length <= 35:
            continue
        rows = lengths.with_row_index("row")
        if count < texts.len():
            rows = rows.filter(pl.col("n") == length)
        array = pl.col("t").cast(pl.Binary).bin.reinterpret(dtype=pl.Array(pl.UInt8, length)).alias("a")
        frame = rows.select("row", "t", array)
        frame = frame.with_columns(_layout(length).alias("layout"))
        kinds = frame["layout"].value_counts(name="n")
        for layout, members in kinds.iter_rows():
            if layout == _NONE or members < FEWEST:
                continue
            part = frame if members == frame.height else frame.filter(pl.col("layout") == layout)
            found = _decode(part, length, layout)
            if found is not None:
                yield found


def _byte(i: int) -> pl.Expr:
    return pl.col("a").arr.get(i)


def _is(i: int, *chars: str) -> pl.Expr:
    test = _byte(i) == ord(chars[0])
    for c in chars[1:]:
        test |= _byte(i) == ord(c)
    return test


def _code(layout: int) -> pl.Expr:
    return pl.lit(layout, pl.UInt8)


def _layout(n: int) -> pl.Expr:
    """The layout that a text of n bytes may have; for ISO times, the length of its zone."""
    code = _code(_NONE)
    if n <= 19:
        code = _code(_WHOLE)
        if n >= 12:
            code = pl.when(_is(10, ".")).then(_code(_SECONDS)).otherwise(code)
        if n >= 15:
            code = pl.when(_is(13, ".")).then(_code(_MILLIS)).otherwise(code)
    elif n <= 23:
        code = pl.when(_is(10, ".")).then(_code(_SECONDS)).when(_is(13, ".")).then(_code(_MILLIS)).otherwise(code)
    if n in (26, 28):
        code = pl.when(_is(2 if n == 26 else 3, "/")).then(_code(_CLF)).otherwise(code)
    if n >= 19:
        zone = _code(_ISO)
        for size in (3, 5, 6):
            if n - size >= 19:
                zone = pl.when(_is(n - size, "+", "-")).then(_code(size)).otherwise(zone)
        zone = pl.when(_is(n - 1, "Z", "z")).then(_code(1)).otherwise(zone)
        code = pl.when(_is(4, "-")).then(zone).otherwise(code)
    return code


def _decode(part: pl.DataFrame, n: int, layout: int) -> Decoded | None:
    if layout == _WHOLE:
        return _whole(part, n)
    if layout in (_SECONDS, _MILLIS):
        return _pointed(part, n, 10 if layout == _SECONDS else 13)
    if layout == _CLF:
        return _clf(part, n)
    digits = n - 20 - layout
    if digits == 0 or digits > 9 or digits < -1:
        return None
    return _iso(part, max(digits, 0), layout)


def _whole(part: pl.DataFrame, n: int) -> Decoded:
    """Epochs in n figures: the number of figures tells the unit."""
    value = pl.col("t").cast(pl.Int64, strict=False)
    # The lower bound also keeps out signs and leading zeros, which make the number shorter than the text.
    good = (value >= max(10 ** (n - 1), SMALLEST_EPOCH)) & (value <= min(10**n - 1, LARGEST_EPOCH))
    for low, high in AMBIGUOUS:
        if len(str(low)) == n:
            good &= (value < low) | (value >= high)
    if n <= 14:
        unit = 10**6 if n <= 11 else 10**3
        local = value * unit
    else:
        unit, local = 1, value if n <= 17 else value // 1000
    return Decoded(part.select("row", local.alias("local"), good=good).filter("good").drop("good"), unit, None)


def _figures(*at: int) -> list[pl.Expr]:
    """The values of the figures at some bytes; what is no figure becomes more than 9."""
    return [(_byte(i) - 48).alias(f"d{i}") for i in at]


def _number(*at: int) -> pl.Expr:
    """The number that some figures make, as an Int64."""
    value = pl.col(f"d{at[0]}").cast(pl.Int32 if len(at) < 10 else pl.Int64)
    for i in at[1:]:
        value = value * 10 + pl.col(f"d{i}")
    return value.cast(pl.Int64)


def _pair(i: int) -> pl.Expr:
    return pl.col(f"d{i}") * 10 + pl.col(f"d{i + 1}")


def _all_figures(*at: int) -> pl.Expr:
    return pl.max_horizontal(f"d{i}" for i in at) <= 9


def _pointed(part: pl.DataFrame, n: int, point: int) -> Decoded:
    """Epochs with decimals: 10 figures of seconds or 13 of milliseconds before the point."""
    places = 6 if point == 10 else 3
    after = tuple(range(point + 1, n))
    value = pl.col("t").str.head(point).cast(pl.Int64, strict=False)
    good = (value >= 10 ** (point - 1)) & _all_figures(*after)
    used = after[:places]
    local = value * 10**places + _number(*used) * 10 ** (places - len(used))
    frame = part.with_columns(_figures(*after)).select("row", local.alias("local"), good=good)
    if len(after) == 1:
        # A lone ".0" is a whole number printed as a float; other single decimals are rare enough to leave.
        frame = frame.with_columns(good=pl.col("good") & (pl.col("local") % 10**places == 0))
        return Decoded(frame.filter("good").drop("good"), 10**places, None)
    return Decoded(frame.filter("good").drop("good"), 10 ** (places - len(used)), None)


def _days(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The day number since 1970 of a date in 2000 + year, and whether there is such a date."""
    leap = (year % 4 == 0).cast(pl.Int32)
    late = (month > 2).cast(pl.Int32)
    number = (
        (year * 365) + ((year + 3) // 4) + ((month * 275) // 9) - late * 2 + late * leap + day + (_DAYS_TO_2000 - 31)
    )
    longest = pl.when(month == 2).then(leap + 28).otherwise((month + (month > 7).cast(pl.Int32)) % 2 + 30)
    return number, (month >= 1) & (month <= 12) & (day >= 1) & (day <= longest)


def _clock(h: int, day: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Seconds since 1970 of hh:mm:ss at byte h of a day, and whether there is such a time."""
    seconds = pl.col("hh").cast(pl.Int32) * 3600 + pl.col("mi").cast(pl.Int32) * 60 + pl.col("ss")
    good = _is(h + 2, ":") & _is(h + 5, ":") & (pl.col("hh") < 24) & (pl.col("mi") < 60) & (pl.col("ss") < 60)
    return day.cast(pl.Int64) * 86_400 + seconds, good


def _zone(at: int, size: int) -> tuple[pl.Expr, pl.Expr]:
    """The offset in microseconds that stands at a byte (+hh, +hhmm, +hh:mm), and whether it is one."""
    hours = _pair(at + 1)
    good = _is(at, "+", "-") & (hours < 24)
    seconds = hours.cast(pl.Int32) * 3600
    if size > 3:
        minutes = _pair(at + size - 2)
        good &= minutes < 60
        seconds += minutes.cast(pl.Int32) * 60
    if size == 6:
        good &= _is(at + 3, ":")
    return pl.when(_is(at, "-")).then(-seconds).otherwise(seconds).cast(pl.Int64) * SECOND, good


def _zone_figures(at: int, size: int) -> tuple[int, ...]:
    return {3: (at + 1, at + 2), 5: (at + 1, at + 2, at + 3, at + 4), 6: (at + 1, at + 2, at + 4, at + 5)}.get(size, ())


def _calendar(frame: pl.DataFrame, h: int, good: pl.Expr, fraction: int, zone_at: int, zone: int) -> Decoded:
    """Dates whose figures are decoded, with a time at byte h, so many figures of a fraction, and a zone of a size."""
    day, real_day = _days(pl.col("yy"), pl.col("mm"), pl.col("dd"))
    clock, real_time = _clock(h, day)
    local = clock * SECOND
    if fraction:
        used = min(fraction, 6)
        local += _number(*range(h + 9, h + 9 + used)) * 10 ** (6 - used)
    columns = [pl.col("row"), local.alias("local")]
    good = good & real_day & real_time
    if zone > 1:
        offset, real_zone = _zone(zone_at, zone)
        columns.append(offset.alias("offset"))
        good &= real_zone
    elif zone == 1:
        columns.append(pl.lit(0, pl.Int64).alias("offset"))
    found = frame.select(*columns, good=good)
    kept = found if found["good"].all() else found.filter("good")
    return Decoded(kept.drop("good"), 10 ** (6 - min(fraction, 6)), zone > 0)


def _iso(part: pl.DataFrame, fraction: int, zone: int) -> Decoded:
    """`2026-09-01T10:15:30`, a fraction, and Z or an offset or nothing."""
    zone_at = 19 + (fraction + 1 if fraction else 0)
    at = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, *range(20, 20 + fraction))
    at += _zone_figures(zone_at, zone)
    frame = part.with_columns(_figures(*at))
    frame = frame.with_columns(
        _pair(2).cast(pl.Int32).alias("yy"), _pair(5).cast(pl.Int32).alias("mm"), _pair(8).cast(pl.Int32).alias("dd"),
        _pair(11).alias("hh"), _pair(14).alias("mi"), _pair(17).alias("ss"),
    )  # fmt: skip
    good = _all_figures(*at) & _is(0, "2") & _is(1, "0") & _is(4, "-") & _is(7, "-") & _is(10, "T", "t", " ")
    if fraction:
        good &= _is(19, ".", ",")
    return _calendar(frame, 11, good, fraction, zone_at, zone)


def _clf(part: pl.DataFrame, n: int) -> Decoded:
    """`01/Sep/2026:10:15:30 +0200`, with or without brackets."""
    o = 0 if n == 26 else 1
    at = tuple(o + i for i in (0, 1, 7, 8, 9, 10, 12, 13, 15, 16, 18, 19)) + _zone_figures(o + 21, 5)
    frame = part.with_columns(_figures(*at))
    name = (_byte(o + 3).cast(pl.Int32) * 256 + _byte(o + 4)) * 256 + _byte(o + 5)
    frame = frame.with_columns(
        _pair(o + 9).cast(pl.Int32).alias("yy"), _pair(o).cast(pl.Int32).alias("dd"),
        name.replace_strict(_MONTH_CODES, default=0, return_dtype=pl.Int32).alias("mm"),
        _pair(o + 12).alias("hh"), _pair(o + 15).alias("mi"), _pair(o + 18).alias("ss"),
    )  # fmt: skip
    good = _all_figures(*at) & _is(o + 2, "/") & _is(o + 6, "/") & _is(o + 7, "2") & _is(o + 8, "0")
    good &= _is(o + 11, ":") & _is(o + 20, " ")
    if o:
        good &= _is(0, "[") & _is(n - 1, "]")
    return _calendar(frame, o + 12, good, 0, o + 21, 5)
