"""Is what changed between two runs told by finding, by number and by cause?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handed_over import call, made_case
from kvforensics.case_reader import StoredCase
from kvforensics.difference import Cause, compare

GIVEN = [call(1), call(2, usage=None), call(3, user_agent="loadtest/1")]


def case(folder: Path, given: list[dict[str, Any]]) -> StoredCase:
    folder.mkdir()
    return made_case(folder, given)


def test_a_case_is_no_different_from_itself_made_elsewhere(tmp_path: Path) -> None:
    found = compare(case(tmp_path / "a", GIVEN), case(tmp_path / "b", GIVEN))
    assert not found.found
    assert found.same == 4


def test_a_log_that_grew_has_one_new_finding_and_the_same_old_ones(tmp_path: Path) -> None:
    found = compare(case(tmp_path / "a", GIVEN), case(tmp_path / "b", [call(8), *GIVEN]))
    assert [(p.disposition, p.line) for p in found.added] == [("affected", 1)]
    assert found.removed == ()
    assert found.changed == ()
    assert found.same == 4
    assert found.causes == (Cause("input", "logs/app.jsonl", "changed"),)
    assert ("responses.affected", 2, 3) in found.numbers


def test_a_finding_that_is_settled_says_what_changed(tmp_path: Path) -> None:
    found = compare(case(tmp_path / "a", GIVEN), case(tmp_path / "b", [call(1), call(2), GIVEN[2]]))
    (one,) = found.changed
    fields = {key: (old, new) for key, old, new in one.fields}
    assert fields["disposition"] == ("possible", "affected")
    assert fields["prompt_tokens_min"] == (None, 702_114)
    assert (found.added, found.removed) == ((), ())


def test_a_rule_that_was_added_is_a_cause_and_its_findings_change(tmp_path: Path) -> None:
    before = case(tmp_path / "a", GIVEN)
    after_folder = tmp_path / "b"
    after_folder.mkdir()
    from kvforensics.case import Case, CheckOptions, RunFacts
    from kvforensics.case_reader import open_case

    with Case() as run:
        run.check(CheckOptions((str(tmp_path / "a" / "logs"),), workers=1))
        run.write_case(str(after_folder / "case"), RunFacts(1.0, "here", 1))
    found = compare(open_case(after_folder / "case"), before)
    assert Cause("exclusions", "rules.toml", "added") in found.causes
    assert Cause("rule", "load", "added") in found.causes
    (one,) = found.changed
    assert ("disposition", "affected", "excluded") in one.fields


def test_a_finding_that_is_gone_is_told(tmp_path: Path) -> None:
    found = compare(case(tmp_path / "a", GIVEN), case(tmp_path / "b", GIVEN[:2]))
    assert [p.disposition for p in found.removed] == ["excluded"]
