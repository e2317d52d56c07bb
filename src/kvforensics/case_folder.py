"""How does a case become a folder, whole or not at all?

Everything is written under a temporary name beside the target and renamed at the end. The same case gives the same
bytes: nothing here knows a clock, a host or a path, save `run.json`, which is outside every digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kvforensics import finding
from kvforensics.errors import UsageError
from kvforensics.escape import terminal
from kvforensics.sums import SumLog, bucket_table
from kvforensics.whole import refuse_taken, whole_folder

ROWS = 65536
_PARQUET: dict[str, Any] = {
    "compression": "zstd", "compression_level": 3, "version": "2.6", "data_page_version": "1.0", "use_dictionary": True,
    "write_statistics": True, "store_schema": False,
}  # fmt: skip
Json = Mapping[str, Any]


def refuse_unusable(target: Path, scanned: Sequence[Path]) -> None:
    """Raise `UsageError` where a case cannot be put: it exists, or lies inside what is scanned."""
    refuse_taken(target)
    place = target.resolve()
    for path in scanned:
        if path.is_dir() and place.is_relative_to(path.resolve()):
            raise UsageError(
                "lies inside the scanned paths, where it would become evidence", where=str(target),
                advice="name a folder elsewhere",
            )  # fmt: skip


@contextmanager
def case_folder(target: Path) -> Iterator[CaseWriter]:
    """A writer for a folder that takes its name when the block ends, and leaves nothing behind when it fails."""
    with whole_folder(target, "the case") as partial:
        yield CaseWriter(partial)


class CaseWriter:
    """Writes the files of a case and remembers their digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.digests: dict[str, str] = {}

    def findings(self, documents: Iterable[Json]) -> None:
        """`findings.jsonl` and `findings.parquet`, in the order given."""
        waiting = iter(documents)
        path = self._folder / "findings.parquet"
        with (
            self._lines("findings.jsonl") as line,
            pq.ParquetWriter(path, finding.SCHEMA, **_PARQUET) as parquet,
        ):
            while chunk := list(islice(waiting, ROWS)):
                for document in chunk:
                    line(finding.written(document))
                parquet.write_table(finding.typed(chunk), row_group_size=ROWS)
        self._remember(path)

    def records(self, table: pa.Table) -> None:
        """`records.parquet`."""
        self._table("records.parquet", _plain(table))

    def context(self, table: pa.Table) -> None:
        """`context.parquet`: records of other models that the judgement of those on the model leaned on."""
        self._table("context.parquet", _plain(table))

    def activity(self, table: pa.Table) -> None:
        """`activity.parquet`: when each source has records of any kind."""
        self._table("activity.parquet", table)

    def sums(self, logs: Sequence[SumLog]) -> None:
        """`sums.parquet`: the buckets of each log of sums, where there is one."""
        if logs:
            self._table("sums.parquet", _plain(bucket_table(logs)))

    def _table(self, name: str, table: pa.Table) -> None:
        # Row groups have a fixed size, whatever the chunks of the table are.
        path = self._folder / name
        with pq.ParquetWriter(path, table.schema, **_PARQUET) as parquet:
            for start in range(0, table.num_rows, ROWS):
                parquet.write_table(table.slice(start, ROWS).combine_chunks(), row_group_size=ROWS)
        self._remember(path)

    def rejected(self, rejects: Iterable[pa.RecordBatch]) -> None:
        """`rejected.jsonl`, with excerpts that are safe to show."""
        with self._lines("rejected.jsonl") as line:
            for batch in (part for b in rejects for part in pa.Table.from_batches([b]).to_batches(max_chunksize=finding.BATCH)):
                for row in batch.to_pylist():
                    line({**row, "excerpt": _shown(row["excerpt"])})

    def evidence(self, blobs: Iterable[bytes]) -> None:
        """The raw bytes of flagged records, each named by its SHA-256."""
        folder = self._folder / "evidence"
        folder.mkdir()
        for blob in blobs:
            (folder / hashlib.sha256(blob).hexdigest()).write_bytes(blob)

    def kept(self, folder: str, contents: Mapping[str, bytes]) -> None:
        """Copies of files that steered the run, by name."""
        place = self._folder / folder
        place.mkdir()
        for name, content in contents.items():
            (place / name).write_bytes(content)
            self._remember(place / name)

    def document(self, name: str, value: Json) -> None:
        """One JSON document with sorted keys."""
        path = self._folder / name
        path.write_bytes(json.dumps(value, sort_keys=True, indent=2, ensure_ascii=True).encode() + b"\n")
        self._remember(path)

    @contextmanager
    def _lines(self, name: str) -> Iterator[Callable[[Json], None]]:
        path = self._folder / name
        with path.open("wb") as out:
            yield lambda value: _put(out.write, value)
        self._remember(path)

    def _remember(self, path: Path) -> None:
        with path.open("rb") as file:
            self.digests[path.relative_to(self._folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()


def _put(write: Callable[[bytes], object], value: Json) -> None:
    write(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n")


def _shown(excerpt: bytes | str | None) -> str | None:
    if excerpt is None:
        return None
    return terminal(excerpt.decode("utf-8", "backslashreplace") if isinstance(excerpt, bytes) else excerpt)


def _plain(table: pa.Table) -> pa.Table:
    """The table with one kind of text column, so that the bytes do not depend on how it was made."""
    return table.cast(pa.schema([(f.name, _plain_type(f.type)) for f in table.schema]))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, _plain_type(f.type)) for f in kind])
    return kind
