"""Every reading of time is an interval in UTC with its basis."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import cases
from kvforensics import clock_columns
from kvforensics.clock import Reading, check_zone, coverage_instant, read_instant, read_instants, telling
from kvforensics.clock_columns import decode
from kvforensics.errors import UsageError

HOUR = 3_600_000_000
ZONES = (None, "UTC", "Europe/Amsterdam", "America/New_York", "Australia/Lord_Howe", "America/Santiago")


def us(text: str) -> int:
    """Microseconds of a UTC time, read by the standard library."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


def as_columns() -> AbstractContextManager[object]:
    """However few rows have a layout, they are read as a column."""
    return patch.object(clock_columns, "FEWEST", 1)


AT = us("2026-09-01T10:15:30")


@pytest.mark.parametrize(
    ("text", "earliest", "precision"),
    [
        ("2026-09-01T10:15:30Z", AT, 1_000_000),
        ("2026-09-01t10:15:30z", AT, 1_000_000),
        ("2026-09-01 10:15:30Z", AT, 1_000_000),
        ("  2026-09-01T10:15:30Z\n", AT, 1_000_000),
        ("2026-09-01T10:15:30.5Z", AT + 500_000, 100_000),
        ("2026-09-01T10:15:30.123Z", AT + 123_000, 1_000),
        ("2026-09-01T10:15:30,123Z", AT + 123_000, 1_000),
        ("2026-09-01T10:15:30.123456Z", AT + 123_456, 1),
        ("2026-09-01T10:15:30.1234567Z", AT + 123_456, 1),
        ("2026-09-01T10:15:30.123456789Z", AT + 123_456, 1),
        ("2026-09-01T10:15Z", us("2026-09-01T10:15:00"), 60_000_000),
        ("2026-09-01T10:15:30+02:00", AT - 2 * HOUR, 1_000_000),
        ("2026-09-01T10:15:30-0330", AT + 7 * HOUR // 2, 1_000_000),
        ("2026-09-01 10:15:30.123456+00", AT + 123_456, 1),
        ("2026-09-01T10:15:30-00:00", AT, 1_000_000),
        ("2026-09-01T10:15:30+23:59", AT - 24 * HOUR + HOUR // 60, 1_000_000),
        ("2026-09-01T10:15:30+02:00[Europe/Amsterdam]", AT - 2 * HOUR, 1_000_000),
        ("20260901T101530Z", AT, 1_000_000),
        ("20260901T101530.123Z", AT + 123_000, 1_000),
        ("2026-09-01 10:15:30.123 +0000 UTC", AT + 123_000, 1_000),
        ("2026-09-01 10:15:30.123 +0000 UTC m=+0.000012345", AT + 123_000, 1_000),
        ("2026-09-01 10:15:30 +0200 CEST", AT - 2 * HOUR, 1_000_000),
        ("2026-09-01 10:15:30 +0300 +03", AT - 3 * HOUR, 1_000_000),
        ("2026-09-01 10:15:30 UTC", AT, 1_000_000),
        ("Tue Sep 01 2026 10:15:30 GMT+0200 (Central European Summer Time)", AT - 2 * HOUR, 1_000_000),
        ("Tue Sep 01 2026 10:15:30 GMT+0000 (Coordinated Universal Time)", AT, 1_000_000),
        ("Tue, 01 Sep 2026 10:15:30 GMT", AT, 1_000_000),
        ("Tue, 1 Sep 2026 10:15:30 +0200", AT - 2 * HOUR, 1_000_000),
        ("Tue Sep  1 10:15:30 UTC 2026", AT, 1_000_000),
        ("Tue Sep 01 10:15:30 +0200 2026", AT - 2 * HOUR, 1_000_000),
        ("01/Sep/2026:10:15:30 +0200", AT - 2 * HOUR, 1_000_000),
        ("[01/Sep/2026:10:15:30 -0700]", AT + 7 * HOUR, 1_000_000),
        ("2026/09/01 10:15:30Z", AT, 1_000_000),
    ],
)
def test_a_text_with_an_offset_is_the_interval_of_its_precision_whatever_the_zone(text, earliest, precision):
    for zone in ZONES:
        assert read_instant(text, zone) == Reading(earliest, earliest + precision - 1, "offset")


@pytest.mark.parametrize(
    "text",
    [
        "2026-09-01T10:15:30", "2026-09-01 10:15:30", "2026/09/01 10:15:30", "20260901T101530",
        "01/Sep/2026:10:15:30", "Tue Sep  1 10:15:30 2026", "Tue, 01 Sep 2026 10:15:30",
    ],
)  # fmt: skip
def test_a_naive_text_needs_a_zone_and_is_read_over_all_offsets_without(text):
    assert read_instant(text, None) == Reading(AT - 14 * HOUR, AT + 12 * HOUR + 999_999, "any-offset")
    assert read_instant(text, "UTC") == Reading(AT, AT + 999_999, "offset")
    here = AT - 2 * HOUR
    assert read_instant(text, "Europe/Amsterdam") == Reading(here, here + 999_999, "assumed:Europe/Amsterdam")


@pytest.mark.parametrize(
    "text",
    [
        "13.9.2026, 20:41", "13. 9. 2026 20:41", "9/13/2026, 8:41 PM", "13/09/2026 20:41", "13-09-2026 20:41",
        "Sep 13, 2026, 8:41 PM", "September 13, 2026 at 8:41\u202fPM", "Sunday, September 13, 2026 at 8:41 p.m.",
        "13 Sept 2026, 20:41", "2026/9/13 20:41", "2026-09-13, 8:41 p. m.",
    ],
)  # fmt: skip
def test_a_time_as_pages_and_spreadsheets_write_it_is_local_and_read_to_the_minute(text: str) -> None:
    at = us("2026-09-13T20:41:00")
    assert read_instant(text, None) == Reading(at - 14 * HOUR, at + 12 * HOUR + 59_999_999, "any-offset")
    assert read_instant(text, "Europe/Amsterdam") == Reading(
        at - 2 * HOUR, at - 2 * HOUR + 59_999_999, "assumed:Europe/Amsterdam"
    )


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("9/2/2026, 8:41 AM", "2026-02-09T08:41:00", "2026-09-02T08:41:59.999999"),
        ("02/09/2026, 12:41:07 AM", "2026-02-09T00:41:07", "2026-09-02T00:41:07.999999"),
        ("9/9/2026, 12:41 PM", "2026-09-09T12:41:00", "2026-09-09T12:41:59.999999"),
        ("10-11-2026 08:41", "2026-10-11T08:41:00", "2026-11-10T08:41:59.999999"),
    ],
)
def test_a_day_and_a_month_in_either_order_are_both_readings(text: str, first: str, last: str) -> None:
    problem = None if first[:10] == last[:10] else "time_day_or_month"
    assert read_instant(text, "UTC") == Reading(us(first), us(last), "offset", problem)
    assert read_instant(text, None) == Reading(us(first) - 14 * HOUR, us(last) + 12 * HOUR, "any-offset", problem)
    assert read_instants(pl.Series([text] * 50), "UTC").unique().rows() == [(us(first), us(last), "offset", problem)]


