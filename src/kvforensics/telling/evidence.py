"""What was read, how was it judged, and what is missing?"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics import catalog
from kvforensics.case_reader import StoredCase
from kvforensics.incident import Incident
from kvforensics.page import Block, Bullets, Cell, Code, Column, Line, Paragraph, Section, Table, quoted, stored
from kvforensics.plural import counted
from kvforensics.telling import drawn, wording
from kvforensics.telling.hours import hours
from kvforensics.telling.shortcomings import blind_spots, problem, shortcoming
from kvforensics.telling.survey import Activity

Json = Mapping[str, Any]
ROWS = 500
"""Rows of a table of inputs or rejects; the case has them all."""
_COUNTS = ("lines", "records", "rejected", "blank", "framing")


def coverage(summary: Json, incident: Incident | None, activity: Activity | None) -> Section:
    """Which part of the window the logs cover, with gaps and blind spots."""
    return Section("coverage", "Coverage of the window", tuple(_coverage(summary, incident, activity)))


def _coverage(summary: Json, incident: Incident | None, activity: Activity | None) -> Iterator[Block]:
    told = summary["coverage"]
    span = f"Records run from {told['first']} to {told['last']}. " if told["first"] and told["last"] else ""
    covered = "A whole log covers the window." if told["window_covered"] else "No whole log covers the window."
    if wording.cleared_by_sums(told):
        covered = f"{wording.CLEARED}."
    if told.get("assumed"):
        covered = "The person who ran the check asserts that the logs are complete."
    yield Paragraph((span + covered,))
    if incident is not None and activity is not None:
        gaps = tuple((_us(gap["from"]), _us(gap["until"])) for gap in told["gaps"])
        yield from drawn.heat_map(incident, activity, gaps)
    if told["gaps"]:
        columns: tuple[Column, ...] = (Column("from", "From (UTC)"), Column("until", "Until (UTC)"))
        yield Table(
            "coverage-gaps", "Times that no log covers", columns, tuple((g["from"], g["until"]) for g in told["gaps"])
        )
    estimated = (summary.get("estimate") or {}).get("coverage")
    if estimated:
        yield from hours(estimated)
    logs = told.get("logs") or ()
    if logs:
        columns = (
            Column("log", "Log", wide=True), Column("first", "First record (UTC)"), Column("last", "Last record (UTC)"),
            Column("covers", "Covers the window"), Column("why_not", "Why not", "-", wide=True),
        )  # fmt: skip
        rows = tuple(
            (quoted(log["log"]), log["first"], log["last"], "yes" if log["window_covered"] else "no",
             stored("; ".join(shortcoming(code, log["log"]) for code in log["reasons"]) or None))
            for log in logs[:ROWS]
        )  # fmt: skip
        yield Table("coverage-logs", "Logs and whether each covers the window", columns, rows)
    spots = tuple(_blind_spots(summary))
    if spots:
        columns = (Column("format", "Format"), Column("hides_long", "Can hide a very long prompt"),
                   Column("text", "What such a log cannot show", wide=True))  # fmt: skip
        yield Table("coverage-blind-spots", "Blind spots of the formats that were read", columns, spots)


def _us(text: str) -> int:
    moment = dt.datetime.fromisoformat(text)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def _blind_spots(summary: Json) -> Iterator[tuple[Cell, ...]]:
    used = {layer for entry in summary["inputs"] if entry["records"] for layer in (entry["format"] or "").split(" > ")}
    for name, spots in blind_spots():
        if name in used:
            for spot in spots:
                yield Code(name), "yes" if spot.hides_long else "no", spot.text


def unread(case: StoredCase) -> Section:
    """What could not be read: faults of inputs, and rejected lines by source and reason, without their text."""
    return Section("unread", "What could not be read", tuple(_unread(case)))


def _unread(case: StoredCase) -> Iterator[Block]:
    faults = [(quoted(i["source"]), quoted(problem(code))) for i in case.summary["inputs"] for code in i["problems"]]
    rejects = Counter((str(r.get("source")), str(r.get("reason"))) for r in case.rejected())
    if not faults and not rejects:
        yield Paragraph(("Everything was read to its end, and every line is a record, blank or framing.",))
        return
    if faults:
        columns: tuple[Column, ...] = (Column("source", "Source", wide=True), Column("problem", "Problem", wide=True))
        yield Table("unread-inputs", "Inputs with a problem", columns, tuple(faults[:ROWS]))
    if rejects:
        columns = (Column("source", "Source", wide=True), Column("reason", "Reason"), Column("lines", "Lines"))
        rows = tuple((quoted(source), quoted(reason), n) for (source, reason), n in sorted(rejects.items())[:ROWS])
        yield Table("unread-lines", "Rejected lines", columns, rows)
        yield Paragraph(("Where each of them lies is in ", Code("rejected.jsonl"), " of the case."), "note")
    if len(faults) > ROWS or len(rejects) > ROWS:
        yield Paragraph((f"No more than {ROWS:,} rows are shown of each table.",), "note")


def method(case: StoredCase, incident: Incident | None) -> Section:
    """How it was found out, what is assumed, and what it cannot tell."""
    return Section("method", "Method, assumptions and limits", tuple(_method(case, incident)))


def _method(case: StoredCase, incident: Incident | None) -> Iterator[Block]:
    yield Paragraph((
        "Every line of every input was read once and accounted for. Each logged request was asked four questions: did the "
        "affected model answer, did it start inside the window, was its prompt over the threshold, was an answer given? "
        "Each is true, false, or not told by the evidence. A request with a false one is outside; one with all true is "
        "affected; any other is possible. Nothing that is not told is guessed, and nothing is dropped for it.",
    ))  # fmt: skip
    if incident is not None:
        names: Line = tuple(span for name in incident.model_ids for span in (quoted(name) or "", " "))
        yield Paragraph(("The affected model: ", *names))
    yield Bullets(tuple(_assumed(case)))
    yield Paragraph(("What logs cannot tell:",))
    yield Bullets((
        ("Whether an affected answer really held text of somebody else: logs show that it could, not that it did.",),
        ("Requests that no log kept. Very long requests are the likeliest to be missing: size limits and timeouts cut "
         "them first.",),
        ("How many people are concerned: a tenant can be one person or a large organisation.",),
        ("Whether a clock was wrong or a log was altered before it was read. Digests prove that nothing changed since.",),
        ("Other explanations of a flagged record: a count that the provider reported wrongly, a proxy that rewrote it, "
         "or an answer that failed after it was logged.",),
    ))  # fmt: skip


def _assumed(case: StoredCase) -> Iterator[Line]:
    summary, options = case.summary, case.document["options"]
    zones = Counter(i["timezone"] for i in summary["inputs"] if i["records"])
    for zone, n in sorted(zones.items()):
        files = counted(n, "input")
        if zone == "offset":
            yield (f"{files}: every time says its own offset.",)
        elif zone == "any-offset":
            yield (
                f"{files}: times without an offset are taken to be in any zone in use, so they are up to 26 hours wide.",
            )
        else:
            yield (f"{files}: times without an offset are read in ", quoted(zone) or "", ".")
    if options.get("tenant_by"):
        yield ("Tenants are told by the field ", quoted(str(options["tenant_by"])) or "", ".")
    for glob, form in options.get("format") or ():
        yield ("The format ", quoted(str(form)) or "", " was given for ", quoted(str(glob or "every input")) or "", ".")
    if (summary.get("assertions") or {}).get("complete"):
        yield ("The person who ran the check asserts that the logs are complete.",)
    for warning in summary["warnings"]:
        yield ("Warning: ", quoted(warning["message"]) or "")
    yield ("Several records of one request are judged together; the record that tells most carries the verdict.",)


def inputs(summary: Json) -> Section:
    """The ledger, input by input, with digests."""
    entries = summary["inputs"]
    columns = (
        Column("source", "Source", wide=True), Column("format", "Format", "not understood"), Column("bytes", "Bytes"),
        *(Column(key, key.capitalize()) for key in _COUNTS), Column("timezone", "Zone"),
        Column("sha256", "SHA-256", "not read", wide=True),
    )  # fmt: skip
    rows = [_input(entry) for entry in entries[:ROWS]]
    ledger = summary["ledger"]
    rows.append(("All inputs", "-", ledger["bytes"], *(ledger[key] for key in _COUNTS), "-", "-"))
    text = (
        f"{counted(ledger['files'], 'input')}: {counted(ledger['lines'], 'line')} = {counted(ledger['records'], 'record')} + "
        f"{ledger['rejected']:,} rejected + {ledger['blank']:,} blank + {ledger['framing']:,} framing."
    )
    blocks: list[Block] = [
        Paragraph((text,)),
        Table("inputs-ledger", "Inputs with their digests", columns, tuple(rows)),
    ]
    if len(entries) > ROWS:
        blocks.append(Paragraph((f"{len(entries) - ROWS:,} further inputs are in ", Code("case.json"), "."), "note"))
    return Section("inputs", "Inputs", tuple(blocks))


def _input(entry: Json) -> tuple[Cell, ...]:
    digest = entry["sha256"]
    return (
        quoted(entry["source"]), quoted(entry["format"]), entry["bytes"], *(entry[key] for key in _COUNTS),
        quoted(entry["timezone"]), None if digest is None else Code(digest),
    )  # fmt: skip


def queries(case: StoredCase) -> Section:
    """The queries that judged, with digests, so that anybody can read and repeat them."""
    known = {q.stem: q for q in catalog.all_queries()}
    columns = (Column("query", "Query"), Column("question", "What it asks", "another version", wide=True),
               Column("sha256", "SHA-256", wide=True))  # fmt: skip
    rows = tuple(
        (quoted(stem), known[stem].question if stem in known and known[stem].digest == digest else None, Code(digest))
        for stem, digest in sorted(case.queries.items())
    )
    told = case.document["incident"]
    files: tuple[tuple[Cell, ...], ...] = (
        *((quoted(name), Code(digest)) for name, digest in sorted(case.files.items())),
        ("incident file", Code(str(told.get("sha256")))),
    )
    return Section(
        "queries", "Queries and files of the case",
        (Table("queries-digests", "Queries with their digests", columns, rows),
         Table("queries-files", "Files of the case", (Column("name", "File"), Column("sha256", "SHA-256", wide=True)), files)),
    )  # fmt: skip
