"""What does an analyst read about sizes on the terminal?

The five layers in their order, then who, then what the numbers rest on. It reads the estimate of a case, never evidence, and
every text of strangers is made safe to show.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvforensics.escape import terminal
from kvforensics.plural import counted
from kvforensics.telling.shortcomings import shortcoming
from kvforensics.telling.wording import UNBOUNDED, cleared_by_sums

WIDTH = 80
SHOWN = 20
Json = Mapping[str, Any]


def sizing_text(estimate: Json, coverage: Json | None = None) -> str:
    """The whole text. `coverage` is that of the summary, which tells what covers the window."""
    blocks = [
        _observed(estimate["observed"]),
        _worst(estimate["worst_case"], of_all=estimate["coverage"]["window_covered"]),
        _sampling(estimate["sampling"]),
        _coverage(estimate["coverage"], coverage),
        _scaled(estimate["scaled"]),
        _two_sources(estimate["two_sources"]),
        _published(estimate["published"]),
        _tenants(estimate["per_tenant"]),
        *(_by(name, estimate["by"][name]) for name in ("day", "node", "key", "user_agent")),
        _exclusions(estimate["exclusions"]),
        _sensitivity(estimate["sensitivity"]),
        _corroboration(estimate["corroboration"]),
        _aggregates(estimate["aggregates"]),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _observed(o: Json) -> list[str]:
    return [
        "1. Observed (actual)",
        _row("responses", f"{_n(o['responses']['value'])} affected, {_n(o['possible']['value'])} possible, "
             f"{_n(o['replays']['value'])} replays"),
        _row("tenants", f"{_n(o['tenants']['value'])} affected"),
        _row("excluded", f"{counted(o['excluded_responses']['value'], 'response')} of "
             f"{counted(o['excluded_tenants']['value'], 'tenant')}"),
    ]  # fmt: skip


def _worst(w: Json, *, of_all: bool) -> list[str]:
    lines = [
        "2. Worst case (actual, no statistics)",
        _row("responses", _range(w["responses"])),
        _row("tenants", _range(w["tenants"])),
    ]
    for term in w["terms"]:
        count = "without bound" if term["count"] is None else f"by {_n(term['count'])}"
        way = "fewer" if term["bound"] == "lower" else "more"
        lines += _bullet(f"{way} {count}: {terminal(term['text'])}")
    if not of_all:
        lines += _bullet(UNBOUNDED)
    return lines


def _sampling(s: Json) -> list[str]:
    head = "3. Under sampling (estimated, 95 %)"
    lines = []
    if not s["sampled"]:
        lines.append(_row("", "no log is known to be sampled"))
    elif s["responses"] is None:
        lines.append(_row("", "no estimate: complete logs cover it, or a rate is not known"))
    for name in ("responses", "tenants", "chao1"):
        if s[name] is not None:
            lines += _estimated("tenants, Chao1" if name == "chao1" else name, s[name])
    if s["none_seen_upper"] is not None:
        lines += _bullet(
            f"none was seen, which is no proof of none: with 95 % confidence no more than {_n(s['none_seen_upper'])}"
        )
    for stratum in s["strata"]:
        lines += _bullet(
            f"rate {stratum['rate']:g}: {_n(stratum['observed'])} observed, {_n(stratum['flagged'])} flagged, "
            f"{_range(stratum['responses'])}"
        )
    for text in _capped(s["cannot_estimate"]):
        lines += _bullet(f"cannot estimate: {terminal(text)}")
    return [head, *lines]


def _coverage(c: Json, told: Json | None) -> list[str]:
    covered = f"a whole log {'covers' if c['window_covered'] else 'does NOT cover'} the window"
    if told is not None and told.get("assumed"):
        covered = "whoever ran the check asserts that the logs are complete"
    elif told is not None and cleared_by_sums(told):
        covered = "sums over all requests clear what no whole log covers of it"
    lines = [
        "4. Coverage",
        _row("hours", f"{_n(c['hours_with_evidence'])} of {_n(c['window_hours'])} have evidence of logging"),
        _row("", covered),
    ]  # fmt: skip
    for entry in (*c["sources"][:SHOWN], *({**n, "name": f"node {n['name']}"} for n in c["nodes"][:SHOWN])):
        lines += _bullet(
            f"{terminal(entry['name'])}: {counted(entry['hours'], 'hour')}, "
            f"{counted(entry['records'], 'record')}, {counted(entry['files'], 'file')}"
        )
        for gap in entry["gaps"][:SHOWN]:
            lines += _wrapped(
                f"gap {gap['from']} to {gap['until']} ({gap['detector']}: {gap['detail']})", "      ", "        "
            )
    for hole in c["sequence_holes"]:
        missing = ", ".join(terminal(m) for m in hole["missing"][:SHOWN])
        lines += _bullet(f"missing by name: {terminal(hole['pattern'])} lacks {missing}")
    for spot in c["blind_spots"]:
        lacks = "; ".join(shortcoming(reason, spot["log"]) for reason in spot["reasons"])
        lines += _bullet(terminal(f"{spot['log']}: {lacks}"))
    return lines


def _scaled(s: Json | None) -> list[str]:
    if s is None:
        return []
    head = "5. Scaled over gaps (estimated, on an assumption; part of no other number)"
    return [head, *_estimated("responses", s["responses"]), *_estimated("tenants", s["tenants"])]


def _two_sources(t: Json | None) -> list[str]:
    if t is None:
        return []
    first, second = (f"{terminal(t[side])} has {_n(t[f'in_{side}'])}" for side in ("first", "second"))
    head = f"Two sources: {first}, {second}, both {_n(t['in_both'])}"
    return [head, *_estimated("responses", t["responses"])]


def _published(p: Json | None) -> list[str]:
    if p is None:
        return []
    place = "inside" if p["inside"] else "outside"
    upper = "no upper bound" if p["upper"] is None else _n(p["upper"])
    against = p["compared_with"].replace("_", " ")
    lines = _wrapped(
        f"Published: {counted(p['affected_responses'], 'response')}, {place} {_n(p['lower'])} to {upper} ({against})", "", "  "
    )
    for reason in p["reasons"]:
        lines += _bullet(f"could explain a difference: {terminal(reason['text'])}")
    return lines


def _tenants(table: Json) -> list[str]:
    if not table["rows"]:
        return []
    lines = [
        "Tenants",
        f"  {'affected':>9} {'possible':>9} {'replays':>8} {'excluded':>9} {'days':>5}  tenant",
    ]
    for r in table["rows"][:SHOWN]:
        name = "(not told)" if r["tenant"] is None else terminal(r["tenant"])
        lines.append(f"{_counts(r)} {len(r['days']):>5,}  {name}")
        lines += _wrapped(f"first to last: {r['first'] or '?'} to {r['last'] or '?'}", " " * 6, " " * 8)
        lines += _wrapped(_evidence(r), " " * 6, " " * 8)
    return [*lines, *_more(len(table["rows"]) - SHOWN + table["more"], "tenants")]


def _evidence(row: Json) -> str:
    shown = [terminal(e) for e in row["evidence"][:3]]
    more = len(row["evidence"]) - len(shown) + row["more_evidence"]
    return "evidence: " + ", ".join(shown) + (f" and {counted(more, 'more line')}" if more > 0 else "")


def _by(name: str, table: Json) -> list[str]:
    rows = table["rows"]
    if not rows or (len(rows) == 1 and rows[0]["name"] is None):
        return []
    lines = [
        f"By {name.replace('_', ' ')}",
        f"  {'affected':>9} {'possible':>9} {'replays':>8} {'excluded':>9} {'tenants':>8}",
    ]
    for r in rows[:SHOWN]:
        label = "(not told)" if r["name"] is None else terminal(r["name"])
        lines.append(f"{_counts(r)} {r['tenants']:>8,}  {label}")
    return [*lines, *_more(len(rows) - SHOWN + table["more"], "rows")]


def _exclusions(e: Json) -> list[str]:
    if not e["rules"]:
        return []
    both = ((name, e[name]["responses"], e[name]["tenants"]) for name in ("with", "without"))
    lines = ["Exclusions", *(_row(name, f"responses {_range(r)}; tenants {_range(t)}") for name, r, t in both)]
    for rule in e["rules"]:
        lines += _bullet(
            f"{terminal(rule['id'])} ({rule['category']}): {counted(rule['hits'], 'hit')}, "
            f"{_n(rule['would_be_affected'])} would be flagged"
        )
    return lines


def _sensitivity(rows: Sequence[Json]) -> list[str]:
    lines = [
        "Sensitivity: what a run gives with one thing changed",
        f"  {'affected':>9} {'possible':>9} {'upper':>9} {'tenants':>8}",
    ]
    for r in rows:
        upper = "none" if r["responses"]["upper"] is None else f"{r['responses']['upper']:,}"
        counts, tenants = r["responses"], r["tenants"]["affected"]
        numbers = f"{counts['affected']:>9,} {counts['possible']:>9,} {upper:>9} {tenants:>8,}"
        lines += _wrapped(terminal(r["change"]), f"  {numbers}  ", " " * 43)
    return lines


def _corroboration(c: Json) -> list[str]:
    if not c["findings"]:
        return []
    rate = c["believable_tokens_per_second"]
    known = (
        f"{rate:,.0f} tokens/s, from {counted(c['believable_from'], 'record')}"
        if rate
        else f"not known ({counted(c['believable_from'], 'record')})"
    )
    lines = ["Corroboration, never counted as proof", _row("prefill", f"fastest believable {known}")]
    lines += [_row(mark.replace("_", " "), f"{counted(count, 'finding')}") for mark, count in c["counts"].items()]
    against = [f for f in c["findings"] if f["contradicts"]]
    for f in against[:SHOWN]:
        lines += _bullet(
            f"CONTRADICTS the incident: {terminal(f['source'])}:{f['line']} took as long as reading the whole prompt"
        )
    return lines


def _aggregates(sums: Sequence[Json]) -> list[str]:
    lines = ["Sums over several requests: they bound, and never flag"] if sums else []
    for s in sums:
        upper = "no bound" if s["at_most"]["upper"] is None else f"at most {_n(s['at_most']['upper'])}"
        lines += _bullet(
            f"{terminal(s['log'])}: {counted(s['buckets'], 'sum')}, {s['hours_cleared']:,.1f} hours of the window are cleared; "
            f"elsewhere {upper}"
        )
    return lines


def _counts(row: Json) -> str:
    return f"  {row['affected']:>9,} {row['possible']:>9,} {row['replays']:>8,} {row['excluded']:>9,}"


def _estimated(name: str, number: Json) -> Iterator[str]:
    value = "" if number["value"] is None else f"{_n(number['value'])}; "
    yield _row(name, value + _range(number))
    yield from _wrapped(f"{number['method']}; assumes: {number['assumption'] or 'nothing'}", " " * 18, " " * 18)


def _range(number: Json) -> str:
    lower, upper = number["lower"], number["upper"]
    if upper is None:
        return f"at least {_n(lower)}, no upper bound"
    return _n(lower) if lower == upper else f"{_n(lower)} to {_n(upper)}"


def _n(value: float | None) -> str:
    if value is None:
        return "not told"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _row(label: str, text: str) -> str:
    return f"  {label:<15} {text}".rstrip()


def _bullet(text: str) -> list[str]:
    return _wrapped(text, "  - ", "    ")


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _more(count: int, noun: str) -> list[str]:
    return [f"  ... {count:,} more {noun}"] if count > 0 else []


def _capped(texts: Sequence[str]) -> Sequence[str]:
    return [*texts[:SHOWN], f"{len(texts) - SHOWN:,} more logs"] if len(texts) > SHOWN else texts