PRECISIONS = {
    "": 1_000_000,
    ".1": 100_000,
    ".12": 10_000,
    ".123": 1_000,
    ".1234": 100,
    ".12345": 10,
    ".123456": 1,
    ".1234567": 1,
}


@pytest.mark.parametrize("fraction", PRECISIONS)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("suffix", ["", "Z", "+05:30", "-11:00"])
def test_precision_and_zone_do_not_touch_each_other(fraction, zone, suffix):
    at = AT + int(f"{fraction[1:]:0<6}"[:6])
    offset = {"Z": 0, "+05:30": 11 * HOUR // 2, "-11:00": -11 * HOUR}.get(suffix)
    local = {
        None: (14, -12), "UTC": (0, 0), "Europe/Amsterdam": (2, 2), "America/New_York": (-4, -4),
        "Australia/Lord_Howe": (10.5, 10.5), "America/Santiago": (-4, -4),
    }[zone]  # fmt: skip
    east, west = (offset, offset) if offset is not None else (int(local[0] * HOUR), int(local[1] * HOUR))
    read = read_instant(f"2026-09-01T10:15:30{fraction}{suffix}", zone)
    assert (read.earliest, read.latest) == (at - east, at - west + PRECISIONS[fraction] - 1)
    assert read.problem is None


@pytest.mark.parametrize(
    ("text", "zone", "kind", "first", "last"),
    [
        ("2026-10-25T02:30:00", "Europe/Amsterdam", "ambiguous", "2026-10-25T00:30:00", "2026-10-25T01:30:00"),
        ("2026-10-25T01:59:59", "Europe/Amsterdam", "assumed", "2026-10-24T23:59:59", "2026-10-24T23:59:59"),
        ("2026-10-25T02:00:00", "Europe/Amsterdam", "ambiguous", "2026-10-25T00:00:00", "2026-10-25T01:00:00"),
        ("2026-10-25T03:00:00", "Europe/Amsterdam", "assumed", "2026-10-25T02:00:00", "2026-10-25T02:00:00"),
        ("2026-03-29T02:30:00", "Europe/Amsterdam", "nonexistent", "2026-03-29T00:30:00", "2026-03-29T01:30:00"),
        ("2026-03-29T03:00:00", "Europe/Amsterdam", "assumed", "2026-03-29T01:00:00", "2026-03-29T01:00:00"),
        ("2026-11-01T01:30:00", "America/New_York", "ambiguous", "2026-11-01T05:30:00", "2026-11-01T06:30:00"),
        ("2026-03-08T02:30:00", "America/New_York", "nonexistent", "2026-03-08T06:30:00", "2026-03-08T07:30:00"),
        ("2026-04-05T01:45:00", "Australia/Lord_Howe", "ambiguous", "2026-04-04T14:45:00", "2026-04-04T15:15:00"),
        ("2026-10-04T02:15:00", "Australia/Lord_Howe", "nonexistent", "2026-10-03T15:15:00", "2026-10-03T15:45:00"),
        ("2026-09-06T00:30:00", "America/Santiago", "nonexistent", "2026-09-06T03:30:00", "2026-09-06T04:30:00"),
        ("2026-09-06T01:00:00", "America/Santiago", "assumed", "2026-09-06T04:00:00", "2026-09-06T04:00:00"),
        ("2026-04-04T23:30:00", "America/Santiago", "ambiguous", "2026-04-05T02:30:00", "2026-04-05T03:30:00"),
    ],
)
def test_a_fold_gives_both_instants_and_a_gap_both_readings(text, zone, kind, first, last):
    expected = Reading(us(first), us(last) + 999_999, f"{kind}:{zone}")
    assert read_instant(text, zone) == expected
    many = read_instants(pl.Series([text, *["2026-07-01T12:00:00"] * 99]), zone)
    assert Reading(*many.row(0)) == expected


@pytest.mark.parametrize(
    ("text", "earliest", "width"),
    [
        ("1788257730", AT, 1_000_000),
        ("1788257730.0", AT, 1_000_000),
        ("1788257730.5", AT + 500_000, 100_000),
        ("1788257730.000", AT, 1_000),
        ("1788257730.123", AT + 123_000, 1_000),
        ("1788257730.1234567", AT + 123_456, 1),
        ("1788257730123", AT + 123_000, 1_000),
        ("1788257730123.0", AT + 123_000, 1_000),
        ("1788257730123.25", AT + 123_250, 10),
        ("1788257730123.4567", AT + 123_456, 1),
        ("1788257730123456", AT + 123_456, 1),
        ("1788257730123456789", AT + 123_456, 1),
        ("1.788257730123456e+18", AT + 123_456, 1),
        ("1.78825773E9", AT, 1_000_000),
    ],
)
def test_the_unit_of_an_epoch_is_told_by_its_magnitude(text, earliest, width):
    for zone in ZONES:
        assert read_instant(text, zone) == Reading(earliest, earliest + width - 1, "epoch")


@pytest.mark.parametrize(
    "text", ["2026-09-01 10:15:30 CST", "Tue Sep  1 10:15:30 EST 2026", "2026-09-01T10:15:30[Europe/Amsterdam]"]
)
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_a_zone_by_name_alone_could_be_any(text: str, zone: str | None) -> None:
    plain = read_instant("2026-09-01 10:15:30", None)
    assert read_instant(text, zone) == replace(plain, problem="time_zone_name_unknown")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("639236289301234567", "time_unit_ambiguous"),  # .NET ticks
        ("20260901101530", "time_unit_ambiguous"),
        ("202609011015", "time_unit_ambiguous"),
        ("20260901101530123", "time_unit_ambiguous"),
        ("0", "time_implausible"),
        ("20260901", "time_implausible"),
        ("99999999", "time_implausible"),
        ("-1788257730", "time_implausible"),
        ("5000000000000000001", "time_implausible"),
        ("9" * 40, "time_implausible"),
        ("1e99", "time_implausible"),
        ("0001-01-01T00:00:00Z", "time_implausible"),
        ("1970-01-01T00:00:00Z", "time_implausible"),
        ("9999-12-31T23:59:59.9999999Z", "time_implausible"),
        ("2026-09-01 13:15:30 PM", "time_unreadable"),
        ("2026-09-01 10:15:30 +0200 UTC", "time_unreadable"),
        ("2026-02-29T10:15:30Z", "time_unreadable"),
        ("2026-04-31T10:15:30Z", "time_unreadable"),
        ("2026-13-01T10:15:30Z", "time_unreadable"),
        ("2026-00-01T10:15:30Z", "time_unreadable"),
        ("2026-09-00T10:15:30Z", "time_unreadable"),
        ("2026-09-01T24:00:00Z", "time_unreadable"),
        ("2026-09-01T10:60:00Z", "time_unreadable"),
        ("2026-09-01T10:15:60Z", "time_unreadable"),
        ("2026-09-01T10:15:30+24:00", "time_unreadable"),
        ("2026-09-01T10:15:30+02:60", "time_unreadable"),
        ("2026-09-01T10:15:30.Z", "time_unreadable"),
        ("2026-09-01T10:15:30.1234567890Z", "time_unreadable"),
        ("2026-09/01 10:15:30", "time_unreadable"),
        ("2026-9-1T10:15:30Z", "time_unreadable"),
        ("Mon Sep 01 2026 10:15:30 GMT+0200", "time_unreadable"),  # it was a Tuesday
        ("[01/Sep/2026:10:15:30 +0200", "time_unreadable"),
        ("01/Foo/2026:10:15:30 +0200", "time_unreadable"),
        ("9/31/2026, 10:15:30 AM", "time_unreadable"),
        ("9/1/26, 10:15:30 AM", "time_unreadable"),
        ("9/1/2026, 0:15:30 AM", "time_unreadable"),
        ("Sep  1 10:15:30", "time_unreadable"),
        ("10:15:30", "time_unreadable"),
        ("٢٠٢٦-09-01T10:15:30Z", "time_unreadable"),
        ("yesterday", "time_unreadable"),
        ("true", "time_unreadable"),
        ("2" * 5000, "time_unreadable"),
    ],
)  # fmt: skip
def test_what_is_ambiguous_implausible_or_no_time_is_refused_with_its_reason(text, problem):
    for zone in ZONES:
        assert read_instant(text, zone) == Reading(None, None, "missing", problem)
    assert read_instants(pl.Series([text] * 50), None).unique().rows() == [(None, None, "missing", problem)]


