"""What may one tenant be told?

Its own requests, in plain words, and nothing about anybody else: no other name, no total, no file name (it may hold
another's name), no key and no address (they may be shared). How the fault came about and what to do is the same for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from kvforensics.case_reader import StoredCase
from kvforensics.errors import UsageError
from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.page import Block, Bullets, Cell, Code, Column, Line, Page, Paragraph, Section, Table, Terms, quoted
from kvforensics.plural import counted
from kvforensics.telling import thresholds, wording
from kvforensics.telling.glossary import NOTICE_TERMS
from kvforensics.telling.survey import ORDER

Json = Mapping[str, Any]
FLAGGED = ORDER[:3]
SHOWN = 1000
"""Requests that a notice lists; the JSON notice has them all."""
OWN = (
    "finding_id", "disposition", "parts", "record_id", "started_earliest", "started_latest", "prompt_tokens_min",
    "prompt_tokens_max", "completion_tokens", "model_text", "status", "sha256", "time_basis", "token_basis", "tenant",
)  # fmt: skip
"""What a notice may know of a finding."""
_COLUMNS = (
    Column("started", "Started (UTC)", wide=True), Column("certainty", "Affected?"),
    Column("prompt_tokens", "Prompt tokens", "not known"),
    Column("record_id", "Request id", wide=True), Column("basis", "What it rests on", wide=True),
    Column("reference", "Our reference", wide=True),
)  # fmt: skip
_CERTAINTY = {"affected": "yes", "possible": "possibly", "replay": "possibly (answer repeated from a cache)"}


class Own(Struct, frozen=True):
    """One tenant's flagged requests: how many of each kind, and the first of them.

    `left_out` are those that an exclusion rule took out; `unnamed` says that some flagged records of the case name no tenant,
    so that they can be anybody's.
    """

    tenant: str
    counts: Mapping[str, int]
    findings: tuple[Json, ...]
    left_out: int
    unnamed: bool


def flagged_tenants(case: StoredCase) -> tuple[str, ...]:
    """Every tenant with a flagged request, sorted."""
    found = {
        row["tenant"]
        for batch in case.findings(["tenant", "disposition"])
        for row in batch.to_pylist()
        if row["disposition"] in FLAGGED and row["tenant"] is not None
    }
    return tuple(sorted(found))


def collect(case: StoredCase, tenants: frozenset[str]) -> dict[str, Own]:
    """The flagged requests of each of these tenants, in one pass."""
    kept: dict[str, dict[str, list[Json]]] = {t: {name: [] for name in FLAGGED} for t in tenants}
    counts = {t: dict.fromkeys(FLAGGED, 0) for t in tenants}
    for finding in own_findings(case, tenants):
        tenant, disposition = finding["tenant"], finding["disposition"]
        counts[tenant][disposition] += 1
        if len(kept[tenant][disposition]) < SHOWN:
            kept[tenant][disposition].append(finding)
    left_out, unnamed = _not_listed(case)
    return {
        t: Own(t, counts[t], tuple(f for name in FLAGGED for f in kept[t][name])[:SHOWN], left_out[t], unnamed)
        for t in sorted(tenants)
    }


def _not_listed(case: StoredCase) -> tuple[Counter[str | None], bool]:
    """How many findings of each tenant a rule took out, and whether a flagged record names no tenant."""
    left_out: Counter[str | None] = Counter()
    unnamed = False
    for batch in case.findings(["tenant", "disposition"]):
        for row in batch.to_pylist():
            left_out[row["tenant"]] += row["disposition"] == "excluded"
            unnamed |= row["tenant"] is None and row["disposition"] in FLAGGED
    return left_out, unnamed


def own_findings(case: StoredCase, tenants: frozenset[str]) -> Iterator[Json]:
    """The flagged findings of these tenants, with nothing in them that could be another's."""
    for batch in case.findings(OWN):
        for row in batch.to_pylist():
            if row["tenant"] in tenants and row["disposition"] in FLAGGED:
                yield row


def known_tenant(case: StoredCase, tenant: str) -> None:
    """Raises `UsageError` where no record of the case names the tenant, or where it is counted under another name."""
    if any(tenant in batch.column(0).to_pylist() for batch in case.findings(["tenant"])):
        return
    entries = (case.document["options"].get("tenant_aliases") or {}).get("entries") or ()
    counted_as = {name for _, value, name in entries if value == tenant and name != tenant}
    if counted_as:
        raise UsageError(
            f"the alias file counts {tenant!r} under another name", advice=f"write {' or '.join(map(repr, sorted(counted_as)))}"
        )
    named = {tenant} | {value for _, value, name in entries if name == tenant}
    for batch in case.records(["tenant", "key", "user"]):
        if any(named & set(row.values()) for row in batch.to_pylist()):
            return
    raise UsageError(f"no record of this case names the tenant {tenant!r}", advice="write it exactly as the log does")


