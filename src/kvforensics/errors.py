"""What went wrong, where, and what can the user try?

Every error that is raised on purpose is a `KvForensicsError`. It knows the exit status of the command that it ends, so
that only the command line prints and exits.
"""

from __future__ import annotations


class KvForensicsError(Exception):
    """An error with a place and an advice.

    `what` is one sentence without a final full stop, `where` a source, file, line or key, `advice` what to try.
    """

    exit_status = 1

    def __init__(self, what: str, *, where: str | None = None, advice: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.advice = advice

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"; {self.advice}" if self.advice else ""
        return f"{place}{self.what}{hint}"


class UsageError(KvForensicsError):
    """The command, an option, or a file that steers the run (incident, exclusions, mapping) is not usable."""

    exit_status = 2


class EvidenceError(KvForensicsError):
    """Evidence could not be read to its end, changed meanwhile, or does not add up."""

    exit_status = 13