def test_a_missing_time_is_missing_and_no_problem():
    for text in (None, "", "  "):
        assert read_instant(text, "UTC") == Reading(None, None, "missing")


def test_a_leap_second_is_the_end_of_second_59_and_the_second_after():
    end = us("2026-12-31T23:59:59.999999")
    for text in ("2026-12-31T23:59:60Z", "2027-01-01T05:29:60+05:30"):
        assert read_instant(text, None) == Reading(end, end + 1_000_000, "offset")
    assert read_instant("2027-01-01T00:59:60", "Europe/Amsterdam").earliest == end
    assert read_instant("2027-01-01T01:59:60", "Europe/Amsterdam").problem == "time_unreadable"
    assert read_instant("2027-01-01T00:59:60", None).basis == "any-offset"
    assert read_instant("2027-01-01T00:58:60", None).problem == "time_unreadable"


@pytest.mark.parametrize(
    ("day", "zone", "first", "last"),
    [
        ("2026-09-01", "UTC", "2026-09-01T00:00:00", "2026-09-01T23:59:59.999999"),
        ("2026-09-01", None, "2026-08-31T10:00:00", "2026-09-02T11:59:59.999999"),
        ("2026-09-01", "Europe/Amsterdam", "2026-08-31T22:00:00", "2026-09-01T21:59:59.999999"),
        ("2026-10-25", "Europe/Amsterdam", "2026-10-24T22:00:00", "2026-10-25T22:59:59.999999"),
        ("2026-09-06", "America/Santiago", "2026-09-06T04:00:00", "2026-09-07T02:59:59.999999"),
        ("2026-09-05", "America/Santiago", "2026-09-05T04:00:00", "2026-09-06T03:59:59.999999"),
        ("2026-04-04", "America/Santiago", "2026-04-04T03:00:00", "2026-04-05T03:59:59.999999"),
        ("2011-12-30", "Pacific/Apia", "2011-12-29T10:00:00", "2011-12-31T09:59:59.999999"),
    ],
)
def test_a_date_is_its_whole_day_there(day, zone, first, last):
    assert read_instant(day, zone) == Reading(us(first), us(last), "date-only")


