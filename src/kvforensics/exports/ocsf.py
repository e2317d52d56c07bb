"""How does a case become events for a SIEM?

OCSF 1.8.0 (https://schema.ocsf.io/1.8.0): one Incident Finding (2005) for the case, then one Detection Finding (2004) for
each finding. Prompts and answers are in none. `time` asks for a moment: the one that the person gives, else the request's
own start, else the end of the window; `unmapped.kvf_time_basis` says which.
"""

from __future__ import annotations

import ipaddress
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from kvforensics.case_reader import StoredCase
from kvforensics.errors import EvidenceError
from kvforensics.escape import terminal
from kvforensics.finding_rows import finding_rows
from kvforensics.incident import Incident
from kvforensics.whole import whole_file

VERSION = "1.8.0"
MOST_LISTED = 1000
"""Findings that the incident lists by id; a single event must stay small enough to be taken in."""
_SEVERITY = {"affected": (4, "High"), "possible": (3, "Medium"), "replay": (3, "Medium")}
_VERDICT = {
    "affected": (4, "Suspicious"), "replay": (4, "Suspicious"), "possible": (7, "Insufficient Data"),
    "excluded": (6, "Test"), "duplicate": (10, "Duplicate"),
}  # fmt: skip
_CONFIDENCE = {"affected": (3, "High"), "possible": (1, "Low"), "replay": (2, "Medium")}
_CASE_VERDICT = {
    "exposed": (4, "Suspicious"), "possibly_exposed": (7, "Insufficient Data"), "undetermined": (7, "Insufficient Data"),
    "not_exposed": (5, "Benign"),
}  # fmt: skip
_FLAGGED = ("affected", "possible", "replay")
_CREATE = 1


class OcsfOptions(Struct, frozen=True):
    """`time_us` is the time of creation that the person gives, `assignee_group` who works on the case."""

    time_us: int | None = None
    assignee_group: str = "not assigned"


def write_ocsf(case: StoredCase, target: Path, options: OcsfOptions) -> int:
    """Write the events; their number."""
    incident = case.incident()
    if incident is None:
        raise EvidenceError("does not hold the incident file that it was judged by", where="case.json")
    rows = 1
    with whole_file(target, "the file of events") as partial, partial.open("wb") as out:
        out.write(_line(_incident_finding(case, incident, options)))
        for found in finding_rows(case):
            out.write(_line(_detection(case, found, incident, options)))
            rows += 1
    return rows


def _incident_finding(case: StoredCase, incident: Incident, options: OcsfOptions) -> dict[str, Any]:
    summary = case.summary
    counts: Counter[str] = Counter()
    listed: list[dict[str, Any]] = []
    for found in finding_rows(case):
        counts[found["disposition"]] += 1
        if found["disposition"] in _FLAGGED and len(listed) < MOST_LISTED:
            listed.append(_finding_info(found, incident))
    flagged = sum(counts[d] for d in _FLAGGED)
    verdict_id, verdict = _CASE_VERDICT[summary["verdict"]]
    severity_id, severity = (4, "High") if counts["affected"] else (3, "Medium") if flagged else (1, "Informational")
    responses = summary["responses"]
    at, basis = (options.time_us, "given") if options.time_us is not None else (incident.end_us, "end of the window")
    return {
        **_head(2005, case, at),
        "severity_id": severity_id, "severity": severity, "verdict_id": verdict_id, "verdict": verdict,
        "status_id": 1, "status": "New", "is_suspected_breach": bool(flagged),
        "assignee_group": {"name": options.assignee_group},
        "start_time": incident.start_us // 1000, "end_time": incident.uncertain_until_us // 1000,
        "count": flagged,
        "desc": terminal(incident.title),
        "message": f"{summary['verdict']}: {responses['lower']} to {_bound(responses['upper'])} responses",
        "finding_info_list": listed or [_nothing_found(case, incident)],
        "metadata": {**_metadata(case), "uid": _case_id(case)},
        "unmapped": {
            "kvf_time_basis": basis, "kvf_responses": responses, "kvf_tenants": summary["tenants"],
            "kvf_by_disposition": dict(sorted(counts.items())), "kvf_complete": summary["complete"],
            "kvf_window_covered": summary["coverage"]["window_covered"], "kvf_findings_not_listed": flagged - len(listed),
        },
    }  # fmt: skip


