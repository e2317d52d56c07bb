"""What is needed again only at the end, source by source?

A log can be broken in every line, and the bytes of records are larger than what they say. So both go to disk where a
folder is given, and are read again batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from msgspec import Struct

PACK = 16384
REJECT_SCHEMA = pa.schema(
    [
        ("source", pa.string()), ("line", pa.int64()), ("byte_offset", pa.int64()), ("byte_length", pa.int64()),
        ("reason", pa.string()), ("excerpt", pa.binary()),
    ]
)  # fmt: skip
RAW_SCHEMA = pa.schema([("source", pa.large_string()), ("line", pa.int64()), ("raw", pa.large_binary())])
Reject = tuple[int, int | None, int | None, str, bytes]
"""Line, byte offset, byte length, reason, and the start of the bytes."""


def reject_table(source: str, rejects: list[Reject]) -> pa.Table:
    """Rejects of a source as a table, by line."""
    columns = zip(*sorted(rejects, key=lambda r: r[0]), strict=True)
    return pa.table([pa.repeat(source, len(rejects)), *map(list, columns)], schema=REJECT_SCHEMA)


class PieceRejects:
    """The rejects of one piece of a source, packed as they come."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._waiting: list[Reject] = []
        self._packed: list[pa.Table] = []

    def add(self, reject: Reject) -> None:
        """Remember one more."""
        self._waiting.append(reject)
        if len(self._waiting) >= PACK:
            self._pack()

    def _pack(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._packed.append(reject_table(self._source, waiting))

    def table(self) -> pa.Table | None:
        """All of them by line: those that wait for a closer look come later than what is behind them."""
        self._pack()
        return pa.concat_tables(self._packed).sort_by("line") if self._packed else None


class Spooled:
    """Rows of all sources: those of a source are added in order, the sources in any."""

    def __init__(self, schema: pa.Schema, path: Path | None) -> None:
        self._schema, self._path = schema, path
        self._held: list[pa.RecordBatch] = []
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._where: dict[str, list[int]] = {}
        self._batches = 0

    def add(self, source: str, table: pa.Table) -> None:
        """Remember rows of a source that come after those that are known of it."""
        for batch in table.combine_chunks().to_batches():
            self._where.setdefault(source, []).append(self._batches)
            self._batches += 1
            if self._path is None:
                self._held.append(batch)
                continue
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self._path), self._schema)
            self._writer.write_batch(batch)

    def take(self, other: Spooled) -> None:
        """Remember what another one holds in memory."""
        for source, places in other._where.items():
            for place in places:
                self.add(source, pa.Table.from_batches([other._held[place]]))
        other._held.clear()

    def close(self) -> None:
        """Nothing is added any more."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def of(self, source: str) -> Iterator[pa.RecordBatch]:
        """The rows of a source in order, once everything is added."""
        places = self._where.get(source, ())
        if self._path is None:
            yield from (self._held[place] for place in places)
        elif places:
            # Not mapped, so that what was read does not stay.
            with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file) as reader:
                for place in places:
                    yield reader.get_batch(place)


class Spool(Struct, frozen=True):
    """What was rejected, and the bytes of records that may be flagged."""

    rejects: Spooled
    raw: Spooled

    def take(self, other: Spool) -> None:
        """Remember what another one holds in memory."""
        self.rejects.take(other.rejects)
        self.raw.take(other.raw)

    def close(self) -> None:
        """Nothing is added any more."""
        self.rejects.close()
        self.raw.close()


def spool_in(folder: Path | None) -> Spool:
    """A spool with its files in a folder, or in memory."""

    def of(schema: pa.Schema, name: str) -> Spooled:
        return Spooled(schema, None if folder is None else folder / name)

    return Spool(of(REJECT_SCHEMA, "rejected.arrow"), of(RAW_SCHEMA, "raw.arrow"))