def test_an_unknown_zone_is_a_usage_error_that_names_the_nearest():
    for known in ("UTC", "Europe/Amsterdam", "Etc/GMT-2"):
        check_zone(known)
    for wrong, near in (("Europe/Amsterdm", "Europe/Amsterdam"), ("Santiago", "America/Santiago"), ("utc", "UTC")):
        with pytest.raises(UsageError, match=f"did you mean '{near}'"):
            check_zone(wrong)
    for wrong in ("CEST", "+02:00", "", "../UTC", "localtime", "Factory", "/etc/localtime", "Mars/Phobos"):
        with pytest.raises(UsageError, match="IANA name"):
            check_zone(wrong)
        with pytest.raises(UsageError):
            read_instants(pl.Series(["2026-09-01T10:15:30"]), wrong)


_moments = st.one_of(
    st.datetimes(datetime(1971, 1, 1), datetime(2103, 1, 1)),  # noqa: DTZ001
    st.sampled_from(
        ["2026-10-25T02:30", "2026-03-29T02:30", "2026-11-01T01:30", "2026-03-08T02:30", "2026-04-05T01:45",
         "2026-10-04T02:15", "2026-09-06T00:30", "2026-04-04T23:30", "2024-02-29T00:00", "1999-12-31T23:59:59"],
    ).flatmap(lambda t: st.integers(-5400, 5400).map(lambda s: datetime.fromisoformat(t) + timedelta(seconds=s))),
)  # fmt: skip
_fractions = st.sampled_from(["", *(f"%{n}" for n in range(1, 11))])
_suffixes = st.one_of(
    st.sampled_from(["", "Z", "z", "+00:00", "-0700", "+05", " +0000 UTC", " CET", "+24:00", "-05:60", "+5:00"]),
    st.builds("{}{:02}:{:02}".format, st.sampled_from("+-"), st.integers(0, 24), st.integers(0, 60)),
)


