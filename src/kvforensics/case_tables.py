"""Which tables can be asked in a stored case?

Findings and records as the case has them, the rejected lines without their text, and the inputs. Raw evidence is in none.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as pads

from kvforensics.case_reader import StoredCase
from kvforensics.errors import EvidenceError

_TEXT, _COUNT = pa.string(), pa.int64()
REJECTED = pa.schema(
    [("source", _TEXT), ("line", _COUNT), ("byte_offset", _COUNT), ("byte_length", _COUNT), ("reason", _TEXT)]
)
INPUTS = pa.schema(
    [("source", _TEXT), ("format", _TEXT), ("sha256", _TEXT), ("timezone", _TEXT), ("problems", pa.list_(_TEXT))]
    + [(name, _COUNT) for name in ("bytes", "lines", "records", "rejected", "blank", "framing")]
)


def case_tables(case: StoredCase) -> dict[str, pa.Table | pads.Dataset]:
    """The tables by name: `findings`, `records`, `context`, `rejected`, `inputs`."""
    tables: dict[str, pa.Table | pads.Dataset] = {}
    for name in ("findings", "records", "context"):
        if f"{name}.parquet" not in case.files:
            continue
        path = case.intact(f"{name}.parquet")
        try:
            tables[name] = pads.dataset(path, format="parquet")
        except (pa.ArrowException, OSError) as error:
            raise EvidenceError(f"cannot be read: {error}", where=path.name) from error
    tables["rejected"] = pa.Table.from_pylist(list(case.rejected()), schema=REJECTED)
    tables["inputs"] = pa.Table.from_pylist(list(case.document["inputs"]), schema=INPUTS)
    return tables
