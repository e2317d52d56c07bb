"""Do affected answers open alike, and other answers not?

The first token of an affected answer was made from a stub, so at temperature 0 it is one and the same. Confirms, proves
nothing. First words are kept as keyed digests.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from msgspec import Struct

from kvforensics.catalog import query
from kvforensics.engine.bodies import Body
from kvforensics.store import Store

_COLUMNS = pa.schema([("affected", pa.bool_()), ("opening", pa.string()), ("thinks", pa.bool_())])
_DIGITS = 16


class Opening(Struct, frozen=True):
    """How one answer opens: a digest of its first word, and whether it opens with thinking."""

    affected: bool
    opening: str
    thinks: bool


def opening_of(body: Body, key: bytes, *, affected: bool) -> Opening:
    """How an answer opens. A word is what stands before the first blank."""
    first = body.answer.split(maxsplit=1)[0] if body.answer.strip() else ""
    digest = hmac.digest(key, first.encode("utf-8", "replace"), "sha256").hex()[:_DIGITS]
    return Opening(affected, digest, body.thinks)


def openings(told: Iterable[Opening]) -> tuple[dict[str, Any], ...]:
    """For affected and for other answers: how many, how many open like most of the affected ones, how many with thinking."""
    rows = [{"affected": o.affected, "opening": o.opening, "thinks": o.thinks} for o in told]
    if not any(row["affected"] for row in rows):
        return ()
    with Store() as store:
        store.register("openings", pa.Table.from_pylist(rows, _COLUMNS))
        found: list[dict[str, Any]] = store.run(query("420_opening_words")).to_pylist()
    return tuple(found)