def _iso(moment: datetime, sep: str, mark: str, fraction: str, suffix: str) -> str:
    decimals = f"{moment.microsecond:06}7891"[: int(fraction[1:])] if fraction else ""
    return f"{moment:%Y-%m-%d}{sep}{moment:%H:%M:%S}{mark if decimals else ''}{decimals}{suffix}"


_iso_texts = st.builds(_iso, _moments, st.sampled_from("Tt _"), st.sampled_from(".,"), _fractions, _suffixes)
_clf_texts = st.builds(
    lambda m, form: m.strftime(form),
    _moments,
    st.sampled_from(["%d/%b/%Y:%H:%M:%S +0200", "[%d/%b/%Y:%H:%M:%S -0730]"]),
)
_numbers = st.one_of(
    st.integers(-(10**9), 10**20).map(str),
    st.integers(8, 19).flatmap(lambda n: st.integers(10**n, 10 ** (n + 1) - 1)).map(str),
    st.builds("{}.{}".format, st.integers(10**8, 10**14), st.text("0123456789", min_size=1, max_size=12)),
    st.floats(1e8, 1e19).map(repr),
)
_times = st.one_of(_iso_texts, _clf_texts, _numbers)


@st.composite
def _broken(draw: st.DrawFn) -> str:
    text = draw(_times)
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + draw(st.sampled_from("0123456789:-+./Z T9é٣")) + text[at + 1 :]


_column = st.lists(st.one_of(st.none(), _times, _broken(), st.text(max_size=30)), max_size=12)


