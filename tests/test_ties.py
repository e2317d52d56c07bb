"""Which texts stand for no id, and does the quick look for them agree with the slow one?"""

from __future__ import annotations

import re

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics.ties import id_digests

NO_ID = re.compile(r"[-0]+|null|none|nil|undefined|n/a|unknown|", re.IGNORECASE)
IDS = st.one_of(
    st.none(), st.text("-0", max_size=40), st.text("-01 #a", max_size=12),
    st.sampled_from(["NULL", "None", "n/a", "Undefined", "unknown", "unknown1", "00000000-0000-0000-0000-000000000000",
                     "0" * 2000, "0" * 2000 + "1", "-" * 1025, "01M0", "0-0a"]),
)  # fmt: skip


@settings(max_examples=cases(200), deadline=None)
@given(st.lists(IDS, max_size=12))
def test_what_stands_for_no_id_has_no_digest(texts: list[str | None]) -> None:
    digests = id_digests(pl.Series(texts, dtype=pl.String))
    assert [d is None for d in digests] == [t is None or NO_ID.fullmatch(t) is not None for t in texts]
    known = {}
    for text, digest in zip(texts, digests, strict=True):
        assert known.setdefault(text, digest) == digest
