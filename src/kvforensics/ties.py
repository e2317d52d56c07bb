"""Which records that were left out share an id with one that may be flagged?

A record that is outside whatever else is known is counted and left out. Records of one call are judged together, so one
that was left out has to come back if its id turns up in a record that stayed, or in another one that was left out and that it
contradicts. Only digests of ids are kept of what was left out: nine bytes each, on disk where a folder is given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import mkstemp
from types import TracebackType
from typing import Self

import polars as pl
import pyarrow as pa

from kvforensics.clashes import NONE, tied

_NO_ID = r"^(?:[-0]+|null|none|nil|undefined|n/a|unknown)?$"
"""What a log writes where it has no id; query 201 leaves out the same texts."""
_NOUGHTS = r"^[-0]+$"
_LONGEST_WORD = 9
_LONGEST_NOUGHTS = 1024
_SCHEMA = pa.schema([("id", pa.uint64()), ("tag", pa.uint8())])
_PART = 1 << 20
"""So many ids are looked at together."""
_MAPPED_BYTES = 64 << 20
_SEED_COLUMNS = [
    "model_match", "prompt_tokens_min", "prompt_tokens_max", "from_cache", "record_id", "replay_of", "ids",
]  # fmt: skip


def id_digests(texts: pl.Series) -> pl.Series:
    """The digest of each id, null where a text is none. Equal in all processes of one run, not across versions."""
    if texts.null_count() == len(texts):
        return pl.Series("id", [None], dtype=pl.UInt64).new_from_index(0, len(texts))
    none = texts.is_null()
    if (at := _may_be_none(texts)).len():
        none = none.scatter(at.filter(_are_none(texts[at])), values=True)
    digests = texts.hash().alias("id")
    return digests.set(none, None) if none.any() else digests


def _may_be_none(texts: pl.Series) -> pl.Series:
    """The places of texts that may stand for no id: they are short, or come no later in order than so many noughts."""
    lengths = texts.str.len_bytes()
    longest = int(lengths.max() or 0)  # type: ignore[arg-type]
    last = "0" * longest if longest <= _LONGEST_NOUGHTS else "1"
    return ((lengths <= _LONGEST_WORD) | (texts <= last)).fill_null(value=False).arg_true()


def _are_none(texts: pl.Series) -> pl.Series:
    word = pl.when(pl.col("t").str.len_bytes() <= _LONGEST_WORD).then(pl.col("t").str.to_lowercase())
    none = word.str.contains(_NO_ID).fill_null(value=False) | pl.col("t").str.contains(_NOUGHTS)
    return pl.DataFrame({"t": texts}).select(n=none)["n"]


def shares(columns: Iterable[pl.Series], wanted: pl.Series) -> pl.Series | None:
    """For each record whether one of its digests is wanted; None where nothing is."""
    found: pl.Series | None = None
    if wanted.is_empty():
        return None
    for column in columns:
        here = column.is_in(wanted.implode()).fill_null(value=False)
        found = here if found is None else found | here
    return found


def stored(lines: pl.DataFrame, folder: Path) -> Path:
    """Write lines, see `clashes`, to a new file of a folder."""
    handle, name = mkstemp(".arrow", "left-out-", folder)
    with os.fdopen(handle, "wb") as file, pa.ipc.new_stream(file, _SCHEMA) as stream:
        stream.write_table(_table(lines))
    return Path(name)


def _table(lines: pl.DataFrame) -> pa.Table:
    return lines.rechunk().to_arrow().cast(_SCHEMA)


def _read(path: Path) -> Iterator[pl.DataFrame]:
    # What is mapped stays until the end of the file, so a large one is not.
    opened = pa.memory_map if path.stat().st_size <= _MAPPED_BYTES else pa.OSFile
    with opened(str(path)) as file, pa.ipc.open_stream(file) as stream:
        for batch in stream:
            yield pl.DataFrame(pl.from_arrow(batch))


class LeftOut:
    """The digests of the ids of everything that was left out. Close it, or use it as a context manager."""

    def __init__(self, folder: Path | None) -> None:
        """In memory, or in files of a folder."""
        self.folder = folder
        self._held: list[pl.DataFrame] = []
        self._files: list[Path] = []
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, lines: pl.DataFrame | Path) -> None:
        """Remember the lines of some records, or a file of them that is `stored` in the folder and goes with this."""
        if isinstance(lines, Path):
            self._files.append(lines)
        elif lines.is_empty():
            return
        elif self.folder is None:
            self._held.append(lines)
        else:
            if self._writer is None:
                self._files.append(self.folder / "left-out.arrow")
                self._writer = pa.ipc.new_stream(str(self._files[-1]), _SCHEMA)
            self._writer.write_table(_table(lines))

    def take(self, other: LeftOut) -> None:
        """Remember what another one holds in memory."""
        for lines in other._held:
            self.add(lines)
        other._held.clear()

    def tied(self, seeds: pl.Series) -> pl.Series:
        """The digests of what has to come back: it has one of the seeds, or is tied to records that contradict each other."""
        return tied(self._parts, seeds)

    def _parts(self) -> Iterator[pl.DataFrame]:
        waiting, size = [NONE], 0
        for lines in self._added():
            waiting.append(lines)
            size += lines.height
            if size >= _PART:
                yield pl.concat(waiting)
                waiting, size = [NONE], 0
        yield pl.concat(waiting)

    def _added(self) -> Iterator[pl.DataFrame]:
        yield from self._held
        if self._writer is not None:
            self._writer.close()
        for path in self._files:
            yield from _read(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files.clear()
        self._held.clear()


def seed_ids(records: pa.Table, settled: pl.Expr, wanted: pl.Series) -> pl.Series:
    """The digests of the ids, and of what a replay points to, of records that may be flagged or were wanted for such a one.

    `settled` tells over canonical columns which records are outside whatever else is known.
    """
    rows = pl.DataFrame(pl.from_arrow(records.select(_SEED_COLUMNS))).with_row_index("row")
    ids = rows.select("row", pl.col("ids").list.eval(pl.element().struct.field("value"))).explode("ids")
    every = pl.concat([
        pl.DataFrame({"row": ids["row"], "id": id_digests(ids["ids"])}),
        *(pl.DataFrame({"row": rows["row"], "id": id_digests(rows[c])}) for c in ("record_id", "replay_of")),
    ]).drop_nulls()  # fmt: skip
    open_rows = rows.filter(pl.col("model_match").fill_null(value=True) & ~settled)["row"]
    tied = every.filter(pl.col("id").is_in(wanted.implode()))["row"] if len(wanted) else open_rows.clear()
    return every.filter(pl.col("row").is_in(pl.concat([open_rows, tied]).unique().implode()))["id"].unique().sort()