@settings(deadline=None, max_examples=cases(100), derandomize=True)
@given(_column, st.sampled_from(ZONES))
@example(["2026-09-01T10:15:30Z"], None)
@example(["+788257730", "-788257730.5", "0788257730123", "1788257730.+23"], None)
@example(["2026-09-01T10:15:30.123456", "01/Sep/2026:10:15:30 +0000", "2026-02-30T10:15:30.123456"], "America/Santiago")
def test_a_column_reads_like_each_of_its_texts(texts, zone):
    with as_columns():
        read = read_instants(pl.Series(texts, dtype=pl.String), zone)
    assert read.schema == {"earliest": pl.Int64, "latest": pl.Int64, "basis": pl.String, "problem": pl.String}
    assert [Reading(*row) for row in read.iter_rows()] == [read_instant(t, zone) for t in texts]


@pytest.mark.parametrize("text", ["2026-09-01T10:15:30.123Z", "01/Sep/2026:10:15:30 +0000", "1788257730"])
def test_many_texts_of_a_common_layout_are_read_as_a_column(text):
    (found,) = decode(pl.Series([text] * clock_columns.FEWEST))
    assert found.frame["row"].to_list() == list(range(clock_columns.FEWEST))


@settings(deadline=None, max_examples=cases(50), derandomize=True)
@given(
    st.lists(_moments, min_size=1, max_size=16),
    st.sampled_from(ZONES),
    _fractions,
    st.sampled_from(["", "Z", "-0330"]),
)
def test_a_column_of_one_shape_reads_like_each_of_its_texts(moments, zone, fraction, suffix):
    texts = [_iso(m, "T", ".", fraction, suffix) for m in moments]
    with as_columns():
        read = read_instants(pl.Series(texts), zone)
    assert [Reading(*row) for row in read.iter_rows()] == [read_instant(t, zone) for t in texts]


@settings(deadline=None, max_examples=cases(100), derandomize=True)
@given(st.one_of(st.text(max_size=200), _broken()), st.sampled_from(ZONES))
def test_no_text_raises_and_no_interval_is_upside_down(text, zone):
    read = read_instant(text, zone)
    assert (read.earliest is None) == (read.latest is None) == (read.basis == "missing")
    if read.earliest is not None and read.latest is not None:
        assert read.earliest <= read.latest
        assert read.problem is None


@settings(deadline=None, max_examples=cases(100), derandomize=True)
@given(_moments, st.sampled_from([z for z in ZONES if z]))
def test_a_stated_zone_only_narrows_the_reading_over_all_offsets(moment, zone):
    text = moment.isoformat()
    wide, narrow = read_instant(text, None), read_instant(text, zone)
    if wide.earliest is None or wide.latest is None:
        assert narrow == wide
    else:
        assert narrow.earliest is not None
        assert narrow.latest is not None
        assert wide.earliest <= narrow.earliest <= narrow.latest <= wide.latest


def test_coverage_takes_the_earliest_instant_of_narrow_intervals_only():
    texts = pl.Series(["2026-09-01T10:15:30Z", "1788257730", "2026-09-01T10:15:30", "2026-09-01", "no", None])
    assert coverage_instant(texts, None).to_list() == [AT, AT, None, None, None, None]
    assert coverage_instant(texts, "Europe/Amsterdam").to_list() == [AT, AT, AT - 2 * HOUR, None, None, None]
    assert coverage_instant(pl.Series([], dtype=pl.String), None).to_list() == []
    assert coverage_instant(pl.Series([None, None]), None).to_list() == [None, None]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["2026-09-01T00:00:00Z", "2026-09-01T02:00:00+02:00", None], True),
        (["1788487929.031", "1788487929031"], True),
        (["10/Sep/2026:14:00:00 +0200"], True),
        (["2026-09-01T00:00:00Z", "2026-09-01 00:00:00"], False),
        (["2026-09-01"], False),
        ([None], None),
    ],
)
def test_times_that_all_say_their_offset_are_told_apart(times: list[str | None], expected: bool | None) -> None:
    assert telling(pl.Series(times, dtype=pl.String))[1] is expected


@given(st.lists(st.integers(min_value=0, max_value=86_400), min_size=1))
def test_the_telling_times_cover_what_all_times_cover(seconds: list[int]) -> None:
    texts = pl.Series([f"{datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=s):%Y-%m-%dT%H:%M:%S}.250Z" for s in seconds])
    every, few = coverage_instant(texts, None), coverage_instant(telling(texts)[0], None)
    assert (every.min(), every.max()) == (few.min(), few.max())
    assert set(every // 60_000_000) == set(few // 60_000_000)
