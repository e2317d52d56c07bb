"""Where does a case come from, in words that other tools read?

PROV-JSON tells what was made from what; an in-toto statement with SLSA provenance states the digests of the results and
of everything that they came from. Both are plain JSON made from `case.json`, and both are silent about time, host and user,
as a case is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.case_reader import StoredCase

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:kvforensics:check:1"
_NAMESPACE = "urn:kvforensics:"


def prov_json(case: StoredCase, results: Mapping[str, str], queries: Mapping[str, str]) -> dict[str, Any]:
    """A PROV-JSON document. `results` are name and SHA-256 of the files of the case, `queries` of the queries."""
    entities: dict[str, Any] = {}
    used: dict[str, Any] = {}
    made: dict[str, Any] = {}
    derived: dict[str, Any] = {}
    for at, (kind, name, digest) in enumerate(_materials(case, queries), 1):
        entities[f"kvf:material-{at}"] = _entity(kind, name, digest)
        used[f"_:used-{at}"] = {"prov:activity": "kvf:check", "prov:entity": f"kvf:material-{at}", "prov:role": kind}
    inputs = [name for name, entity in entities.items() if entity["prov:type"] == "input"]
    for at, (name, digest) in enumerate(sorted(results.items()), 1):
        entities[f"kvf:result-{at}"] = _entity("result", name, digest)
        made[f"_:made-{at}"] = {"prov:entity": f"kvf:result-{at}", "prov:activity": "kvf:check"}
        if name == "findings.jsonl":
            for place, source in enumerate(inputs, 1):
                link = {"prov:generatedEntity": f"kvf:result-{at}", "prov:usedEntity": source, "prov:activity": "kvf:check"}
                derived[f"_:derived-{place}"] = link
    tool = case.document["tool"]
    agent = {"prov:type": "prov:SoftwareAgent", "prov:label": str(tool["name"]), "kvf:version": str(tool["version"])}
    return {
        "prefix": {"kvf": _NAMESPACE, "prov": "http://www.w3.org/ns/prov#"},
        "entity": entities,
        "activity": {"kvf:check": {"prov:label": "judged every record against the incident"}},
        "agent": {"kvf:tool": agent},
        "used": used,
        "wasGeneratedBy": made,
        "wasDerivedFrom": derived,
        "wasAssociatedWith": {"_:associated-1": {"prov:activity": "kvf:check", "prov:agent": "kvf:tool"}},
    }


def statement(case: StoredCase, results: Mapping[str, str], queries: Mapping[str, str]) -> dict[str, Any]:
    """An in-toto Statement v1: these results came from these materials with this version and these options."""
    tool, incident = case.document["tool"], case.document["incident"]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(results.items())],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"incident": incident["id"], "options": case.document["options"]},
                "internalParameters": {},
                "resolvedDependencies": [
                    {"name": f"{kind}: {name}", "digest": {"sha256": digest}}
                    for kind, name, digest in _materials(case, queries)
                    if digest is not None
                ],
            },
            "runDetails": {
                "builder": {"id": f"pkg:pypi/{tool['name']}@{tool['version']}", "version": {tool["name"]: tool["version"]}},
                "metadata": {"invocationId": f"sha256:{results['case.json']}"},
            },
        },
    }


def _entity(kind: str, name: str, digest: str | None) -> dict[str, Any]:
    known = {} if digest is None else {"kvf:sha256": digest}
    return {"prov:type": kind, "prov:label": name, **known}


def _materials(case: StoredCase, queries: Mapping[str, str]) -> Iterator[tuple[str, str, str | None]]:
    """Kind, name and SHA-256 of everything that the results came from; an input that could not be read has no digest."""
    document = case.document
    for told in document["inputs"]:
        yield "input", told["source"], told["sha256"]
    yield "incident", document["incident"]["id"], document["incident"]["sha256"]
    for rules in document["exclusions"]:
        yield "exclusions", rules["name"], rules["sha256"]
        for name, digest in sorted(rules["lists"].items()):
            yield "exclusion list", name, digest
    for mapping in document.get("mappings", ()):
        yield "mapping", mapping["name"], mapping["sha256"]
    for stem, digest in sorted(queries.items()):
        yield "query", stem, digest
