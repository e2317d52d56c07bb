"""What does an analyst read on the terminal?

The verdict first, in plain words; then what it rests on, what is missing, and what to do next. It reads the summary and
the first findings of a case, never evidence text such as prompts, and every text of strangers is made safe to show.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvforensics.escape import terminal
from kvforensics.reports.next_steps import next_steps

WIDTH = 80
LABEL = 13
SHOWN = 10
_HEADLINES = {
    "exposed": "EXPOSED.",
    "possibly_exposed": "POSSIBLY EXPOSED.",
    "not_exposed": "NOT EXPOSED.",
    "undetermined": "UNDETERMINED.",
}
_PARTS = {
    "on_model": "whether the affected model answered",
    "in_window": "whether it started inside the window",
    "over_threshold": "whether the prompt was over the threshold",
    "served": "whether an answer was given",
}
_OUTSIDE = {
    "on_model": "another model",
    "in_window": "outside the window",
    "over_threshold": "prompt not over the threshold",
    "served": "no answer given",
}

Json = Mapping[str, Any]


def verdict_text(summary: Json, findings: Sequence[Json], *, case: str | None = None) -> str:
    """The whole text. `findings` are the ones to show, most serious first; `case` is the folder that was written."""
    blocks = [
        _paragraph(f"{_HEADLINES[summary['verdict']]} {_sentence(summary)}"),
        _numbers(summary),
        _findings(summary, findings),
        _excluded(summary),
        _unread(summary),
        _coverage(summary),
        _assumptions(summary),
        ["Next", *(line for step in next_steps(summary, case) for line in _bullet(step))],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _sentence(summary: Json) -> str:
    responses, tenants = summary["responses"], summary["tenants"]
    name = summary.get("title") or summary["incident"]
    about = f'in the incident "{terminal(name)}"'
    if summary["verdict"] == "exposed":
        return (
            f"{_n(responses['affected'], 'response')} to {_n(tenants['affected'], 'tenant')} came from the affected model, "
            f"inside the exposure window, to a prompt over the threshold, {about}."
        )
    if summary["verdict"] == "possibly_exposed":
        flagged = responses["possible"] + summary["replays"]
        return f"No response is known to be affected, but {_n(flagged, 'response')} may be, {about}."
    if summary["verdict"] == "not_exposed":
        return f"The logs cover the whole exposure window and no response in them was affected, {about}."
    return f"Nothing is flagged, but the logs cannot rule an exposure out, {about}."


def _numbers(summary: Json) -> list[str]:
    r, t, ledger = summary["responses"], summary["tenants"], summary["ledger"]
    unknown = t["unknown_records"]
    lines = _row("Responses", f"{r['affected']:,} affected, {r['possible']:,} possible: {_range(r)}")
    lines += _row("Tenants", f"{t['affected']:,} affected, {t['possible']:,} possible: {_range(t)}")
    if unknown:
        lines += _row("", f"{_n(unknown, 'flagged record')} without a tenant")
    if summary["replays"]:
        lines += _row(
            "Replays", f"{_n(summary['replays'], 'answer')} handed out again by a cache, possibly contaminated"
        )
    if summary["duplicates"]:
        lines += _row("Duplicates", f"{_n(summary['duplicates'], 'record')} of a request already counted")
    outside = [f"{count:,} {_OUTSIDE.get(part, part)}" for part, count in summary["outside"].items() if count]
    if outside:
        lines += _row("Outside", ", ".join(outside))
    lines += _row(
        "Read",
        f"{_n(ledger['files'], 'file')}, {ledger['bytes']:,} bytes, {ledger['lines']:,} lines = "
        f"{ledger['records']:,} records + {ledger['rejected']:,} rejected + {ledger['blank']:,} blank + "
        f"{ledger['framing']:,} framing",
    )
    return lines


def _range(counts: Json) -> str:
    lower, upper = counts["lower"], counts["upper"]
    if upper is None:
        return f"at least {lower:,}, no upper bound"
    return f"{lower:,} in all" if lower == upper else f"between {lower:,} and {upper:,}"


def _findings(summary: Json, findings: Sequence[Json]) -> list[str]:
    flagged = summary["responses"]["affected"] + summary["responses"]["possible"] + summary["replays"]
    if not findings:
        return []
    shown = findings[:SHOWN]
    lines = [f"Findings ({len(shown):,} of {flagged:,})" if flagged > len(shown) else "Findings"]
    for finding in shown:
        lines += _wrapped(f"{terminal(finding['source'])}:{finding['line']}  {finding['disposition']}", "  ", "    ")
        lines += _wrapped(f"{_start(finding)}; {_tokens(finding)}; {_tenant(finding)}", "    ", "    ")
        lines += _wrapped(_why(finding), "    ", "    ")
    return lines


def _start(finding: Json) -> str:
    earliest, latest = finding["started_earliest"], finding["started_latest"]
    if earliest is None or latest is None:
        return "start not known"
    if earliest[:19] == latest[:19]:
        return f"started {_short(earliest)}"
    return f"started {earliest[:19]}Z to {latest[:19]}Z"


def _short(text: str) -> str:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


def _tokens(finding: Json) -> str:
    low, high = finding["prompt_tokens_min"], finding["prompt_tokens_max"]
    if low is None and high is None:
        return "prompt tokens not known"
    if low == high:
        return f"{low:,} prompt tokens"
    if high is None:
        return f"at least {low:,} prompt tokens"
    return f"{low or 0:,} to {high:,} prompt tokens"


def _tenant(finding: Json) -> str:
    tenant = finding["tenant"]
    return f"tenant {terminal(tenant)}" if tenant is not None else "tenant not told"


def _why(finding: Json) -> str:
    unknown = [text for part, text in _PARTS.items() if finding["parts"][part] is None]
    if finding["disposition"] == "replay":
        return "a cache handed out an earlier answer again"
    if not unknown:
        return "all four parts hold"
    basis = [f"time: {finding['time_basis']}"] if finding["parts"]["in_window"] is None else []
    basis += [f"tokens: {finding['token_basis']}"] if finding["parts"]["over_threshold"] is None else []
    details = f" ({', '.join(terminal(b) for b in basis)})" if basis else ""
    return f"not known: {', '.join(unknown)}{details}"


def _excluded(summary: Json) -> list[str]:
    excluded = summary["excluded"]
    if not excluded["by_rule"]:
        return []
    lines = [f"Excluded: {_n(excluded['records'], 'record')} of {_n(excluded['tenants'], 'tenant')}"]
    for rule, counts in excluded["by_rule"].items():
        reason = f": {terminal(counts['reason'])}" if counts.get("reason") else ""
        lines += _bullet(
            f"{terminal(rule)}{reason} - matched {_n(counts['hits'], 'record')}, "
            f"{counts['would_be_affected']:,} would have been flagged"
        )
    without = summary["without_exclusions"]
    lines += _bullet(f"responses with exclusions: {_range(summary['responses'])}; without: {_range(without)}")
    return lines


def _unread(summary: Json) -> list[str]:
    lines = []
    for entry in summary["inputs"]:
        faults = list(entry["problems"])
        if entry["rejected"]:
            faults.append(f"{_n(entry['rejected'], 'line')} rejected")
        if faults:
            lines += _bullet(f"{terminal(entry['source'])}: {', '.join(terminal(f) for f in faults)}")
    return ["Could not be read", *_capped(lines, 20)] if lines else []


def _coverage(summary: Json) -> list[str]:
    coverage = summary["coverage"]
    first, last = coverage["first"], coverage["last"]
    span = f"records from {first} to {last}" if first and last else "no record has a time that is known to within two hours"
    covered = (
        "the whole window is covered" if coverage["window_covered"] else "the window is NOT covered by a whole log"
    )
    lines = ["Coverage", *_bullet(f"{span}; {covered}")]
    for gap in coverage["gaps"]:
        lines += _bullet(f"no log covers {gap['from']} to {gap['until']}")
    for log in coverage.get("logs", ()):
        if log["reasons"]:
            lines += _bullet(f"{terminal(log['log'])}: {', '.join(terminal(r) for r in log['reasons'])}")
    return _capped(lines, 30)


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


def _n(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
