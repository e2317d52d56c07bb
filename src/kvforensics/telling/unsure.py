"""Why is it not known whether a request started in time and was long enough?

Either its record does not tell, or the incident itself leaves it open, and then no better log can help.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.incident import Incident

Json = Mapping[str, Any]
TAIL = "started in the tail in which not all nodes were corrected"
BAND = "its count is in the band where the engine's own arithmetic may already reject"
NODE = "the thresholds of the nodes differ, and its count is between them"
DISAGREE = "its records disagree"
START_OR_END = "the record's time may be its start or its end"
NO_ZONE = "its zone is not told"
_WIDEST_ZONES = dt.timedelta(hours=26)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def why_unsure(finding: Json, incident: Incident | None) -> Iterator[str]:
    """Why start and length are not known, where they are not; without `incident` what its record lacks."""
    parts, reasons = finding["parts"], finding.get("reasons") or ()
    for part, told in (("in_window", _time), ("over_threshold", _tokens)):
        if parts[part] is None:
            yield DISAGREE if f"{part}: records_disagree" in reasons else told(finding, incident)


def _time(finding: Json, incident: Incident | None) -> str:
    basis = finding["time_basis"]
    earliest, latest = (_moment(finding[key]) for key in ("started_earliest", "started_latest"))
    if earliest is None or latest is None:
        return f"time: {basis}"
    if incident is not None and _us(earliest) >= incident.end_us and _us(latest) < incident.uncertain_until_us:
        return TAIL
    if basis == "start-or-end":
        return f"{START_OR_END}, and {NO_ZONE}" if latest - earliest >= _WIDEST_ZONES else START_OR_END
    return f"time: {basis}"


def _tokens(finding: Json, incident: Incident | None) -> str:
    low, high = finding["prompt_tokens_min"], finding["prompt_tokens_max"]
    if incident is not None and low is not None and low == high:
        bands = [(incident.uncertain_from, incident.prompt_tokens_over)]
        bands += [(node.uncertain_from, node.prompt_tokens_over) for node in incident.nodes]
        if any(bottom <= low <= top for bottom, top in bands):
            return f"{BAND}, or {NODE}" if incident.nodes else BAND
        if incident.nodes:
            return NODE
    return f"tokens: {finding['token_basis']}"


def _moment(value: object) -> dt.datetime | None:
    if isinstance(value, str):
        return dt.datetime.fromisoformat(value)
    return value if isinstance(value, dt.datetime) else None


def _us(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
