"""Do the bounds without statistics hold the truth, whatever is done to a log?"""

from __future__ import annotations

from pathlib import Path

import pytest

from damaged_logs import damaged
from effort import cases
from judged_evidence import judged
from kvforensics.case import Case, CheckOptions
from kvforensics.worst_case import _lower_terms, may_be_fewer

RUNS = cases(10)
"""How many damaged logs are checked; 1,000 (KVFORENSICS_EFFORT=100) take minutes."""
ONCE_MISSED = (470,)


def _held(seed: int, folder: Path) -> dict[str, object]:
    log = damaged(seed)
    path = folder / "app.jsonl"
    path.write_text("\n".join(log.lines) + "\n")
    with Case() as case:
        summary = case.check(CheckOptions(paths=(str(path),), workers=1)).summary
    worst = summary["estimate"]["worst_case"]
    found = {}
    for name, truth in (("responses", log.responses), ("tenants", log.tenants)):
        number = worst[name]
        if not (number["lower"] <= truth and (number["upper"] is None or truth <= number["upper"])):
            found[name] = (seed, truth, number["lower"], number["upper"], worst["terms"])
    return found


@pytest.mark.slow
def test_the_worst_case_holds_the_truth_of_every_damaged_log(tmp_path: Path) -> None:
    assert [held for seed in (*range(RUNS), *ONCE_MISSED) if (held := _held(seed, tmp_path))] == []


def test_calls_that_may_be_one_shrink_to_a_set_in_which_no_two_may_be() -> None:
    assert may_be_fewer([]) == 0
    assert may_be_fewer([(1, 2)]) == 1
    # 1 - 2 - 3: 1 and 3 are told apart.
    assert may_be_fewer([(1, 2), (2, 3)]) == 1
    assert may_be_fewer([(1, 2), (2, 3), (1, 3)]) == 2


def test_more_calls_than_can_be_compared_leave_only_one_for_sure() -> None:
    counts = judged([{}, {}, {}]).counts
    [term] = _lower_terms(counts, None, [], aliased=True)
    assert (term.code, term.bound, term.count) == ("many_may_be_one", "lower", 2)


def test_the_sample_rows_of_these_tests_are_affected() -> None:
    assert judged([{}]).counts.responses.affected == 1
