"""Do the names of files tell which are missing, and which belong together?"""

from __future__ import annotations

import pytest

from kvforensics.name_gaps import holes, logpush_spans, stream_of


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n/node-01.jsonl", "n/node-02.jsonl.gz", "n/node-04.jsonl"], {"n/node-*.jsonl": ("03",)}),
        (["app.log.1", "app.log.3.gz", "app.log.4.gz"], {"app.log.*": ("2",)}),
        (["app.log.2.gz", "app.log.3.gz"], {"app.log.*": ("1",)}),
        (["c/x_2026-08-30.jsonl", "c/x_2026-09-02.jsonl"], {"c/x_*.jsonl": ("2026-08-31", "2026-09-01")}),
        (["c/x-20260831.log", "c/x-20260902.log"], {"c/x-*.log": ("20260901",)}),
        (["c/x_2026-11.jsonl", "c/x_2027-01.jsonl"], {"c/x_*.jsonl": ("2026-12",)}),
        (["g/l_2026-08_01.json", "g/l_2026-08_03.json", "g/l_2026-09_01.json"], {"g/l_2026-08_*.json": ("02",)}),
        (["a-1.log", "a-2.log", "b-1.log", "b-4.log", "b-2.log"], {"b-*.log": ("3",)}),
    ],
)
def test_a_number_or_a_date_that_is_skipped_is_a_missing_file(
    names: list[str], expected: dict[str, tuple[str, ...]]
) -> None:
    assert {h.pattern: h.missing for h in holes(names)} == expected


@pytest.mark.parametrize(
    "names",
    [
        ["ams-01.jsonl", "scl-02.jsonl", "nrt-04.jsonl"],
        ["app-1693526400.log", "app-1693612800.log"],
        ["a-1.log", "a-2.log", "a-3.log"],
        ["a.log", "b.log"],
        ["x-5f1c0a9e.log", "x-7f1c0a9e.log"],
        ["only-7.log"],
        [
            "20260827/20260827T000000Z_20260827T010000Z_a1.log.gz",
            "20260827/20260827T030000Z_20260827T040000Z_b2.log.gz",
        ],
        [],
    ],
)
def test_other_names_have_no_hole(names: list[str]) -> None:
    assert holes(names) == ()


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("nodes/ams-01_2026-08.jsonl.gz", "nodes/ams-01"),
        ("nodes/ams-01_2026-09.jsonl", "nodes/ams-01"),
        ("gateway/list_logs_2026-08_01.json.gz", "gateway/list_logs"),
        ("logpush/202608.log.gz", "logpush"),
        ("push/20260827/20260827T000000Z_20260910T000000Z_5f1c0a9e.log.gz", "push"),
        ("a/app.log.3.gz", "a/app"),
        ("a/app.log", "a/app"),
        ("node-03.jsonl", "node-03"),
        ("2026-09-01.jsonl", "2026-09-01"),
        ("-", "-"),
    ],
)
def test_files_that_differ_by_date_page_or_rotation_are_one_stream(name: str, stream: str) -> None:
    assert stream_of(name) == stream


def test_logpush_names_say_which_time_they_hold() -> None:
    hour = 3_600_000_000
    first, second = logpush_spans(
        [
            "p/20260827/20260827T010000Z_20260827T020000Z_b.log.gz",
            "p/20260827/20260827T000000Z_20260827T010000Z_a.log.gz",
            "x.log",
        ]
    )
    assert first[1] == second[0]
    assert (first[1] - first[0], second[1] - second[0]) == (hour, hour)
    assert logpush_spans(["p/20269927T010000Z_20260827T020000Z_b.log.gz"]) == ()
