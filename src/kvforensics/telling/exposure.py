"""What is told about whose data was in the reach of whose answers?

The matrix of receiving and source tenants, what each source tenant is to be told, the responses, and how far to trust it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvforensics.engine.exposure_document import Exposure, Response
from kvforensics.page import Block, Bullets, Cell, Code, Column, Line, Page, Paragraph, Section, Table, quoted
from kvforensics.plural import counted

ROWS = 500
"""Rows of a table; `whose --json` has them all."""
LARGEST_SHARES = 3
Findings = Mapping[str, tuple[str, str]]
"""Disposition and finding id by the id of a request."""

_COUNTS = (
    Column("likely", "Answers, likely"), Column("in_replay", "Answers, by the replay"),
    Column("at_most", "Answers, at most"), Column("rows_low", "Rows, low"), Column("rows", "Rows, middle"),
    Column("rows_high", "Rows, high"),
)  # fmt: skip
_PAIRS = (Column("receiving", "Received by", wide=True), Column("source", "Written by", wide=True), *_COUNTS)
_SOURCES = (
    Column("tenant", "Written by", wide=True), *_COUNTS, Column("requests_in_replay", "Its requests, by the replay"),
    Column("requests_at_most", "Its requests, at most"),
)  # fmt: skip
_RESPONSES: tuple[Column, ...] = (
    Column("rid", "Request id", wide=True), Column("tenant", "Received by"), Column("place", "Decode rank"),
    Column("prompt_tokens", "Prompt tokens"), Column("rows", "Stale rows in reach"),
    Column("sources", "Largest shares, by the replay", "nobody", wide=True), Column("superset", "Tenants, at most"),
    Column("basis", "What it rests on"),
)  # fmt: skip
_FINDING = Column("finding", "Finding of this case", "no finding", wide=True)


def exposure_page(exposure: Exposure) -> Page:
    """Whose data was in whose reach, as a page of its own."""
    found = exposure.affected_responses
    return Page(
        kind="exposure-page",
        title="Whose data was in reach",
        subject="Stale key-value pages behind affected answers",
        verdict="Exposed" if found else "Undetermined",
        facts=(
            ("Affected responses in these logs", (f"{found:,}",)),
            ("Decode ranks", (f"{len(exposure.ranks):,}",)),
            ("Trust", (_trust(exposure),)),
        ),
        sections=(*sections(exposure, None, None), _ranks(exposure), _inputs(exposure)),
    )


def sections(exposure: Exposure, sha256: str | None, findings: Findings | None) -> Iterator[Section]:
    """The parts for a report. `sha256` is that of the file that it comes from, `findings` those of the case."""
    yield Section("exposure", "Whose data was in reach", tuple(_answer(exposure, sha256)))
    if not exposure.responses:
        return
    yield Section("exposure-matrix", "Exposure matrix", tuple(_matrix(exposure)))
    yield Section("exposure-sources", "Tenants whose text was in reach", tuple(_sources(exposure)))
    yield Section("exposure-responses", "Affected responses in the engine logs", tuple(_responses(exposure, findings)))


def _trust(exposure: Exposure) -> str:
    return "shares of the replay, with intervals" if exposure.confidence == "replay" else "the superset only"


def _answer(exposure: Exposure, sha256: str | None) -> Iterator[Block]:
    found = exposure.affected_responses
    if not found:
        yield Paragraph(("No affected response is in these engine logs; that is no proof that there was none.",), "lead")
    else:
        told = [s for s in exposure.sources if s.tenant is not None]
        yield Paragraph((
            f"{counted(found, 'affected response')} could read pages that {counted(len(told), 'named tenant')} had written "
            "before, in answers to somebody else. In reach means that the model could use it, not that an answer shows it.",
        ), "lead")  # fmt: skip
    yield Bullets(tuple(_limits(exposure)))
    if exposure.doubts:
        yield Paragraph(("Trust the superset, not the shares, because:",))
        yield Bullets(tuple((quoted(doubt) or "",) for doubt in exposure.doubts[:ROWS]))
    if sha256 is not None:
        yield Paragraph(("From engine logs, by page replay; SHA-256 of the document: ", Code(sha256)), "note")


def _limits(exposure: Exposure) -> Iterator[Line]:
    yield ("At most: every tenant that took pages on the same rank before, since its process started. Only this is safe.",)
    yield ("By the replay: whose pages they were in at least one replay of the allocator; likely: the whole 90 % interval of "
           "rows lies above zero. A row is the key-value entry of one token.",)  # fmt: skip
    if rows := exposure.prefill_rows_of_first_page:
        yield (f"Up to {rows:,} rows of the first page come from the prefill node's own pool; whose they were is not "
               "replayed.",)  # fmt: skip
    if absent := exposure.handed_over_without_a_decode_record:
        yield (f"{counted(absent, 'request')} that prefill handed over {'has' if absent == 1 else 'have'} no decode record "
               "and may be missing here, also from the superset.",)  # fmt: skip
    yield ("Requests that no log kept (health checks, warm-ups, cut logs) are in none of these numbers.",)


def _matrix(exposure: Exposure) -> Iterator[Block]:
    yield Paragraph(("Pairs of one tenant with itself are no leak to somebody else, and are marked.",))
    pairs = sorted(exposure.matrix, key=lambda p: -p.rows)
    rows = tuple(
        (
            quoted(p.receiving_tenant), _same(p.source_tenant, p.receiving_tenant), p.responses_likely,
            p.responses_in_replay, p.responses_at_most, p.rows_low, p.rows, p.rows_high,
        )
        for p in pairs[:ROWS]
    )  # fmt: skip
    yield Table("exposure-matrix-pairs", "Receiving tenant by source tenant", _PAIRS, rows, sortable=True)
    yield from _more(len(pairs), "pair")


def _same(source: str | None, receiver: str | None) -> Cell:
    return "the same tenant" if source is not None and source == receiver else quoted(source)


def _sources(exposure: Exposure) -> Iterator[Block]:
    yield Paragraph((
        "In how many answers to others each tenant's text was in reach. ", Code("whose --each-tenant DIR"), " and ",
        Code("report CASE --whose FILE --each-tenant DIR"), " write a notice to each of them that names nobody else.",
    ))  # fmt: skip
    ordered = sorted(exposure.sources, key=lambda s: -s.rows)
    rows = tuple(
        (
            quoted(s.tenant), s.answers_likely, s.answers_in_replay, s.answers_at_most, s.rows_low, s.rows, s.rows_high,
            s.requests_in_replay, s.requests_at_most,
        )
        for s in ordered[:ROWS]
    )  # fmt: skip
    yield Table("exposure-sources-tenants", "Source tenants", _SOURCES, rows, sortable=True)
    yield from _more(len(ordered), "tenant")


def _responses(exposure: Exposure, findings: Findings | None) -> Iterator[Block]:
    columns = _RESPONSES if findings is None else (*_RESPONSES, _FINDING)
    rows = tuple(_response(r, findings) for r in exposure.responses[:ROWS])
    if findings is not None:
        known = sum(r.rid in findings for r in exposure.responses)
        yield Paragraph((
            f"{known:,} of {counted(exposure.affected_responses, 'response')} are findings of this case, by the id that the "
            "decode node gave them.",
        ))  # fmt: skip
    yield Table("exposure-responses-list", "Affected responses", columns, rows, sortable=True)
    yield from _more(len(exposure.responses), "response")


def _response(response: Response, findings: Findings | None) -> tuple[Cell, ...]:
    largest = "; ".join(
        f"{'tenant not told' if t.tenant is None else t.tenant} {t.share or 0:.1%}" for t in response.tenants[:LARGEST_SHARES]
    )
    cells: tuple[Cell, ...] = (
        quoted(response.rid), quoted(response.tenant), quoted(f"{response.node} DP{response.dp}"), response.prompt_tokens,
        response.rows_in_reach, quoted(largest or None), len(response.superset.tenants), response.basis,
    )  # fmt: skip
    if findings is None:
        return cells
    found = findings.get(response.rid)
    return (*cells, None if found is None else quoted(f"{found[0]} {found[1]}"))


def _ranks(exposure: Exposure) -> Section:
    columns = (
        Column("rank", "Decode rank", wide=True), Column("run", "Start"), Column("pool", "Pool (tokens)"),
        Column("page", "Page (tokens)"), Column("requests", "Requests"), Column("affected", "Affected"),
        Column("draws", "Replays"), Column("completeness", "Running requests that the log explains, %", "not told"),
        Column("shortfalls", "Pool ran out, times a replay"),
    )  # fmt: skip
    rows = tuple(
        (
            quoted(f"{r.node} DP{r.dp}"), r.run + 1, r.pool_tokens, r.page_size, r.requests, r.affected, r.draws,
            None if r.completeness is None else round(100 * r.completeness, 1), round(r.shortfalls, 1),
        )
        for r in exposure.ranks[:ROWS]
    )  # fmt: skip
    table = Table("exposure-ranks-list", "Decode ranks", columns, rows, sortable=True)
    return Section("exposure-ranks", "Decode ranks", (table, *_more(len(exposure.ranks), "rank")))


def _inputs(exposure: Exposure) -> Section:
    columns = (
        Column("source", "Source", wide=True), Column("bytes", "Bytes"), Column("lines", "Lines"),
        Column("problems", "Problems", "none", wide=True), Column("sha256", "SHA-256", wide=True),
    )  # fmt: skip
    rows = tuple(
        (quoted(i.source), i.bytes, i.lines, quoted("; ".join(i.problems) or None), Code(i.sha256))
        for i in exposure.inputs[:ROWS]
    )
    return Section("inputs", "Inputs", (Table("inputs-read", "Inputs", columns, rows), *_more(len(exposure.inputs), "input")))


def _more(count: int, noun: str) -> Iterator[Block]:
    if count > ROWS:
        further = counted(count - ROWS, f"further {noun}")
        yield Paragraph((f"{further} are in the output of ", Code("whose --json"), "."), "note")
