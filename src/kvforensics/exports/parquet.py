"""How do the tables of a case go to somebody who asks their own questions?

A folder of Parquet files: findings and records as the case has them, the rejected lines without their text, the inputs.
No raw evidence is in it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kvforensics.case_reader import StoredCase
from kvforensics.case_tables import INPUTS, REJECTED
from kvforensics.errors import EvidenceError
from kvforensics.whole import whole_folder

_WRITER: dict[str, Any] = {"compression": "zstd", "version": "2.6", "store_schema": False}
_CHUNK = 65536


def write_parquet(case: StoredCase, target: Path) -> int:
    """Write the folder; the number of findings."""
    with whole_folder(target, "the export") as folder:
        for name in ("findings.parquet", "records.parquet"):
            shutil.copyfile(case.path(name), folder / name)
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != case.files[name]:
                    raise EvidenceError("differs from its digest in case.json", where=name, advice="run `kvforensics verify`")
        _table(folder / "rejected.parquet", REJECTED, case.rejected())
        _table(folder / "inputs.parquet", INPUTS, iter(case.document["inputs"]))
    return case.count("findings")


def _table(path: Path, schema: pa.Schema, rows: Iterator[dict[str, Any]]) -> None:
    with pq.ParquetWriter(path, schema, **_WRITER) as out:
        while chunk := list(islice(rows, _CHUNK)):
            out.write_table(pa.Table.from_pylist(chunk, schema=schema))
