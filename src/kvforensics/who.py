"""Whose responses are flagged, when, and by which node, key and user agent?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvforensics.catalog import query
from kvforensics.instant import rfc3339
from kvforensics.store import Store

DAY_US, HOUR_US = 86_400_000_000, 3_600_000_000
MOST_TENANTS, MOST_EVIDENCE, MOST_BUCKETS = 1000, 50, 1000
ATTRIBUTES = ("node", "key", "user_agent")
Json = dict[str, Any]


def tenant_table(store: Store) -> Json:
    """One row for each tenant, most affected first, and how many more there are."""
    rows = store.run(query("312_tenant_table"), {"most": MOST_TENANTS, "evidence": MOST_EVIDENCE}).to_pylist()
    return {"rows": [_tenant(r) for r in rows], "more": rows[0]["tenants"] - len(rows) if rows else 0}


def _tenant(row: Mapping[str, Any]) -> Json:
    return {
        **{key: row[key] for key in ("tenant", "affected", "possible", "replays", "excluded")},
        "first": None if row["first_us"] is None else rfc3339(row["first_us"]),
        "last": None if row["last_us"] is None else rfc3339(row["last_us"]),
        "prompt_tokens_min": row["tokens_min"],
        "prompt_tokens_max": row["tokens_max"],
        "longest_prompt": row["longest"],
        "days": [rfc3339(day * DAY_US)[:10] for day in row["days"] or ()],
        "evidence": row["evidence"],
        "more_evidence": row["lines"] - len(row["evidence"]),
    }


def breakdowns(store: Store) -> Json:
    """Flagged responses by day, hour, node, key and user agent."""
    days = _buckets(store, "313_by_time", {"unit_us": DAY_US}, lambda r: _at(r["at_us"], 10))
    hours = _buckets(store, "313_by_time", {"unit_us": HOUR_US}, lambda r: _at(r["at_us"], None))
    others = {a: _buckets(store, "314_by_attribute", {"attribute": a}, lambda r: r["name"]) for a in ATTRIBUTES}
    return {"day": days, "hour": hours, **others}


def _buckets(store: Store, stem: str, parameters: Mapping[str, str | int], name: Callable[[Json], str | None]) -> Json:
    rows = store.run(query(stem), {**parameters, "most": MOST_BUCKETS}).to_pylist()
    counts = ("affected", "possible", "replays", "excluded", "tenants")
    return {
        "rows": [{"name": name(r), **{c: r[c] for c in counts}} for r in rows],
        "more": rows[0]["buckets"] - len(rows) if rows else 0,
    }


def _at(us: int | None, length: int | None) -> str | None:
    return None if us is None else rfc3339(us)[:length]
