"""Which records that were left out may contradict each other?

Records of one call are judged together. Two that are outside, each by another part, can leave both parts open between
them: one of another model with a prompt over the threshold, and one on the model with a small prompt. So what was left
out is remembered as lines of digests, a record's ids one after the other, each with what the record is by itself. A
clash is a chain of records with ids in common that leads from the one kind to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

OVER = 1
"""Of another model, and the prompt may be over the threshold."""
REPLAY = 2
"""Of another model, and it may say that it is out of a response cache; its own prompt does not count then."""
ON_MODEL = 4
"""On the model, and surely below the threshold."""
UNTOLD_REPLAY = 8
"""The same, without saying that it is no replay; one that says so is kept apart from replays."""
KEPT = 16
"""Was kept, so that nothing has to be read again for it."""
FAILED = 32
"""Surely not answered, with a prompt that is not known, and not surely of another model."""
OTHER = 0
"""Neither known to be on the model nor to have failed."""
MORE = 128
"""Not the first id of its record."""
PAIRS = ((OVER, ON_MODEL), (REPLAY, UNTOLD_REPLAY), (FAILED, OTHER))
_FEW = 1 << 18
NOTHING = pl.Series("id", [], dtype=pl.UInt64)
NONE = pl.DataFrame({"id": NOTHING, "tag": pl.Series([], dtype=pl.UInt8)})
Parts = Callable[[], Iterator[pl.DataFrame]]
Chained = Callable[[Parts, pl.Series], pl.Series]


def lined(columns: Sequence[pl.Series], tags: pl.Series) -> pl.DataFrame:
    """Digests of ids, one column a slot and one row a record, as lines: each id with its record's tag."""
    told = [c for c in columns if c.null_count() < len(c)]
    if not told:
        return NONE
    if len(told) == 1:
        lines = pl.DataFrame({"id": told[0], "tag": tags})
        return lines.drop_nulls("id") if told[0].null_count() else lines
    names = [f"id{k}" for k in range(len(told))]
    frame = pl.DataFrame({"tag": tags, **dict(zip(names, told, strict=True))}).with_row_index("row")
    lines = frame.select("row", "tag", pl.concat_list(names).alias("id")).explode("id").drop_nulls("id")
    again = (pl.col("row") == pl.col("row").shift(1)).fill_null(value=False)
    return lines.select("id", pl.when(again).then(pl.col("tag") | MORE).otherwise("tag").cast(pl.UInt8).alias("tag"))


def tagged(lines: pl.DataFrame, tag: int) -> pl.Series:
    """Which ids are of records with a tag."""
    return (lines["tag"] & (ON_MODEL | FAILED)) == 0 if tag == OTHER else (lines["tag"] & tag) != 0


def among(lines: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Those of the lines that have one of the ids; a join finds them faster than a look at each."""
    return lines.join(pl.DataFrame({"id": ids}), on="id", how="semi")


def tied(parts: Parts, seeds: pl.Series) -> pl.Series:
    """The digests of ids of records that are wanted: they have one of the seeds, or a chain of shared ids ties them to a clash.

    `parts` gives the lines anew each time, in parts that end where a record ends.
    """
    counts, held = _counted(parts)
    # Without a second id of a record no chain goes on.
    chained = _chained if counts[MORE] else _alone
    pairs = [sorted(pair, key=counts.__getitem__) for pair in PAIRS if all(counts[t] for t in pair)]
    near_few = [
        chained(parts, pl.concat(held[few] or [part.filter(tagged(part, few))["id"] for part in parts()])) for few, _ in pairs
    ]
    near = pl.concat([seeds, *near_few]).unique()
    found = [NOTHING]
    met: list[list[pl.Series]] = [[NOTHING] for _ in pairs]
    for part in parts() if len(near) else ():
        lines = among(part, near)
        hit = among(lines, seeds)
        found.append(hit.filter(~tagged(hit, KEPT))["id"])
        for (_, many), few_ids, ids in zip(pairs, near_few, met, strict=True):
            hit = among(lines, few_ids)
            ids.append(hit.filter(tagged(hit, many))["id"])
    return pl.concat([*found, *(chained(parts, pl.concat(ids)) for ids in met)]).unique().sort()


def _counted(parts: Parts) -> tuple[dict[int, int], dict[int, list[pl.Series]]]:
    """How many lines have each tag, and the digests of those of which there are few, so that they need not be read again."""
    counts = dict.fromkeys((MORE, *(t for pair in PAIRS for t in pair)), 0)
    held: dict[int, list[pl.Series]] = {tag: [] for tag in counts}
    for part in parts():
        for tag in counts:
            here = tagged(part, tag)
            counts[tag] += int(here.sum())
            held[tag] = [*held[tag], part["id"].filter(here)] if counts[tag] <= _FEW else []
    return counts, held


def _alone(_: Parts, start: pl.Series) -> pl.Series:
    return start.unique()


def _chained(parts: Parts, start: pl.Series) -> pl.Series:
    """The digests of the ids of all records that are tied to one with such an id by any number of steps."""
    known = fresh = start.unique()
    while len(fresh):
        found = [NOTHING]
        for part in parts():
            hit = part["id"].is_in(fresh.implode())
            if hit.any() and tagged(part, MORE).any():
                record = (~tagged(part, MORE)).cum_sum()
                found.append(part["id"].filter(record.is_in(record.filter(hit).unique().implode())))
        more = pl.concat(found).unique()
        fresh = more.filter(~more.is_in(known.implode()))
        known = pl.concat([known, fresh])
    return known
