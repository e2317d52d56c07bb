"""What may a tenant be told whose text was in the reach of other people's answers?

How many answers, and which of its own requests. Nothing about who received them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvforensics.engine.exposure_document import Exposure, OwnRequest, SourceTenant
from kvforensics.page import Block, Bullets, Cell, Column, Line, Page, Paragraph, Section, Table, Terms, quoted
from kvforensics.plural import counted
from kvforensics.telling.glossary import NOTICE_TERMS

_TERMS = ("Cache (KV cache)", "Prompt", "Token")
_COLUMNS = (
    Column("rid", "Request id", wide=True), Column("ended", "Ended (UTC)", "not known", wide=True),
    Column("prompt_tokens", "Prompt tokens"), Column("answers", "Answers of others with it in reach"),
    Column("rows_low", "Token entries, low"), Column("rows", "Token entries, middle"),
    Column("rows_high", "Token entries, high"),
)  # fmt: skip


def source_page(exposure: Exposure, own: SourceTenant) -> Page:
    """The notice for one tenant."""
    return Page(
        kind="notice",
        title="Notice about your text",
        subject="Text of yours that was in the reach of other people's answers",
        verdict="",
        facts=(("For", (quoted(own.tenant) or "",)),),
        sections=(
            *source_sections(exposure, own),
            Section("glossary", "Words used here", (Terms(tuple(t for t in NOTICE_TERMS if t[0] in _TERMS)),)),
        ),
    )


def source_sections(exposure: Exposure, own: SourceTenant) -> tuple[Section, ...]:
    """What is told about the tenant's text, for a notice that may say more."""
    trusted = exposure.confidence == "replay"
    return (
        Section("reach", "Your text in the reach of others", tuple(_found(own, trusted=trusted))),
        Section("reach-requests", "Your requests concerned", tuple(_requests(own, trusted=trusted))),
        Section("reach-limits", "How sure this is", (Bullets(tuple(_limits(exposure, own))),)),
    )


def _found(own: SourceTenant, *, trusted: bool) -> Iterator[Block]:
    most = counted(own.answers_at_most, "answer")
    if trusted and own.answers_in_replay:
        yield Paragraph((
            f"Text that you sent or received was probably in the reach of {own.answers_in_replay:,} and at most of {most} "
            "that others received.",
        ), "lead")  # fmt: skip
    else:
        yield Paragraph((f"Text that you sent or received may have been in the reach of at most {most} that others received.",),
                        "lead")  # fmt: skip
    yield Paragraph((
        "While a language model reads a prompt it keeps notes, the key-value cache, in memory that many requests share. A "
        "fault let some answers be made over notes that earlier requests had left there. In reach means that the model could "
        "use them; it does not mean that an answer shows any of your text.",
    ))  # fmt: skip


def _requests(own: SourceTenant, *, trusted: bool) -> Iterator[Block]:
    yield Paragraph((
        f"At most {counted(own.requests_at_most, 'request')} of yours used the same memory before such an answer. "
        + ("These are the ones that a replay of the memory points to:" if trusted else
           "A replay of the memory points to these, but the logs are too coarse to rely on it:")
        if own.requests else
        f"At most {counted(own.requests_at_most, 'request')} of yours used the same memory before such an answer. A replay of "
        "the memory points to none of them.",
    ))  # fmt: skip
    if own.requests:
        rows = tuple(_row(r) for r in own.requests)
        yield Table("reach-requests-list", "Your requests, those with the most in reach first", _COLUMNS, rows, sortable=True)
        if own.requests_in_replay > len(own.requests):
            more = own.requests_in_replay - len(own.requests)
            yield Paragraph((f"{counted(more, 'further request')} of yours can be had from us.",), "note")


def _row(request: OwnRequest) -> tuple[Cell, ...]:
    ended = None if request.ended_latest is None else f"{request.ended_latest[:19]}Z"
    return (
        quoted(request.rid), ended, request.prompt_tokens, request.answers, request.rows_low, request.rows, request.rows_high,
    )  # fmt: skip


def _limits(exposure: Exposure, own: SourceTenant) -> Iterator[Line]:
    if own.answers_likely and exposure.confidence == "replay":
        yield (f"For {counted(own.answers_likely, 'answer')} the 90 % interval of the entries in reach lies above zero.",)
    yield ("The numbers come from logs of the memory's use, replayed in many of the orders that the logs leave open.",)
    if exposure.confidence != "replay":
        yield ("The logs are too coarse or lack requests, so that only the numbers with `at most` can be relied on.",)
    yield ("Neither prompts nor answers were read for this notice.",)
    yield ("Requests that left no record in the logs are not counted.",)
