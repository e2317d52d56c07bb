"""The rejects of what was read, as one table."""

from __future__ import annotations

import pyarrow as pa

from kvforensics.gather import Ingested
from kvforensics.spooled import REJECT_SCHEMA


def rejected(found: Ingested) -> pa.Table:
    return pa.Table.from_batches(found.rejected(), REJECT_SCHEMA).combine_chunks()
