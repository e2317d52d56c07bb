"""What do sampling, gaps and a second source make of the numbers?

Shows the estimate of a case's summary, layer by layer; an older case has none, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.page import Block, Bullets, Cell, Column, Paragraph, Section, Table, quoted, stored
from kvforensics.plural import counted
from kvforensics.telling.wording import UNBOUNDED, bounds, rounded

Json = Mapping[str, Any]
SHOWN = 20
"""Logs that are named; the case has them all."""
_NUMBER = (
    Column("layer", "Layer"), Column("quantity", "Quantity"), Column("value", "Value"), Column("lower", "Lower", "no bound"),
    Column("upper", "Upper", "no bound"), Column("kind", "Actual or estimate"), Column("method", "Method", wide=True),
    Column("assumption", "Takes for granted", "nothing", wide=True),
)  # fmt: skip


def section(summary: Json) -> Section:
    """The section on estimates."""
    estimate = summary.get("estimate")
    if not isinstance(estimate, dict):
        text = "This case has no estimate for sampling and gaps: it was made without one, or by an older version."
        return Section("estimate", "Estimates", (Paragraph((text,), "note"),))
    return Section("estimate", "Estimates", tuple(_blocks(estimate)))


def _blocks(estimate: Json) -> Iterator[Block]:
    yield Paragraph((
        "From what was counted to what has to be assumed. Each layer stands for itself: they are never added up.",
    ))  # fmt: skip
    yield Table("estimate-layers", "Counts and estimates, the surest first", _NUMBER, tuple(_layers(estimate)))
    if not (estimate.get("coverage") or {}).get("window_covered", True):
        yield Paragraph((UNBOUNDED,))
    terms = (estimate.get("worst_case") or {}).get("terms") or ()
    if terms:
        columns = (
            Column("text", "What widens the bounds", wide=True), Column("bound", "Bound"), Column("count", "By", "no bound"),
        )  # fmt: skip
        rows = tuple((stored(t["text"]), t["bound"], t["count"]) for t in terms)
        yield Table("estimate-terms", "Where the worst case comes from", columns, rows)
    yield from _sampling(estimate.get("sampling") or {})
    yield from _two_sources(estimate.get("two_sources"))
    yield from _sensitivity(estimate.get("sensitivity") or ())
    yield from _published(estimate.get("published"))


def _sampling(sampling: Json) -> Iterator[Block]:
    if sampling.get("none_seen_upper") is not None:
        yield Paragraph((
            "None was seen in the sampled logs, which is no proof of none: with 95 % confidence there were no more than "
            f"{sampling['none_seen_upper']:,}.",
        ))  # fmt: skip
    if strata := sampling.get("strata"):
        columns = (
            Column("rate", "Share of requests logged"), Column("sources", "Sources"), Column("observed", "Affected in them"),
            Column("flagged", "Flagged in them"), Column("value", "Behind the sample"), Column("lower", "Lower", "no bound"),
            Column("upper", "Upper", "no bound"), Column("method", "Method", wide=True),
        )  # fmt: skip
        rows = tuple(
            (f"{s['rate']:g}", s["sources"], s["observed"], s["flagged"],
             *(rounded(s["responses"][key]) for key in ("value", "lower", "upper")), stored(s["responses"]["method"]))
            for s in strata
        )  # fmt: skip
        yield Table("estimate-strata", "Logs by the rate at which they were sampled", columns, rows)
    if sampling.get("cannot_estimate"):
        yield Bullets(tuple(("Cannot be estimated: ", _text(why)) for why in sampling["cannot_estimate"][:SHOWN]))
        more = len(sampling["cannot_estimate"]) - SHOWN
        if more > 0:
            yield Paragraph((f"The same holds for {counted(more, 'further log')}.",), "note")


def _two_sources(told: Json | None) -> Iterator[Block]:
    if not told:
        return
    stated = (
        " That they miss calls independently is the word of the person who ran the check."
        if told["assumed_independent"] else " Logs that miss the same calls make the estimate too low, so it is a lower bound."
    )  # fmt: skip
    first, second = (quoted(told[side]) or "" for side in ("first", "second"))
    yield Paragraph((
        "Two sources were compared by the ids of their affected responses: ", first, f" has {told['in_first']:,}, ",
        second, f" has {told['in_second']:,}, and {told['in_both']:,} are in both.{stated}",
    ))  # fmt: skip


def _layers(estimate: Json) -> Iterator[tuple[Cell, ...]]:
    layers = (
        ("observed", "Counted in what was read"), ("worst_case", "Worst case"), ("sampling", "Behind a documented sample"),
        ("scaled", "Gaps filled like the rest (assumed)"), ("two_sources", "Two sources compared"),
    )  # fmt: skip
    names = {
        "responses": "responses", "tenants": "tenants", "possible": "possible responses", "replays": "replays",
        "excluded_responses": "excluded responses", "excluded_tenants": "excluded tenants",
        "chao1": "tenants, least number by Chao",
    }  # fmt: skip
    for key, title in layers:
        layer = estimate.get(key) or {}
        for name, quantity in names.items():
            number = layer.get(name)
            if isinstance(number, dict) and "method" in number:
                yield (
                    title, quantity, rounded(number["value"]), rounded(number["lower"]), rounded(number["upper"]),
                    number["kind"], stored(number["method"]), stored(number["assumption"]),
                )  # fmt: skip


def _sensitivity(variations: Any) -> Iterator[Block]:
    if not variations:
        return
    yield Paragraph((
        "What a run gives with one thing changed: a rule left out, an edge of the window moved, the threshold lowered.",
    ))  # fmt: skip
    columns = (
        Column("change", "If one thing is changed", wide=True),
        *(Column(key, title, "-") for key, title in (
            ("affected", "Affected"), ("possible", "Possibly affected"), ("replays", "Replays"), ("excluded", "Excluded"))),
        Column("responses", "Responses"), Column("tenants", "Tenants"),
    )  # fmt: skip
    rows = tuple(
        (stored(v["change"]), v["responses"].get("affected"), v["responses"].get("possible"), v.get("replays"),
         v.get("excluded"), bounds(v["responses"]), bounds(v["tenants"]))
        for v in variations
    )  # fmt: skip
    yield Table("estimate-sensitivity", "How much hangs on one assumption", columns, rows)


def _published(published: Json | None) -> Iterator[Block]:
    if not published:
        return
    word = {True: "inside", False: "outside"}.get(published["inside"], "not to be compared with")
    line = f"The published number, {published['affected_responses']:,} affected responses, is {word} the bounds of this case."
    yield Paragraph((line,))
    if published.get("reasons"):
        yield Bullets(tuple((_text(reason["text"]),) for reason in published["reasons"]))


def _text(text: str) -> Any:
    return stored(text) or ""
