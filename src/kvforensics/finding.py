"""What is a finding, written down?

Findings are the records that are not `outside`, in total order. Here the judge's rows become the documents of a case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kvforensics.instant import rfc3339

PARTS = ("on_model", "in_window", "over_threshold", "served")
SERIOUS = ("affected", "possible", "replay")
"""Dispositions that a verdict rests on, most serious first."""
KEYS = (
    "finding_id", "disposition", "parts", "reasons", "source", "line", "byte_offset", "byte_length", "sha256", "format",
    "record_id", "correlation", "started_earliest", "started_latest", "time_text", "time_basis", "model_text",
    "prompt_tokens_min", "prompt_tokens_max", "token_basis", "completion_tokens", "status", "tenant", "key", "user",
    "client_ip", "user_agent", "excluded_by", "duplicate_of", "replay_of",
)  # fmt: skip
_COUNTS = ("line", "byte_offset", "byte_length", "prompt_tokens_min", "prompt_tokens_max", "completion_tokens")
_TYPES: dict[str, pa.DataType] = (
    dict.fromkeys(KEYS, pa.string())
    | dict.fromkeys(_COUNTS, pa.int64())
    | dict.fromkeys(("reasons", "excluded_by"), pa.list_(pa.string()))
    | dict.fromkeys(("started_earliest", "started_latest"), pa.timestamp("us", "UTC"))
    | {"parts": pa.struct([(p, pa.bool_()) for p in PARTS]), "correlation": pa.map_(pa.string(), pa.string())}
)
SCHEMA = pa.schema([(key, _TYPES[key]) for key in KEYS])
BATCH = 8192


class Locators:
    """Gives each record its stable id: the first 32 hex digits of SHA-256 over source digest and offset.

    The offset is the byte offset, or the row where bytes do not exist. A second source with the same bytes counts on, so
    that no two findings share an id.
    """

    def __init__(self, digests: Sequence[tuple[str, str | None]]) -> None:
        self._seeds: dict[str, str] = {}
        seen: dict[str, int] = {}
        for source, digest in digests:
            content = digest or f"source:{source}"
            copy = seen.get(content, 0)
            seen[content] = copy + 1
            self._seeds[source] = f"{content}#{copy}" if copy else content

    def finding_id(self, source: str, line: int, byte_offset: int | None) -> str:
        """The id of the record at this place."""
        place = line if byte_offset is None else byte_offset
        return hashlib.sha256(f"{self._seeds[source]}:{place}".encode()).hexdigest()[:32]


def documents(findings: pa.Table, locators: Locators) -> Iterator[dict[str, Any]]:
    """One document a finding, with exactly the keys of the contract; instants stay microseconds."""
    for batch in findings.to_batches(max_chunksize=BATCH):
        for row in batch.to_pylist():
            yield _document(row, locators)


def _document(row: Mapping[str, Any], locators: Locators) -> dict[str, Any]:
    document = {key: row.get(key) for key in KEYS}
    document["finding_id"] = locators.finding_id(row["source"], row["line"], row["byte_offset"])
    document["parts"] = {part: row[part] for part in PARTS}
    document["correlation"] = {i["kind"]: i["value"] for i in sorted(row["ids"] or (), key=lambda i: str(i["kind"]))}
    document["reasons"] = list(row["reasons"] or ())
    document["excluded_by"] = list(row["excluded_by"] or ())
    return document


def written(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as JSON shows it: instants as RFC 3339 in UTC with microseconds."""
    instants = {
        key: None if document[key] is None else rfc3339(document[key], precise=True)
        for key in ("started_earliest", "started_latest")
    }
    return {**document, **instants}


def typed(documents_: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The documents as a table for Parquet."""
    rows = [{**d, "correlation": list(d["correlation"].items())} for d in documents_]
    return pa.Table.from_pylist(rows, schema=SCHEMA)
