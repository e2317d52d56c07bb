"""Is the chain of custody unbroken, and is every break noticed?"""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kvforensics.custody import Handling, extended, head, read_chain, utc
from kvforensics.errors import EvidenceError, UsageError

ITEM = "a" * 64


def chain() -> bytes:
    made = b""
    for who in ("A. Person", "\u202eB \x1b[31m", "C\nD"):
        made = extended(made, Handling(actor=who, action="received", item_sha256=ITEM, time_utc="2026-09-10T08:00:00Z", to="E"))
    return made


def test_each_entry_carries_the_digest_of_the_line_before_it() -> None:
    lines = chain().splitlines()
    entries = read_chain(chain())
    assert [e["seq"] for e in entries] == [1, 2, 3]
    assert entries[0]["prev_sha256"] is None
    assert entries[2]["prev_sha256"] == hashlib.sha256(lines[1] + b"\n").hexdigest()
    assert head(chain()) == hashlib.sha256(lines[2] + b"\n").hexdigest()
    assert chain().isascii()


def test_what_was_not_said_is_null() -> None:
    (entry,) = read_chain(extended(b"", Handling(actor="A", action="received", item_sha256=ITEM)))
    assert entry["time_utc"] is None
    assert entry["from"] is None


def test_an_entry_earlier_than_the_last_is_refused() -> None:
    later = Handling(actor="D", action="received", item_sha256=ITEM, time_utc="2026-09-10T08:00:00.5Z")
    longer = extended(chain(), later)
    with pytest.raises(UsageError, match="earlier than the last entry"):
        extended(longer, replace(later, time_utc="2026-09-10T08:00:00Z"))
    assert len(read_chain(extended(extended(longer, replace(later, time_utc=None)), later))) == 6


@given(st.data())
def test_any_flipped_bit_is_noticed(data: st.DataObject) -> None:
    whole = bytearray(chain())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(EvidenceError, match=r"custody\.jsonl:"):
        read_chain(bytes(whole))


@pytest.mark.parametrize("kept", [(1, 2), (0, 2), (1, 0, 2), (0, 0, 1)])
def test_a_line_that_is_missing_moved_or_doubled_is_noticed(kept: tuple[int, ...]) -> None:
    lines = chain().splitlines(keepends=True)
    with pytest.raises(EvidenceError):
        read_chain(b"".join(lines[i] for i in kept))


def test_a_broken_chain_is_not_continued() -> None:
    with pytest.raises(EvidenceError):
        extended(chain().replace(b"received", b"returned"), Handling(actor="A", action="x", item_sha256=ITEM))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-09-10T10:00:00+02:00", "2026-09-10T08:00:00Z"),
        ("2026-09-10T08:00Z", "2026-09-10T08:00:00Z"),
        ("2026-09-10T08:00:00.25Z", "2026-09-10T08:00:00.250000Z"),
    ],
)
def test_a_time_that_a_person_gives_becomes_utc(text: str, expected: str) -> None:
    assert utc(text) == expected


@pytest.mark.parametrize("text", ["2026-09-10T10:00:00", "yesterday", "2026-09-10"])
def test_a_time_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        utc(text)


def test_keys_are_sorted_so_that_a_line_has_one_form() -> None:
    for line in chain().splitlines():
        assert json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")).encode() == line
