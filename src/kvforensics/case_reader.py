"""What does a case folder hold?

Opens a case that was written earlier, by this version or an older one, and hands its parts on: documents at once, tables
lazily, in batches. A case may come from somebody else, so nothing in it is trusted to be there or to be well formed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from polars.exceptions import PolarsError

from kvforensics.errors import EvidenceError, KvForensicsError, UsageError
from kvforensics.incident import Incident, load_incident, parse_incident, shipped_incidents

CASE_SCHEMA = re.compile(r"kvforensics\.case/(\d+)")
SUMMARY_SCHEMA = re.compile(r"kvforensics\.summary/(\d+)")
NEWEST = 1
"""The newest number of both schemas that this version reads."""
BATCH_ROWS = 8192
LARGEST_DOCUMENT = 512 << 20
STUMBLES = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, pa.ArrowException, PolarsError,
)  # fmt: skip
"""What reading a document raises whose parts are not what they should be."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEPT = re.compile(r"exclusions/[0-9a-f]{64}|queries/[0-9]{3}_[a-z_]+\.sql")
_KINDS: tuple[tuple[str, type], ...] = (
    ("tool", dict), ("incident", dict), ("exclusions", list), ("options", dict), ("inputs", list), ("summary", dict),
    ("queries", dict), ("files", dict),
)  # fmt: skip

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case folder that was opened: its folder and its `case.json`.

    A table is held against its digest before it is first read. `rejected.jsonl` is not, as a bundle keeps it without excerpts.
    `checked` are the names that hold already.
    """

    folder: Path
    document: Json
    checked: set[str] = field(default_factory=set, compare=False, repr=False)

    @property
    def summary(self) -> Json:
        """The summary, `kvforensics.summary/1`."""
        summary: Json = self.document["summary"]
        return summary

    @property
    def queries(self) -> Mapping[str, str]:
        """Stem and SHA-256 of each query that judged the case."""
        queries: Mapping[str, str] = self.document["queries"]
        return queries

    @property
    def files(self) -> Mapping[str, str]:
        """Name and SHA-256 of each other file, as the case says; `intact` tells whether one holds, `verify` all."""
        files: Mapping[str, str] = self.document["files"]
        return files

    def incident(self) -> Incident | None:
        """The incident that was asked about, or None where the case keeps no text of it and none like it is shipped."""
        told = self.document["incident"]
        text = told.get("text")
        if isinstance(text, str):
            return parse_incident(text.encode(), f"{self.folder.name}/case.json")
        if told.get("id") in shipped_incidents():
            shipped = load_incident(told["id"])
            if shipped.digest == told.get("sha256"):
                return shipped
        return None

    def count(self, name: str) -> int:
        """How many rows a table (`findings`, `records`, `activity`) has; none where an older case lacks it."""
        if not self._has(name):
            return 0
        with self._table(name) as table:
            return int(table.metadata.num_rows)

    def findings(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The findings in their total order."""
        return self._batches("findings", columns)

    def records(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The normalised records that the case keeps."""
        return self._batches("records", columns)

    def activity(self) -> Iterator[pa.RecordBatch]:
        """When each source has records of any kind: `source`, `hour`, `minutes`; nothing where an older case lacks it."""
        return self._batches("activity", None) if self._has("activity") else iter(())

    def sums(self) -> Iterator[pa.RecordBatch]:
        """The buckets of the logs of sums; nothing where there is none."""
        return self._batches("sums", None) if self._has("sums") else iter(())

    def has_activity(self) -> bool:
        """Whether the case says when each source has records of any kind."""
        return self._has("activity")

    def rejected(self) -> Iterator[dict[str, Any]]:
        """The rejected lines. Excerpts are text of strangers: they stay out of reports."""
        with self._opened("rejected.jsonl") as file:
            for number, line in enumerate(file, 1):
                yield _object(line, f"{self.folder.name}/rejected.jsonl:{number}")

    def evidence(self, sha256: str) -> bytes | None:
        """The raw bytes of a record, or None where the case does not keep them."""
        path = self.folder / "evidence" / sha256
        if not _DIGEST.fullmatch(sha256) or path.is_symlink() or not path.is_file():
            return None
        return path.read_bytes()

    def kept(self, name: str, sha256: str, largest: int = LARGEST_DOCUMENT) -> bytes:
        """The bytes of a file that steered the run. Raises `EvidenceError` where it is not the one with this digest."""
        where = f"{self.folder.name}/{name}"
        if not _KEPT.fullmatch(name):
            raise EvidenceError("names a file that no case keeps", where=f"{self.folder.name}/case.json")
        path = self.path(name)
        if path.stat().st_size > largest:
            raise EvidenceError("is too large", where=where)
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise EvidenceError("differs from its digest", where=where)
        return data

    def _has(self, name: str) -> bool:
        return f"{name}.parquet" in self.files

    def _batches(self, name: str, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        where = f"{self.folder.name}/{name}.parquet"
        with self._table(name) as table:
            missing = sorted(set(columns or ()) - set(table.schema_arrow.names))
            if missing:
                raise EvidenceError(f"lacks the columns {', '.join(missing)}", where=where)
            try:
                yield from table.iter_batches(BATCH_ROWS, columns=None if columns is None else list(columns))
            except (pa.ArrowException, OSError) as error:
                raise EvidenceError(f"cannot be read: {error}", where=where) from error

    def _table(self, name: str) -> pq.ParquetFile:
        path = self.intact(f"{name}.parquet")
        try:
            return pq.ParquetFile(path, memory_map=False)
        except (pa.ArrowException, OSError) as error:
            raise EvidenceError(f"cannot be read: {error}", where=f"{self.folder.name}/{path.name}") from error

    def _opened(self, name: str) -> Any:
        try:
            return self.path(name).open("rb")
        except OSError as error:
            raise EvidenceError(f"cannot be read: {error.strerror}", where=f"{self.folder.name}/{name}") from error

    def path(self, name: str) -> Path:
        """Where a file of the case lies. Raises `EvidenceError` where it is missing, or is a link or anything but a file."""
        path = self.folder / name
        # A link could lead out of the case, to a file that its digests say nothing about.
        if path.is_symlink() or not path.is_file():
            raise EvidenceError("is missing from the case", where=f"{self.folder.name}/{name}")
        return path

    def intact(self, name: str) -> Path:
        """Where a file of the case lies. Raises `EvidenceError` where it is missing, or is not what its digest says."""
        path = self.path(name)
        if name not in self.checked and name in self.files:
            with self._opened(name) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != self.files[name]:
                where = f"{self.folder.name}/{name}"
                raise EvidenceError("differs from its digest in case.json", where=where, advice="run `kvforensics verify`")
            self.checked.add(name)
        return path


@contextmanager
def read_as_told(name: str) -> Iterator[None]:
    """Says of a case whose parts are not what they should be that it is broken, rather than showing a Python error.

    A case may come from a stranger, who can put anything anywhere; what of it makes its reader stumble is a fault of the case.
    Raises `EvidenceError`.
    """
    try:
        yield
    except STUMBLES as error:
        what = f"is not built as a case is ({type(error).__name__}: {' '.join(str(error).split())[:100]})"
        raise EvidenceError(what, where=f"{name}/case.json", advice="run `kvforensics verify`") from error


def open_case(folder: Path) -> StoredCase:
    """The case in a folder.

    Raises `UsageError` where there is none or a newer version wrote it, `EvidenceError` where its `case.json` is broken.
    """
    path = folder / "case.json"
    if not folder.is_dir() or path.is_symlink() or not path.is_file():
        if (folder / "bagit.txt").is_file() and (folder / "data/case/case.json").is_file():
            raise UsageError("is a bundle, no case folder", where=str(folder), advice=f"its case is {folder / 'data/case'}")
        raise UsageError("is no case folder", where=str(folder), advice="make one with `kvforensics check --case DIR`")
    where = f"{folder.name}/case.json"
    try:
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise EvidenceError("is too large to be a case", where=where)
        data = path.read_bytes()
    except OSError as error:
        raise KvForensicsError(f"cannot be read: {error.strerror}", where=where) from error
    document = _object(data, where)
    _known(document.get("schema"), CASE_SCHEMA, where)
    for key, kind in _KINDS:
        if not isinstance(document.get(key), kind):
            raise EvidenceError(f"{key} is missing or not what it should be", where=where)
    _known(document["summary"].get("schema"), SUMMARY_SCHEMA, where)
    return StoredCase(folder, document)


def _known(schema: object, pattern: re.Pattern[str], where: str) -> None:
    found = pattern.fullmatch(schema) if isinstance(schema, str) else None
    if not found:
        raise EvidenceError("does not say which schema it has", where=where)
    if int(found[1]) > NEWEST:
        raise UsageError(f"has the newer schema {found[0]}", where=where, advice="update kvforensics")


def _object(data: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise EvidenceError("is not JSON", where=where) from error
    if not isinstance(value, dict):
        raise EvidenceError("is not a JSON object", where=where)
    return value


def _no_number(name: str) -> None:
    raise ValueError(name)
