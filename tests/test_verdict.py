"""Does the verdict follow from counts, coverage and problems?"""

from __future__ import annotations

import itertools

import pytest

from kvforensics.verdict import decide

CASES = [
    # affected, possible, replays, covered, broken -> word, status
    (1, 0, 0, True, False, "exposed", 10),
    (1, 5, 5, False, True, "exposed", 10),
    (0, 1, 0, True, False, "possibly_exposed", 11),
    (0, 0, 1, False, True, "possibly_exposed", 11),
    (0, 0, 0, True, False, "not_exposed", 0),
    (0, 0, 0, False, False, "undetermined", 12),
    (0, 0, 0, True, True, "undetermined", 13),
    (0, 0, 0, False, True, "undetermined", 13),
]


@pytest.mark.parametrize(("affected", "possible", "replays", "covered", "broken", "word", "status"), CASES)
def test_the_verdict_follows_the_contract(
    affected: int, possible: int, replays: int, covered: bool, broken: bool, word: str, status: int
) -> None:
    verdict = decide(
        affected=affected, possible=possible, replays=replays, window_covered=covered, broken=broken
    )
    assert (verdict.word, verdict.exit_status, verdict.complete) == (word, status, not broken)


def test_an_unreadable_line_that_names_the_model_forbids_not_exposed() -> None:
    verdict = decide(affected=0, possible=0, replays=0, window_covered=True, broken=False, mentions_model=True)
    assert (verdict.word, verdict.exit_status, verdict.complete) == ("undetermined", 12, True)
    assert verdict.reasons == ("unreadable_line_mentions_model",)


def test_not_exposed_is_said_only_where_nothing_at_all_speaks_against_it() -> None:
    for covered, broken, unread, mentions in itertools.product((True, False), repeat=4):
        verdict = decide(
            affected=0, possible=0, replays=0, window_covered=covered, broken=broken, unread=unread,
            mentions_model=mentions,
        )  # fmt: skip
        good = covered and not broken and not unread and not mentions
        assert (verdict.word == "not_exposed") is good
        assert (verdict.exit_status == 0) is good
