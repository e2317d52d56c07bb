"""What does an analyst read on the terminal?

The verdict first, in plain words; then what it rests on, what is missing, and what to do next. It reads the summary and
the first findings of a case, never evidence text such as prompts, and every text of strangers is made safe to show.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvforensics.escape import terminal
from kvforensics.incident import Incident
from kvforensics.plural import counted
from kvforensics.telling import wording
from kvforensics.telling.next_steps import next_steps
from kvforensics.telling.shortcomings import problem, shortcoming
from kvforensics.telling.wording import bounds

WIDTH = 80
LABEL = 13
SHOWN = 10
_HEADLINES = {
    "exposed": "EXPOSED.",
    "possibly_exposed": "POSSIBLY EXPOSED.",
    "not_exposed": "NOT EXPOSED.",
    "undetermined": "UNDETERMINED.",
}

Json = Mapping[str, Any]


def verdict_text(
    summary: Json, findings: Sequence[Json], *, case: str | None = None, evidence: bool = True, incident: Incident | None = None
) -> str:
    """The whole text. `findings` are the ones to show, most serious first; `case` is the folder that was written.

    `incident` tells what it leaves open itself, whatever a record says.
    """
    blocks = [
        _paragraph(f"{_HEADLINES[summary['verdict']]} {_sentence(summary)}"),
        _numbers(summary),
        _findings(summary, findings, incident),
        _excluded(summary),
        _unread(summary),
        _coverage(summary),
        _assumptions(summary),
        ["Next", *(line for step in next_steps(summary, case, evidence=evidence) for line in _bullet(step))],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _sentence(summary: Json) -> str:
    name = summary.get("title") or summary["incident"]
    return f'{wording.answer(summary)}, in the incident "{terminal(name)}".'


def _numbers(summary: Json) -> list[str]:
    lines: list[str] = []
    r, t, ledger = summary["responses"], summary["tenants"], summary["ledger"]
    unknown, of_all = t["unknown_records"], summary["coverage"]["window_covered"]
    for label, counts in (("Responses", r), ("Tenants", t)):
        told = f"{counts['affected']:,} affected, {counts['possible']:,} possible: {bounds(counts, of_all=of_all)}"
        lines += _row(label, told)
    if not of_all:
        lines += _row("", wording.UNBOUNDED)
    if unknown:
        lines += _row("", f"{counted(unknown, 'flagged record')} without a tenant")
    if summary["replays"]:
        lines += _row(
            "Replays", f"{counted(summary['replays'], 'answer')} handed out again by a cache, possibly contaminated"
        )
    if summary["duplicates"]:
        lines += _row("Duplicates", f"{counted(summary['duplicates'], 'record')} of a request already counted")
    outside = [f"{count:,} {wording.OUTSIDE.get(part, part)}" for part, count in summary["outside"].items() if count]
    if outside:
        lines += _row("Outside", ", ".join(outside))
    lines += _row(
        "Read",
        f"{counted(ledger['files'], 'file')}, {ledger['bytes']:,} bytes, {counted(ledger['lines'], 'line')} = "
        f"{counted(ledger['records'], 'record')} + {ledger['rejected']:,} rejected + {ledger['blank']:,} blank + "
        f"{ledger['framing']:,} framing",
    )
    return lines


def _findings(summary: Json, findings: Sequence[Json], incident: Incident | None) -> list[str]:
    flagged = summary["responses"]["affected"] + summary["responses"]["possible"] + summary["replays"]
    if not findings:
        return []
    shown = findings[:SHOWN]
    lines = [f"Findings ({len(shown):,} of {flagged:,})" if flagged > len(shown) else "Findings"]
    for finding in shown:
        lines += _wrapped(f"{terminal(finding['source'])}:{finding['line']}  {finding['disposition']}", "  ", "    ")
        lines += _wrapped(f"{_start(finding)}; {_tokens(finding)}; {_tenant(finding)}", "    ", "    ")
        lines += _wrapped(terminal(wording.why(finding, incident)), "    ", "    ")
    return lines


def _start(finding: Json) -> str:
    told = wording.start(finding)
    return "start not known" if told == "not known" else f"started {told}"


def _tokens(finding: Json) -> str:
    told = wording.tokens(finding)
    return "prompt tokens not known" if told is None else f"{told} prompt tokens"


def _tenant(finding: Json) -> str:
    tenant = finding["tenant"]
    return f"tenant {terminal(tenant)}" if tenant is not None else "tenant not told"


def _excluded(summary: Json) -> list[str]:
    excluded = summary["excluded"]
    if not excluded["by_rule"]:
        return []
    lines = [f"Excluded: {counted(excluded['records'], 'record')} of {counted(excluded['tenants'], 'tenant')}"]
    for rule, counts in excluded["by_rule"].items():
        reason = f": {terminal(counts['reason'])}" if counts.get("reason") else ""
        lines += _bullet(
            f"{terminal(rule)}{reason} - matched {counted(counts['hits'], 'record')}, "
            f"{counts['would_be_affected']:,} would have been flagged"
        )
    of_all = summary["coverage"]["window_covered"]
    with_rules, without = (bounds(summary[key], of_all=of_all) for key in ("responses", "without_exclusions"))
    lines += _bullet(f"responses with exclusions: {with_rules}; without: {without}")
    return lines


def _unread(summary: Json) -> list[str]:
    lines = []
    for entry in summary["inputs"]:
        faults = [problem(code) for code in entry["problems"]]
        if entry["rejected"]:
            faults.append(f"{counted(entry['rejected'], 'line')} rejected")
        if faults:
            lines += _bullet(f"{terminal(entry['source'])}: {', '.join(terminal(f) for f in faults)}")
    return ["Could not be read", *_capped(lines, 20)] if lines else []


def _coverage(summary: Json) -> list[str]:
    coverage = summary["coverage"]
    first, last = coverage["first"], coverage["last"]
    span = f"records from {first} to {last}" if first and last else "no record has a time that is known to within two hours"
    covered = (
        "the window is NOT covered by a whole log" if not coverage["window_covered"]
        else _lower(wording.CLEARED) if wording.cleared_by_sums(coverage) else "the whole window is covered"
    )  # fmt: skip
    lines = ["Coverage", *_bullet(f"{span}; {covered}")]
    for gap in coverage["gaps"]:
        lines += _bullet(f"no log covers {gap['from']} to {gap['until']}")
    for log in coverage.get("logs", ()):
        if log["reasons"]:
            lacks = "; ".join(shortcoming(reason, log["log"]) for reason in log["reasons"])
            lines += _bullet(terminal(f"{log['log']}: {lacks}"))
    return _capped(lines, 30)


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _assumptions(summary: Json) -> list[str]:
    zones: dict[str, list[str]] = {}
    for entry in summary["inputs"]:
        if entry["records"]:
            zones.setdefault(entry["timezone"], []).append(entry["source"])
    lines = []
    for zone, sources in sorted(zones.items()):
        if zone == "offset":
            continue
        names = ", ".join(terminal(s) for s in sources[:3]) + (
            f" and {len(sources) - 3:,} more" if len(sources) > 3 else ""
        )
        meaning = "over every offset in use" if zone == "any-offset" else f"in {terminal(zone)}"
        lines += _bullet(f"times without an offset are read {meaning}: {names}")
    if summary.get("assertions", {}).get("complete"):
        lines += _bullet("the person who ran this asserts that the logs are complete")
    return ["Assumptions", *lines] if lines else []


def _paragraph(text: str) -> list[str]:
    return _wrapped(text, "", "")


def _bullet(text: str) -> list[str]:
    return _wrapped(text, "  - ", "    ")


def _row(label: str, text: str) -> list[str]:
    return _wrapped(text, f"{label:<{LABEL}}", " " * LABEL)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return list(_pieces(text, first, rest)) or [first.rstrip()]


def _pieces(text: str, first: str, rest: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=True
    )


def _capped(lines: list[str], most: int) -> list[str]:
    more = len(lines) - most
    return lines if more <= 0 else [*lines[:most], f"  ... {more:,} more lines in the JSON summary"]
