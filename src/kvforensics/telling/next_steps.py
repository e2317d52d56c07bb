"""What should the analyst do next?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def next_steps(summary: Mapping[str, Any], case: str | None, *, evidence: bool = True) -> tuple[str, ...]:
    """Short advice for the verdict, the most urgent first.

    `case` is the case folder, where one was written; `evidence` is whether it keeps the raw bytes of flagged records.
    """
    return tuple(_steps(summary, case, evidence=evidence))


def _steps(summary: Mapping[str, Any], case: str | None, *, evidence: bool) -> Iterator[str]:
    verdict = summary["verdict"]
    if not summary["complete"]:
        yield "Some evidence was not read (see above): get a whole copy of it, or leave it out on purpose."
    if verdict == "exposed":
        yield "Keep the logs unchanged; tell the tenants named in the findings that their responses are affected."
        yield "Search those responses, and what was made from them, for text of other people."
    if summary["responses"]["possible"]:
        yield (
            "Settle the possible ones: the line under each finding says what is not known. What its record does not tell, "
            "another log may. What the incident leaves open, only who runs the model can tell."
        )
    if any(warning["code"] == "encrypted_fields" for warning in summary["warnings"]):
        yield "Some counts and tenants are encrypted: open them with --private-key FILE."
    if summary["replays"]:
        yield "Empty the response caches: they handed out answers that may be contaminated."
    if any(entry["timezone"] == "any-offset" and entry["records"] for entry in summary["inputs"]):
        yield "Times without an offset: say their zone with --timezone GLOB=ZONE."
    if verdict != "not_exposed" and not summary["coverage"]["window_covered"]:
        yield "Add logs for the part of the window that is not covered (see Coverage)."
    if any("not_understood" in entry["problems"] for entry in summary["inputs"]):
        yield "Logs that were not understood: name their format with --format, or write a --mapping file."
    if verdict == "not_exposed":
        yield "Nothing more to do, as long as these are all the logs there are."
    if case is None:
        yield "Add --case DIR to keep the findings and their evidence."
    elif evidence:
        yield "The case folder holds every finding (findings.jsonl) and its raw bytes (evidence)."
    else:
        yield "The case folder holds every finding (findings.jsonl), but no raw bytes: keep the logs."