def notice_page(case: StoredCase, own: Own, more: tuple[Section, ...] = ()) -> Page:
    """The notice for one tenant; `more` stands behind its requests."""
    summary, incident = case.summary, case.incident()
    return Page(
        kind="notice",
        title="Notice about your requests",
        subject=quoted(summary.get("title") or summary["incident"]) or "",
        verdict="",
        facts=tuple(_facts(own, incident)),
        sections=(
            Section("answer", "What we found", tuple(_found(own))),
            Section("happened", "What happened", tuple(_happened(incident))),
            Section("requests", "Your requests", tuple(_requests(own, incident))),
            *more,
            Section("next", "What you can do", (Bullets(tuple(_next(own))),)),
            Section("limits", "What we cannot tell you", (Bullets(_LIMITS),)),
            Section("glossary", "Words used here", (Terms(NOTICE_TERMS),)),
        ),
    )


def _facts(own: Own, incident: Incident | None) -> Iterator[tuple[str, Line]]:
    yield "For", (quoted(own.tenant) or "",)
    if incident is not None:
        yield "Time in question (UTC)", (f"{rfc3339(incident.start_us)} to {rfc3339(incident.uncertain_until_us)}",)


def _found(own: Own) -> Iterator[Block]:
    affected, possible = own.counts["affected"], own.counts["possible"] + own.counts["replay"]
    if affected:
        more = f" {possible:,} more may be." if possible else ""
        were = "was" if affected == 1 else "were"
        text = f"{counted(affected, 'answer')} that you received {were} affected by this incident.{more}"
        yield Paragraph((text,), "lead")
        yield Paragraph((
            "Affected means that the answer was made under the conditions in which it could contain traces of text that "
            "somebody else had sent. It does not mean that it does contain any.",
        ))  # fmt: skip
    elif possible:
        they_were = "it was" if possible == 1 else "they were"
        yield Paragraph((
            f"None of your requests is known to be affected. For {counted(possible, 'answer')} our logs do not tell "
            f"whether {they_were}.",
        ), "lead")  # fmt: skip
    elif own.left_out or own.unnamed:
        yield Paragraph(("No request is counted as yours and affected, but please read what follows.",), "lead")
    else:
        yield Paragraph(("In the logs that were read, none of your requests was affected.",), "lead")
    yield from _besides(own)


def _besides(own: Own) -> Iterator[Block]:
    """What keeps the list from being all that can concern the tenant."""
    if own.left_out:
        are, them = ("is", "it") if own.left_out == 1 else ("are", "them")
        yield Paragraph((
            f"{counted(own.left_out, 'request')} of yours that {are} or may be affected {are} left out by a stated rule, such "
            f"as one for test traffic, and not counted here. If the rule does not fit {them}, tell us.",
        ))  # fmt: skip
    if own.unnamed:
        yield Paragraph((
            "Some records of requests that are or may be affected do not say who sent them. Whether one of them is yours, our "
            "logs do not tell.",
        ))  # fmt: skip


def _happened(incident: Incident | None) -> Iterator[Block]:
    yield Paragraph((
        "While a language model reads a prompt it keeps notes, the key-value cache, in memory that many requests share. A "
        "fault could mix up these notes for very long prompts, so that an answer could contain traces of another prompt.",
    ))  # fmt: skip
    if incident is not None:
        models: Line = tuple(span for name in incident.model_ids for span in (", ", quoted(name) or ""))[1:]
        yield Paragraph((
            f"It concerns requests between {rfc3339(incident.start_us)} and {rfc3339(incident.uncertain_until_us)} with a "
            f"prompt of {thresholds.in_short(incident)} to the model ", *models, ".",
        ))  # fmt: skip


def _requests(own: Own, incident: Incident | None) -> Iterator[Block]:
    if not own.findings:
        yield Paragraph(("No request to list.",))
        return
    rows = tuple(_row(finding, incident) for finding in own.findings)
    yield Table("requests-list", "Requests that are or may be affected", _COLUMNS, rows, sortable=True)
    more = sum(own.counts.values()) - len(rows)
    if more > 0:
        yield Paragraph((f"{counted(more, 'further request')} of yours can be had from us.",), "note")


def _row(finding: Json, incident: Incident | None) -> tuple[Cell, ...]:
    low, high = finding["prompt_tokens_min"], finding["prompt_tokens_max"]
    return (
        wording.start(finding), _CERTAINTY[finding["disposition"]], low if low == high else wording.tokens(finding),
        quoted(finding["record_id"]), wording.why(finding, incident), Code(finding["finding_id"]),
    )  # fmt: skip


def _next(own: Own) -> Iterator[Line]:
    if own.findings:
        yield from _LISTED
    if own.unnamed:
        yield ("If you sent such a request in that time that is not listed here, tell us its id and when you sent it.",)
    if not own.findings and not own.unnamed and not own.left_out:
        yield ("These logs give you nothing to do.",)
    yield ("If you find text in an answer that is not yours, do not use or pass it on, keep it safe, and tell us.",)


_LISTED: tuple[Line, ...] = (
    ("Look at the answers listed above, and at what was made from them, for text that is not yours.",),
    ("Tell us of what you find with our reference.",),
    ("Empty caches of your own that may hold these answers.",),
    ("If your own prompts held personal data, ask your data protection officer whether you have duties of your own.",),
)
_LIMITS: tuple[Line, ...] = (
    ("Whether an answer really held text of somebody else: neither prompts nor answers were read for this notice.",),
    ("Requests that left no record in the logs that were read.",),
)
