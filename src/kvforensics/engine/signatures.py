"""Which signs of the bug are in engine logs, and how much does each prove?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from kvforensics.catalog import Value, query
from kvforensics.engine.audit import AuditOptions, nodes_of
from kvforensics.engine.evidence import read_evidence
from kvforensics.engine.limits import Range, over_all
from kvforensics.engine.lines import SourceReport
from kvforensics.store import Store

SCHEMA = "kvforensics.signatures/1"
EXPOSED, REVIEW, NOTHING = 10, 11, 12
QUERIES = (
    "411_rejections", "412_unequal_pages", "413_empty_prefills", "415_population", "417_too_fast", "418_stub_batches",
    "421_plain_successes", "422_witnesses", "423_refused_at_gateway", "424_needs_review",
)  # fmt: skip
NAMES = {
    "S1": "rejection error lines", "S2": "unequal page counts", "S3": "one token in prefill's request log",
    "S4": "one token in prefill's time statistics", "S5": "answered over the limit", "S6": "nothing cached",
    "S7": "answers that began too soon", "S8": "prefill batches of one page", "S9": "prompt tokens that prefill never saw",
    "S10": "one page for a long prompt", "S11": "how answers open", "S12": "plain successes at the gateway",
    "S13": "refusals at the gateway", "S14": "canary violations", "S15": "checksum mismatches",
    "review": "prompts cut in silence",
}  # fmt: skip
"""What each sign is, in a few words."""
RELIABILITY = {
    "S1": "high precision on a vulnerable prefill; poor recall with attention DP: a lower bound",
    "S2": "high precision and full recall for sparse-attention models over Mooncake (0.5.11 to 0.5.19); no identities",
    "S3": "very high where both request logs exist",
    "S4": "very high; needs time statistics on both sides",
    "S5": "population test: full recall with whole decode logs; precision needs the limit and the version",
    "S6": "supporting: nothing cached on a very long prompt; cold prompts look the same",
    "S7": "strong; above ten times the best observed rate practically conclusive",
    "S8": "weak: batches merge requests, health checks look the same; not counted",
    "S9": "aggregate evidence only",
    "S10": "strong: one page sent for a prompt of thousands of tokens",
    "S11": "confirmatory, needs content: see the content check",
    "S12": "not distinguishable by itself: client and gateway see a plain success",
    "S13": "absence proves nothing: the gateway sees a plain success; a refusal shows a repaired pair",
    "S14": "direct physical evidence",
    "S15": "exposure attempts; the requests were aborted",
}


class Signatures(Struct, frozen=True):
    """Rows by signature, the bounds that they give together, and what was read.

    `requests` counts those that prefill, decode and gateway saw, joined; `not_told` says what these logs cannot tell.
    """

    requests: dict[str, int]
    not_told: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    drift: dict[str, int] | None
    look_alikes: tuple[dict[str, Any], ...]
    not_asked: tuple[str, ...]
    inputs: tuple[SourceReport, ...]

    @property
    def certain(self) -> int:
        """The affected requests that are proved, each once: by id or room, else by the most that one signature counts."""
        proved = [r for r in self.rows if str(r["reading"]).startswith("affected") and " if " not in r["reading"]]
        named = {r["rid"] or r["room"] for r in proved if r["rid"] or r["room"]}
        unnamed = [r for r in proved if r["signature"] == "S2"]
        return max(len(named), len(unnamed))

    @property
    def exit_status(self) -> int:
        """10 where an affected request is proved, 11 where one is possible or needs review, 12 where nothing shows."""
        if self.certain:
            return EXPOSED
        open_ones = any(r["reading"] != "refused" and not str(r["reading"]).startswith("weak") for r in self.rows)
        return REVIEW if open_ones else NOTHING

    def document(self) -> dict[str, Any]:
        """All signatures as one JSON document."""
        kinds = sorted({str(r["signature"]) for r in self.rows}, key=_by_number)
        return {
            "schema": SCHEMA,
            "affected_at_least": self.certain,
            "signatures": [
                {"signature": kind, "name": named(kind), "reliability": RELIABILITY.get(kind.split("+")[0], "needs review"),
                 "count": sum(r["signature"] == kind and r["reading"] != "refused" for r in self.rows),
                 "refused": sum(r["signature"] == kind and r["reading"] == "refused" for r in self.rows)}
                for kind in kinds
            ],
            "reliability": RELIABILITY,
            "not_asked": list(self.not_asked),
            "not_told": list(self.not_told),
            "requests": self.requests,
            "token_drift": self.drift,
            "rows": list(self.rows),
            "look_alikes": list(self.look_alikes),
            "inputs": [i.document() for i in self.inputs],
        }  # fmt: skip


def signatures(
    paths: tuple[str, ...], *, first_rejected: int | None = None, page_size: int | None = None, workers: int = 1
) -> Signatures:
    """Run every signature over engine logs. What the start-up logs do not tell can be given; what is not told is not asked."""
    evidence = read_evidence(paths, None, workers)
    records, reports = evidence.records(), evidence.inputs
    nodes = nodes_of(evidence.starts, AuditOptions(paths))
    told = over_all(n.limit.tokens for n in nodes if n.role == "prefill")
    limits = told if first_rejected is None else Range(first_rejected, first_rejected)
    # Unequal page counts are printed from 0.5.11 on, so an older node says nothing about their pages.
    page = page_size or _only([n.page_size for n in nodes if n.version.since((0, 5, 11)) is not False])
    rows: list[dict[str, Any]] = []
    not_asked: list[str] = []
    with Store() as store:
        store.register("engine_records", records.to_arrow(compat_level=pl.CompatLevel.oldest()))
        store.create_table_as("rooms", query("401_rooms"))
        store.create_table_as("gateway_requests", query("404_gateway_requests"))
        given: dict[str, Value] = {"first_rejected": limits.low, "certain_from": limits.high, "page_size": page}
        for stem in QUERIES:
            asked = query(stem)
            wanted = {name: given[name] for name in asked.parameters}
            if stem == "415_population" and limits.low is None:
                not_asked.append(f"S5 {NAMES['S5']}: the first rejected length is not told (--first-rejected)")
                continue
            rows += store.run(asked, wanted).to_pylist()
            if stem == "412_unequal_pages" and page is None:
                not_asked.append(f"S2 {NAMES['S2']}: lengths are not told, as the page size is not (--page-size)")
        drift = store.run(query("419_token_drift")).to_pylist()
        alike = store.run(query("430_look_alikes")).to_pylist()
        (requests,) = store.run(query("405_joined_requests")).to_pylist()
    seen = {str(r["signature"]) for r in rows}
    return Signatures(
        requests, tuple(_not_told(seen, requests)), tuple(rows), drift[0] if drift else None, tuple(alike), tuple(not_asked),
        reports,
    )  # fmt: skip


def named(signature: str) -> str:
    """What a sign, or several that stand together (`S5+S6`), is in a few words."""
    return " and ".join(NAMES[one] for one in signature.split("+"))


def _by_number(signature: str) -> tuple[int, str]:
    number = signature.split("+", maxsplit=1)[0].removeprefix("S")
    return (int(number) if number.isdigit() else 99, signature)


def _not_told(seen: set[str], requests: dict[str, int]) -> Iterator[str]:
    """What no line of these logs can tell, whatever the deployment is."""
    yield f"S11 {NAMES['S11']}: needs the answers (kvforensics content --affected)"
    yield f"S12 {NAMES['S12']}: a success looks the same, affected or not"
    if "S13" not in seen:
        yield f"S13 {NAMES['S13']}: none is in these logs, which proves nothing"
    if requests["prefill_batches"] == 0:
        yield f"S8 {NAMES['S8']}: no batch of one request is in these logs; some releases print none"


def _only(values: Sequence[int | None]) -> int | None:
    told = {v for v in values if v is not None}
    return told.pop() if len(told) == 1 else None
