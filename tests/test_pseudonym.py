"""Do pseudonyms tell tenants apart, and nothing else?"""

from __future__ import annotations

from pathlib import Path

import pytest

from kvforensics.errors import UsageError
from kvforensics.pseudonym import Pseudonyms, load_key

KEY = bytes(range(32))


def test_a_name_is_the_same_for_one_group_and_another_for_the_next() -> None:
    one, other = Pseudonyms(KEY, "regulator"), Pseudonyms(KEY, "customers")
    assert one.name("team-a") == Pseudonyms(KEY, "regulator").name("team-a")
    stranger = Pseudonyms(b"x" * 32, "regulator")
    assert len({one.name("team-a"), one.name("team-b"), other.name("team-a"), stranger.name("team-a")}) == 4
    assert one.name("team-a").startswith("t_")
    assert len(one.name("team-a")) == 28


def test_where_a_group_ends_and_a_tenant_begins_is_part_of_the_name() -> None:
    assert Pseudonyms(KEY, "ab").name("c") != Pseudonyms(KEY, "a").name("bc")


def test_the_key_id_says_nothing_about_the_group() -> None:
    assert Pseudonyms(KEY, "a").key_id == Pseudonyms(KEY, "b").key_id
    assert Pseudonyms(KEY, "a").key_id not in KEY.hex()


@pytest.mark.parametrize(("size", "mode", "what"), [(31, 0o600, "shorter"), (32, 0o640, "read by others")])
def test_a_weak_or_open_key_is_refused(tmp_path: Path, size: int, mode: int, what: str) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"k" * size)
    path.chmod(mode)
    with pytest.raises(UsageError, match=what):
        load_key(path)


def test_a_missing_key_comes_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/dev/urandom"):
        load_key(tmp_path / "none")
