"""Which texts stand for no id, and is what was left out known wherever it is kept?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics import piece
from kvforensics.clashes import KEPT, NOTHING, ON_MODEL, OVER
from kvforensics.formats import all_formats
from kvforensics.incident import load_incident
from kvforensics.piece import Piece, scan_apart
from kvforensics.recognise import recognise
from kvforensics.scanned import Setting
from kvforensics.source import find_sources
from kvforensics.ties import LeftOut, id_digests, stored

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


def lines(ids: list[int], tags: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"id": pl.Series(ids, dtype=pl.UInt64), "tag": pl.Series(tags, dtype=pl.UInt8)})


PARTS = (lines([1, 2], [OVER, 0]), lines([3, 4], [ON_MODEL, ON_MODEL | KEPT]), lines([4, 1], [0, ON_MODEL]))


def test_what_workers_stored_is_left_out_as_if_it_were_handed_over(tmp_path: Path) -> None:
    wanted = pl.Series([2, 3, 4, 9], dtype=pl.UInt64)
    with LeftOut(None) as held, LeftOut(tmp_path) as mixed:
        for n, part in enumerate(PARTS):
            held.add(part)
            mixed.add(stored(part, tmp_path) if n % 2 else part)
        for left_out in (held, mixed):
            assert left_out.tied(wanted).to_list() == [1, 2, 3, 4]
            assert left_out.tied(NOTHING).to_list() == [1]
        assert len(list(tmp_path.iterdir())) == 2
    assert not list(tmp_path.iterdir())


def test_a_worker_stores_what_is_much_and_hands_over_what_is_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    call = {"id": "call-1", "model": "another-model", "created_at": "2026-09-01T00:00:00Z", "tokens_in": 5, "cached": False}
    path.write_text("".join(json.dumps({**call, "id": f"call-{n}", "provider": "p"}) + "\n" for n in range(5)))
    plan = recognise(find_sources((str(path),))[0], all_formats()).plan
    assert plan is not None
    setting = Setting(
        "log", plan.formats, None, load_incident("cloudflare-workers-ai-glm-5.3"), None, "open", NOTHING, plan.wrappers,
        plan.layered, plan.newline,
    )  # fmt: skip
    found = Piece("range", setting, plan, path=str(path), length=path.stat().st_size)
    whole = scan_apart(found, tmp_path).left_out
    assert isinstance(whole, pl.DataFrame)
    assert whole.height == 5
    monkeypatch.setattr(piece, "_FEW_LINES", 4)
    apart = scan_apart(found, tmp_path).left_out
    assert isinstance(apart, Path)
    assert apart.parent == tmp_path
    with pa.ipc.open_stream(apart.read_bytes()) as stream:
        assert pl.DataFrame(pl.from_arrow(stream.read_all())).equals(whole)
    assert isinstance(scan_apart(found, None).left_out, pl.DataFrame)
