"""How does a case become a timeline for Timesketch?

JSON Lines with the fields that its importer asks for (https://timesketch.org/guides/user/import-from-json-csv/): `message`,
`datetime` with microseconds and offset, `timestamp` in microseconds, `timestamp_desc`; ours begin with `kvf_`. A finding
without a time stands at the start of the window and says so, as the importer takes no row without one.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kvforensics.case_reader import StoredCase
from kvforensics.errors import EvidenceError
from kvforensics.escape import terminal
from kvforensics.finding_rows import COLUMNS, INSTANTS, finding_rows, flat
from kvforensics.incident import Incident
from kvforensics.whole import whole_file

LONGEST_VALUE = 8192
"""Characters; values above 32,766 bytes lose their keyword field in OpenSearch, and a character has up to four bytes."""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_YEARS = (-62_135_596_800_000_000, 253_402_300_799_999_999)


def write_timesketch(case: StoredCase, target: Path) -> int:
    """Write the timeline: the window and the events of the incident, then every finding. The number of rows."""
    incident = case.incident()
    if incident is None:
        raise EvidenceError("does not hold the incident file that it was judged by", where="case.json")
    rows = 0
    with whole_file(target, "the timeline") as partial, partial.open("wb") as out:
        for row in _markers(incident):
            out.write(_line(row))
            rows += 1
        for found in finding_rows(case):
            out.write(_line(_row(found, incident)))
            rows += 1
    return rows


def _markers(incident: Incident) -> Iterator[dict[str, Any]]:
    yield _event(incident.start_us, "Exposure Window Start", incident.title, "incident")
    yield _event(incident.end_us, "Exposure Window End", incident.title, "incident")
    if incident.uncertain_until_us > incident.end_us:
        yield _event(incident.uncertain_until_us, "Uncertain Tail End", incident.title, "incident")
    for at, what in incident.timeline:
        yield _event(at, "Incident Event", what, "incident")


def _row(found: Mapping[str, Any], incident: Incident) -> dict[str, Any]:
    start: int | None = found["started_earliest"]
    latest: int | None = found["started_latest"]
    known = start is not None and _YEARS[0] <= start <= _YEARS[1]
    description = "Request Start"
    if not known:
        description = "Request Start Not Known, Shown At Window Start"
    elif latest != start:
        description = "Request Start, Earliest Possible"
    least, most = found["prompt_tokens_min"], found["prompt_tokens_max"]
    size = "an unknown number of" if least is None and most is None else f"{least}" if least == most else f"{least} to {most}"
    message = (
        f"{found['disposition']}: request to {found['model_text']} with {size} prompt tokens, tenant {found['tenant']},"
        f" {found['source']}:{found['line']}"
    )
    event = _event(start if known and start is not None else incident.start_us, description, message, "finding")
    cells = flat(found)
    cut = [name for name in COLUMNS if isinstance(cells[name], str) and len(str(cells[name])) > LONGEST_VALUE]
    own = {f"kvf_{k}": v[:LONGEST_VALUE] if isinstance(v, str) else v for k, v in cells.items() if v is not None}
    times = {f"kvf_{name}_us": found[name] for name in INSTANTS if found[name] is not None}
    return {**event, **own, **times, "tag": ["kvforensics", found["disposition"]], **({"kvf_cut": cut} if cut else {})}


def _event(us: int, description: str, message: str, kind: str) -> dict[str, Any]:
    moment = (_EPOCH + dt.timedelta(microseconds=us)).isoformat(timespec="microseconds")
    return {
        "message": terminal(message)[:LONGEST_VALUE], "datetime": moment, "timestamp": us, "timestamp_desc": description,
        "data_type": f"kvforensics:{kind}",
    }  # fmt: skip


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
