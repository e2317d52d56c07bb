"""What speaks for or against each finding, though it proves nothing?

An answer that came sooner than the prompt can have been read did not rest on that prompt; one that took as long as reading
it contradicts the incident. Speed is prompt tokens that were not cached by the time to the first token, else by the whole
duration, which is longer and so only ever understates it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kvforensics.catalog import query
from kvforensics.incident import Incident
from kvforensics.store import Store

LEAST_TOKENS = 1000
"""Shorter prompts say nothing about reading speed: their time is all overhead."""
LEAST_RECORDS = 20
IMPLAUSIBLE, CONCLUSIVE = 2.0, 10.0
"""How many times the fastest believable rate is implausible, and how many practically conclusive."""
MOST = 1000
Json = dict[str, Any]


def corroborate(store: Store, incident: Incident, *, whole: bool) -> Json:
    """The object `corroboration` of the estimate; speed only where the `whole` of the records was kept."""
    told = {"over": incident.uncertain_from - 1, "least_tokens": LEAST_TOKENS}
    best = store.run(query("330_prefill_rate"), told).to_pylist()[0]
    believable = best["rate"] if whole and best["records"] >= LEAST_RECORDS else None
    rows = store.run(query("331_corroboration"), {"most": MOST}).to_pylist()
    findings = [_finding(row, believable) for row in rows]
    return {
        "believable_tokens_per_second": None if believable is None else round(believable, 1),
        "believable_from": best["records"] if whole else 0,
        "counts": dict(sorted(Counter(mark for f in findings for mark in f["marks"]).items())),
        "findings": findings,
        "more": rows[0]["total"] - len(rows) if rows else 0,
    }


def _finding(row: Mapping[str, Any], believable: float | None) -> Json:
    basis = "first_token" if row["first_token_us"] else "duration" if row["duration_us"] else None
    tokens, cached = row["tokens"], row["cached_tokens"] or 0
    speed = None
    if basis is not None and tokens is not None and tokens > cached:
        speed = (tokens - cached) * 1_000_000 / row[f"{basis}_us"]
    marks = []
    if speed is not None and believable is not None:
        if speed > IMPLAUSIBLE * believable:
            marks.append("conclusive_speed" if speed > CONCLUSIVE * believable else "implausible_speed")
        elif speed <= believable:
            marks.append("took_a_full_prefill")
    if row["cached_tokens"] == 0:
        marks.append("no_cached_tokens")
    return {
        "source": row["source"],
        "line": row["line"],
        "disposition": row["disposition"],
        "marks": marks,
        # A long answer takes long to write, so only the time to the first token can contradict.
        "contradicts": basis == "first_token" and "took_a_full_prefill" in marks,
        "tokens_per_second": None if speed is None else round(speed, 1),
        "speed_basis": None if speed is None else basis,
        "first_token_ms": _ms(row["first_token_us"]),
        "duration_ms": _ms(row["duration_us"]),
        **{key: row[key] for key in ("cached_tokens", "completion_tokens", "response_bytes", "finish_reason")},
    }


def _ms(us: int | None) -> float | None:
    return None if us is None else us / 1000