def _detection(case: StoredCase, found: Mapping[str, Any], incident: Incident, options: OcsfOptions) -> dict[str, Any]:
    disposition = found["disposition"]
    severity_id, severity = _SEVERITY.get(disposition, (1, "Informational"))
    verdict_id, verdict = _VERDICT[disposition]
    set_aside = disposition in {"excluded", "duplicate"}
    start: int | None = found["started_earliest"]
    at, basis = (options.time_us, "given") if options.time_us is not None else (start, "request start")
    if at is None:
        at, basis = incident.end_us, "end of the window"
    metadata = {
        **_metadata(case), "uid": found["finding_id"], "log_name": found["source"], "original_time": found["time_text"],
        "original_event_uid": found["record_id"], "tenant_uid": found["tenant"],
    }  # fmt: skip
    event = {
        **_head(2004, case, at),
        "severity_id": severity_id, "severity": severity, "verdict_id": verdict_id, "verdict": verdict,
        "status_id": 3 if set_aside else 1, "status": "Suppressed" if set_aside else "New",
        "is_alert": disposition in _FLAGGED, "count": 1, "timezone_offset": 0,
        "message": f"{disposition}: {terminal(found['source'])}:{found['line']}",
        "finding_info": _finding_info(found, incident),
        "metadata": {key: value for key, value in metadata.items() if value is not None},
        "evidences": [_evidence(found)],
        "unmapped": {
            "kvf_time_basis": basis, "kvf_disposition": disposition, "kvf_parts": found["parts"],
            "kvf_started_earliest_us": start, "kvf_started_latest_us": found["started_latest"],
            "kvf_reasons": found["reasons"], "kvf_excluded_by": found["excluded_by"],
            "kvf_duplicate_of": found["duplicate_of"], "kvf_replay_of": found["replay_of"],
        },
    }  # fmt: skip
    if disposition in _CONFIDENCE:
        event["confidence_id"], event["confidence"] = _CONFIDENCE[disposition]
    if start is not None:
        event["start_time"] = start // 1000
    if found["started_latest"] is not None:
        event["end_time"] = found["started_latest"] // 1000
    if found["tenant"]:
        event["resources"] = [{"uid": found["tenant"], "type": "tenant", "role_id": 3, "role": "Affected"}]
    if found["sha256"]:
        event["raw_data_hash"] = {"algorithm_id": 3, "algorithm": "SHA-256", "value": found["sha256"]}
        event["raw_data_size"] = found["byte_length"]
    return event


def _head(class_uid: int, case: StoredCase, time_us: int) -> dict[str, Any]:
    return {
        "activity_id": _CREATE, "activity_name": "Create", "category_uid": 2, "category_name": "Findings",
        "class_uid": class_uid, "class_name": "Detection Finding" if class_uid == 2004 else "Incident Finding",
        "type_uid": class_uid * 100 + _CREATE, "time": time_us // 1000, "metadata": _metadata(case),
    }  # fmt: skip


def _metadata(case: StoredCase) -> dict[str, Any]:
    tool = case.document["tool"]
    product = {"name": "kvforensics", "vendor_name": "kvforensics", "version": str(tool["version"])}
    # The profile brings the verdict, also to a single finding.
    return {"version": VERSION, "product": product, "profiles": ["incident"], "correlation_uid": _case_id(case)}


def _case_id(case: StoredCase) -> str:
    """The same for every event of a case: the digest of its findings."""
    return case.files["findings.jsonl"][:32]


def _finding_info(found: Mapping[str, Any], incident: Incident) -> dict[str, Any]:
    return {
        "uid": found["finding_id"],
        "title": f"{found['disposition']} response of a model with {terminal(incident.title)}",
        "types": [found["disposition"]],
        "analytic": {"type_id": 1, "type": "Rule", "name": incident.id, "uid": incident.digest},
    }


def _nothing_found(case: StoredCase, incident: Incident) -> dict[str, Any]:
    """The list must not be empty; a case without a finding stands for itself."""
    analytic = {"type_id": 1, "type": "Rule", "name": incident.id, "uid": incident.digest}
    return {"uid": _case_id(case), "title": "no response is flagged", "types": [case.summary["verdict"]], "analytic": analytic}


def _evidence(found: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("source", "line", "byte_offset", "byte_length", "format", "correlation", "model_text", "prompt_tokens_min",
            "prompt_tokens_max", "token_basis", "completion_tokens", "status", "time_basis", "key", "user_agent")  # fmt: skip
    evidence: dict[str, Any] = {"data": {key: found[key] for key in keys if found[key] is not None}}
    if found["user"]:
        evidence["user"] = {"uid": found["user"]}
    if found["client_ip"]:
        try:
            evidence["src_endpoint"] = {"ip": str(ipaddress.ip_address(found["client_ip"].strip()))}
        except ValueError:
            evidence["data"]["client_ip"] = found["client_ip"]
    return evidence


def _bound(upper: int | None) -> str:
    return "an unknown number of" if upper is None else str(upper)


def _line(event: Mapping[str, Any]) -> bytes:
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
