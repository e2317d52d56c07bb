"""Does every query answer its cases, both those where it fires and those where it does not?

A case is a TOML file: `[[record]]`, `[[rule]]` and `[[node]]` as in `judged_evidence`, `[[row]]` the expected rows with
the columns that matter; `[[alias]]`, `[[rate]]`, `[[side]]` and `[[limit]]` are the relations of those names, `[stated]` what
a variation changes; for the operator's queries `[[engine]]` rows as in `engine.records.SCHEMA` and `[[opening]]` of answers.
Record numbers are written `source:line`, null is "NULL". `sabotage` is a statement that breaks the judgement first, for
audits.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from judged_evidence import SmallIncident, judged
from kvforensics.catalog import all_queries, query
from kvforensics.engine.records import SCHEMA
from kvforensics.store import Store

CASES = Path(__file__).parent / "queries"
NUMBERS = ("n", "call", "carrier", "label", "target", "counted", "twin", "repeats", "one", "other")
PARAMETERS = {
    "105_thresholds": {f: getattr(SmallIncident(), f) for f in query("105_thresholds").parameters},
    "110_parts": {f: getattr(SmallIncident(), f) for f in query("110_parts").parameters},
    "303_outside": {"off_model_dropped": 2},
    "312_tenant_table": {"most": 2, "evidence": 2},
    "313_by_time": {"unit_us": 60_000_000, "most": 2},
    "314_by_attribute": {"attribute": "node", "most": 2},
    "317_may_be_one": {"most": 10},
    "322_matches_without_rule": {"rule_id": "rule-0"},
    "330_prefill_rate": {"over": 1000, "least_tokens": 100},
    "331_corroboration": {"most": 10},
    "332_node_minutes": {"most": 2},
    "402_affected_rooms": {"first_rejected": 1000, "certain_from": 2000},
    "412_unequal_pages": {"page_size": 64},
    "415_population": {"first_rejected": 1000, "certain_from": 2000},
    "418_stub_batches": {"first_rejected": 1000, "page_size": 64},
    "421_plain_successes": {"first_rejected": 1000},
}


def _plain(row: dict[str, Any], sources: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if name in NUMBERS and isinstance(value, int):
            out[name] = f"{sources[(value >> 40) - 1]}:{value & ((1 << 40) - 1)}"
        else:
            out[name] = "NULL" if value is None else value
    return out


def _sizing(store: Store, case: dict[str, Any]) -> None:
    """The relations that the queries of sizing read."""
    rates = [{"source": r["source"], "rate": float(r["rate"])} for r in case.get("rate", [])]
    store.register("rates", pa.Table.from_pylist(rates, pa.schema([("source", pa.string()), ("rate", pa.float64())])))
    sides = pa.schema([("source", pa.string()), ("side", pa.int64())])
    store.register("sides", pa.Table.from_pylist(case.get("side", []), sides))
    store.create_table_as("flagged_calls", query("310_flagged_calls"))
    store.create_table_as("varied_records", query("320_varied_records"))
    store.create_table_as("all_rule_matches", query("240_rule_matches"))
    ends = ("since_us", "until_us", "tokens_from", "tokens_to")
    limits = pa.schema([("code", pa.string()), *((end, pa.int64()) for end in ends)])
    store.register("moved_limits", pa.Table.from_pylist(case.get("limit", []), limits))
    changed = {**PARAMETERS["110_parts"], **case.get("stated", {})}
    store.create_table_as("stated_parts", query("110_parts"), changed)


def engine_records(store: Store, rows: list[dict[str, Any]], openings: list[dict[str, Any]]) -> None:
    """Rows of engine logs; those without a line are numbered. Openings are those of answers."""
    made = [{"source": "a", "node": "n", "line": n, **row} for n, row in enumerate(rows, 1)]
    store.register("engine_records", pl.DataFrame(made, schema=SCHEMA).to_arrow(compat_level=pl.CompatLevel.oldest()))
    store.create_table_as("rooms", query("401_rooms"))
    store.create_table_as("gateway_requests", query("404_gateway_requests"))
    columns = pa.schema([("affected", pa.bool_()), ("opening", pa.string()), ("thinks", pa.bool_())])
    store.register("openings", pa.Table.from_pylist(openings, columns))


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.toml")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_query_answers_its_case(path: Path) -> None:
    case = tomllib.loads(path.read_text())
    stem = path.parent.name
    with Store(threads=2) as store:
        if stem[0] == "4":
            engine_records(store, case.get("engine", []), case.get("opening", []))
        judged(
            case.get("record", []), case.get("rule", []), store=store, aliases=case.get("alias"), nodes=case.get("node", [])
        )
        if "310" <= stem < "400":
            _sizing(store, case)
        if stem == "250_possible_duplicates":
            store.create_table_as("compared_calls", query("246_compared_calls"))
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
