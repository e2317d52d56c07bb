"""What is the answer, and with which exit status does the command end?

Pure. Takes what was counted, what was covered and what went wrong.
"""

from __future__ import annotations

from msgspec import Struct

NOT_EXPOSED = 0
EXPOSED = 10
POSSIBLY_EXPOSED = 11
UNDETERMINED = 12
BROKEN = 13


class Verdict(Struct, frozen=True):
    """The verdict's word in the summary, the exit status, and whether everything was read to its end.

    `reasons` say why the evidence cannot rule exposure out; empty for the other verdicts.
    """

    word: str
    exit_status: int
    complete: bool
    reasons: tuple[str, ...] = ()


def decide(
    *,
    affected: int,
    possible: int,
    replays: int,
    window_covered: bool,
    broken: bool,
    unread: bool = False,
    mentions_model: bool = False,
    files_missing: bool = False,
) -> Verdict:
    """The verdict.

    `broken` is whether an input could not be read to its end, changed meanwhile, or the ledger does not add up; `unread`
    whether something was left out without being broken; `mentions_model` whether a line that is no record, or a source that
    was not understood, names the model; `files_missing` whether the names of files show that some are not there.
    """
    complete = not broken and not unread
    reasons = tuple(
        code
        for code, holds in (
            ("evidence_broken", broken),
            ("not_everything_read", unread),
            ("unreadable_line_mentions_model", mentions_model),
            ("window_not_covered", not window_covered),
            ("files_missing", files_missing),
        )
        if holds
    )
    if affected:
        return Verdict("exposed", EXPOSED, complete)
    if possible or replays:
        return Verdict("possibly_exposed", POSSIBLY_EXPOSED, complete)
    if broken:
        return Verdict("undetermined", BROKEN, complete, reasons)
    if reasons:
        return Verdict("undetermined", UNDETERMINED, complete, reasons)
    return Verdict("not_exposed", NOT_EXPOSED, complete)
