"""Does every query answer its cases, both those where it fires and those where it does not?

A case is a TOML file: `[[record]]` and `[[rule]]` as in `judged_evidence`, `[[row]]` the expected rows with the columns that
matter. Record numbers are written `source:line`, null is "NULL". `sabotage` is a statement that breaks the judgement
first, for audits.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from judged_evidence import SmallIncident, judged
from kvforensics.catalog import all_queries, query
from kvforensics.store import Store

CASES = Path(__file__).parent / "queries"
NUMBERS = ("n", "call", "carrier", "label", "target", "counted", "twin", "repeats")
PARAMETERS = {
    "110_parts": {f: getattr(SmallIncident(), f) for f in query("110_parts").parameters},
    "303_outside": {"off_model_dropped": 2},
}


def _plain(row: dict[str, Any], sources: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if name in NUMBERS and isinstance(value, int):
            out[name] = f"{sources[(value >> 40) - 1]}:{value & ((1 << 40) - 1)}"
        else:
            out[name] = "NULL" if value is None else value
    return out


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.toml")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_query_answers_its_case(path: Path) -> None:
    case = tomllib.loads(path.read_text())
    stem = path.parent.name
    with Store(threads=2) as store:
        judged(case.get("record", []), case.get("rule", []), store=store)
        if sabotage := case.get("sabotage"):
            store._connection.execute(sabotage)
        answer = store.run(query(stem), PARAMETERS.get(stem))
    sources = sorted({r.get("source", "a") for r in case.get("record", [])})
    expected = case.get("row", [])
    columns = list(expected[0]) if expected else []
    found = [{c: r[c] for c in columns} for r in (_plain(r, sources) for r in answer.to_pylist())]
    if "ORDER BY" not in query(stem).sql.rsplit(")", 1)[-1]:
        found.sort(key=repr)
        expected = sorted(expected, key=repr)
    assert found == expected, case["what"]


@pytest.mark.parametrize("stem", [q.stem for q in all_queries()])
def test_every_query_has_a_case_that_fires_and_one_that_does_not(stem: str) -> None:
    names = {p.stem for p in (CASES / stem).glob("*.toml")}
    assert any(n.startswith("fires") for n in names)
    assert any(n.startswith("quiet") for n in names)
