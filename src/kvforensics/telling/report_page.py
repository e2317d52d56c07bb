"""What does the whole report say?

The answer first, then what it rests on, what is missing, and how it was found. Further sections (such as the operator's
side) are built elsewhere and handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kvforensics.case_reader import StoredCase
from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.page import (
    Block,
    Bullets,
    Cell,
    Code,
    Column,
    Line,
    Link,
    Page,
    Paragraph,
    Section,
    Table,
    Terms,
    quoted,
)
from kvforensics.plural import counted
from kvforensics.telling import (
    corroboration,
    drawn,
    evidence,
    listing,
    sizing,
    sums,
    thresholds,
    who,
    wording,
    worksheet,
)
from kvforensics.telling.glossary import TERMS
from kvforensics.telling.next_steps import next_steps
from kvforensics.telling.survey import ORDER, Survey, survey

Json = Mapping[str, Any]
FINDINGS_SHOWN = 1000
"""Findings that stand in the page itself; with more, all of them go to the linked file."""
TENANTS_SHOWN = 200
_WORDS = {
    "exposed": "Exposed", "possibly_exposed": "Possibly exposed", "not_exposed": "Not exposed",
    "undetermined": "Undetermined",
}  # fmt: skip


def report_page(
    case: StoredCase, *, as_of: str | None = None, rest: str | None = None, more: Iterable[Section] = ()
) -> Page:
    """The report on a case.

    `as_of` is the instant up to which its figures hold, as RFC 3339; left out, it is that of the last record. `rest` is
    the name of the file beside the page with all findings, where there is one. `more` stands behind the findings.
    """
    summary, incident = case.summary, case.incident()
    seen = survey(case, incident)
    as_of = as_of or summary["coverage"]["last"]
    return Page(
        kind="report",
        title="Exposure report",
        subject=_title(summary),
        verdict=_WORDS.get(summary["verdict"], "Unknown"),
        facts=tuple(_facts(case, incident, as_of)),
        sections=tuple(_sections(case, incident, seen, as_of, rest, more)),
    )


def worksheet_page(case: StoredCase, *, as_of: str | None = None) -> Page:
    """The regulator worksheet alone."""
    summary, incident = case.summary, case.incident()
    as_of = as_of or summary["coverage"]["last"]
    return Page(
        "worksheet", "Regulator worksheet", _title(summary), _WORDS.get(summary["verdict"], "Unknown"),
        tuple(_facts(case, incident, as_of)), (worksheet.section(summary, incident, as_of),),
    )  # fmt: skip


def _title(summary: Json) -> Any:
    return quoted(summary.get("title") or summary["incident"])


def _facts(case: StoredCase, incident: Incident | None, as_of: str | None) -> Iterator[tuple[str, Line]]:
    tool = case.document["tool"]
    yield "Incident", (quoted(str(case.document["incident"].get("id"))) or "",)
    if incident is not None:
        yield "Window (UTC)", (f"{rfc3339(incident.start_us)} up to, not including, {rfc3339(incident.end_us)}",)
        if incident.uncertain_until_us > incident.end_us:
            yield "Uncertain until", (rfc3339(incident.uncertain_until_us),)
        for line in thresholds.lines(incident):
            yield "Threshold", line
    yield "Figures as of", (as_of or "not known",)
    yield "Made with", (f"{tool.get('name')} ", quoted(str(tool.get("version"))) or "")


def _sections(
    case: StoredCase, incident: Incident | None, seen: Survey, as_of: str | None, rest: str | None, more: Iterable[Section]
) -> Iterator[Section]:
    summary = case.summary
    yield Section("answer", "The answer", tuple(_answer(summary)))
    yield Section("numbers", "Numbers with bounds", tuple(_numbers(summary)))
    yield sizing.section(summary)
    yield drawn.timeline(incident, seen)
    yield drawn.prompts(incident, seen.prompts)
    yield evidence.coverage(summary, incident, seen.activity)
    estimate = summary.get("estimate") or {}
    if sums_ := sums.section(estimate):
        yield sums_
    yield Section("tenants", "Tenants", (*_tenants(seen), *who.tenant_details(estimate)))
    if senders := who.section(estimate):
        yield senders
    yield Section("exclusions", "Exclusions", tuple(_exclusions(case)))
    yield Section("findings", "Findings", tuple(_findings(case, rest)))
    if told := corroboration.section(estimate):
        yield told
    yield from more
    yield evidence.unread(case)
    yield evidence.method(case, incident)
    yield worksheet.section(summary, incident, as_of)
    yield evidence.inputs(summary)
    yield evidence.queries(case)
    yield Section("glossary", "Glossary", (Terms(TERMS),))


def _answer(summary: Json) -> Iterator[Block]:
    responses, tenants = summary["responses"], summary["tenants"]
    words = [f"{wording.answer(summary)}."]
    if summary["verdict"] in {"exposed", "possibly_exposed"}:
        words.append(f"Affected responses: {wording.bounds(responses)}. Tenants concerned: {wording.bounds(tenants)}.")
    excluded = summary["excluded"]["records"]
    if excluded:
        are = "is" if excluded == 1 else "are"
        words.append(f"{counted(excluded, 'record')} of tests, researchers or monitoring {are} not counted.")
    if not summary["coverage"]["window_covered"]:
        words.append("The logs do not cover the whole window, so more may have happened than they show.")
    elif summary["coverage"].get("assumed"):
        words.append("That the logs are complete is the word of the person who ran the check.")
    elif wording.cleared_by_sums(summary["coverage"]):
        words.append(f"{wording.CLEARED}.")
    else:
        words.append("The logs cover the whole window.")
    if not summary["complete"]:
        words.append("Some evidence could not be read.")
    yield Paragraph((" ".join(words),), "lead")
    yield Bullets(tuple((step,) for step in next_steps(summary, None) if "--case" not in step))


def _numbers(summary: Json) -> Iterator[Block]:
    without = summary.get("without_exclusions")
    rows: list[tuple[Cell, ...]] = [
        ("Responses", *_counts(summary["responses"])),
        ("Tenants", *_counts(summary["tenants"])),
    ]
    if without:
        rows.append(("Responses, if nothing were excluded", None, None, without["lower"], without["upper"]))
    columns: tuple[Column, ...] = (
        Column("quantity", "Quantity"), Column("affected", "Affected", "-"), Column("possible", "Possibly affected", "-"),
        Column("lower", "Lower bound"), Column("upper", "Upper bound", "no bound"),
    )  # fmt: skip
    yield Table("numbers-bounds", "Affected responses and tenants", columns, tuple(rows))
    more: list[tuple[Cell, ...]] = [
        ("Replays from a response cache", summary["replays"]),
        ("Duplicates of a request already counted", summary["duplicates"]),
        ("Excluded records", summary["excluded"]["records"]),
        ("Flagged records that name no tenant", summary["tenants"].get("unknown_records", 0)),
    ]
    more += [(f"Not affected: {wording.OUTSIDE.get(part, part)}", n) for part, n in summary["outside"].items()]
    columns = (Column("kind", "Records"), Column("count", "Count"))
    yield Table("numbers-others", "All other records", columns, tuple(more))


def _counts(counts: Json) -> tuple[Cell, ...]:
    return (counts["affected"], counts["possible"], counts["lower"], counts["upper"])


def _tenants(seen: Survey) -> Iterator[Block]:
    if not seen.tenants:
        yield Paragraph(("No finding, so no tenant is concerned.",))
        return
    yield Paragraph((
        "A tenant is what a log names as the sender: a customer, a team, a project or a key. The most concerned come first.",
    ))  # fmt: skip
    columns = (
        Column("tenant", "Tenant", "not told", wide=True), *(Column(name, wording.DISPOSITIONS[name]) for name in ORDER),
        Column("first", "First flagged start (UTC)", "-"), Column("last", "Last flagged start (UTC)", "-"),
    )  # fmt: skip
    rows = tuple(
        (quoted(t.tenant), *(t.counts[name] for name in ORDER), _instant(t.first_us), _instant(t.last_us))
        for t in seen.tenants[:TENANTS_SHOWN]
    )
    yield Table("tenants-counts", "Findings by tenant", columns, rows, sortable=True)
    more = len(seen.tenants) - TENANTS_SHOWN
    if more > 0:
        yield Paragraph(
            (f"{counted(more, 'further tenant')} with fewer findings are not listed here.",), "note"
        )


def _instant(us: int | None) -> str | None:
    return None if us is None else rfc3339(us // 1_000_000 * 1_000_000)


def _exclusions(case: StoredCase) -> Iterator[Block]:
    summary = case.summary
    excluded = summary["excluded"]
    if not excluded["by_rule"]:
        yield Paragraph(("No exclusion rule was given: every request counts as real traffic.",))
        return
    columns: tuple[Column, ...]
    without = summary.get("without_exclusions")
    if without:
        yield Paragraph((
            f"Affected responses with exclusions: {wording.bounds(summary['responses'])}; without any: "
            f"{wording.bounds(without)}. {counted(excluded['records'], 'record')} of "
            f"{counted(excluded['tenants'], 'tenant')} {'is' if excluded['records'] == 1 else 'are'} excluded.",
        ))  # fmt: skip
    if both := (summary.get("estimate") or {}).get("exclusions"):
        columns = (
            Column("run", "Run"), Column("responses", "Affected responses"), Column("responses_bounds", "Bounds", wide=True),
            Column("tenants", "Tenants concerned"), Column("tenants_bounds", "Bounds", wide=True),
        )  # fmt: skip
        counts: tuple[tuple[Cell, ...], ...] = tuple(
            (
                name,
                *(cell for key in ("responses", "tenants") for cell in (told[key]["value"], wording.bounds(told[key]))),
            )
            for name, told in (("with the rules", both["with"]), ("without any rule", both["without"]))
        )
        yield Table("exclusions-counts", "Counts with exclusions and without", columns, counts)
    columns = (
        Column("rule", "Rule"), Column("category", "Category"), Column("reason", "Reason", wide=True),
        Column("approved_by", "Approved by"), Column("hits", "Records matched"),
        Column("would_be_affected", "Would have been flagged"), Column("overlaps", "Matched by other rules too", "none"),
    )  # fmt: skip
    rows = tuple(
        (
            quoted(rule), quoted(c.get("category")), quoted(c.get("reason")), quoted(c.get("approved_by")), c["hits"],
            c["would_be_affected"], quoted(", ".join(f"{k}: {v}" for k, v in (c.get("overlaps") or {}).items()) or None),
        )
        for rule, c in excluded["by_rule"].items()
    )  # fmt: skip
    yield Table("exclusions-rules", "Exclusion rules and what each took out", columns, rows)
    files = tuple((quoted(e["name"]), Code(e["sha256"])) for e in case.document["exclusions"])
    yield Table(
        "exclusions-files", "Exclusion files", (Column("name", "File"), Column("sha256", "SHA-256", wide=True)), files
    )


def _findings(case: StoredCase, rest: str | None) -> Iterator[Block]:
    count = case.count("findings")
    if not count:
        yield Paragraph(("No finding: every record that was read is outside.",))
        return
    shown = f"The first {FINDINGS_SHOWN:,} of {count:,}" if count > FINDINGS_SHOWN else f"All {count:,}"
    text = f"{shown} findings, the most serious kind first." if count > 1 else "The only finding."
    yield Paragraph((f"{text} Source, line and digest lead to the record in the evidence.",))
    if count > FINDINGS_SHOWN:
        beside: Line = ("All of them are in ", Link("the list of findings", rest or ""), " beside this page, and")
        line = beside if rest else ("All of them are",)
        yield Paragraph((*line, " in ", Code("findings.jsonl"), " of the case."), "note")
    rows = listing.most_serious(case, FINDINGS_SHOWN)
    yield Table("findings-list", "Findings, one a row", listing.COLUMNS, rows, sortable=True)
