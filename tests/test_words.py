"""Words of memory are found wherever they begin, and as often as a search finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.words import Words

WORDS = st.sampled_from([b"\\u", b"ab", b"-5.3", b'del"', b"aaaa", b"aa"])
BLOCKS = st.lists(st.sampled_from([b"a", b"b", b"\\u00", b"-5.3", b'del"', b"A", b"\xff", b"\n"]), max_size=30).map(b"".join)


def starts(data: bytes, word: bytes) -> list[int]:
    """Where the word begins, also within itself."""
    return [i for i in range(len(data)) if data.startswith(word, i)]


@given(data=BLOCKS, word=WORDS)
def test_every_beginning_is_found(data: bytes, word: bytes) -> None:
    assert Words(data).places(word) == starts(data, word)
    assert Words(data).count(word) == len(starts(data, word))


@given(data=BLOCKS.map(lambda data: data.replace(b"\\", b"").replace(b"\xff", b"-")))
def test_letters_are_found_in_either_size(data: bytes) -> None:
    assert Words(data).places(b"aaab", fold=True) == starts(data.lower(), b"aaab")


@pytest.mark.parametrize("size", range(9))
def test_a_block_of_any_length_is_searched_to_its_end(size: int) -> None:
    data = b"x" * size + b"-5.3"
    assert Words(data).places(b"-5.3") == [size]
    assert Words(data[:-1]).count(b"-5.3") == 0
