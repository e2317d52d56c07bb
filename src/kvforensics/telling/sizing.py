"""What do sampling, gaps and a second source make of the numbers?

Shows the estimate of a case's summary, layer by layer; an older case has none, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvforensics.page import Block, Bullets, Cell, Column, Paragraph, Section, Table, quoted
from kvforensics.telling.wording import bounds

Json = Mapping[str, Any]
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
    terms = (estimate.get("worst_case") or {}).get("terms") or ()
    if terms:
        columns = (
            Column("text", "What widens the bounds", wide=True), Column("bound", "Bound"), Column("count", "By", "no bound"),
        )  # fmt: skip
        rows = tuple((quoted(t["text"]), t["bound"], t["count"]) for t in terms)
        yield Table("estimate-terms", "Where the worst case comes from", columns, rows)
    sampling = estimate.get("sampling") or {}
    if sampling.get("cannot_estimate"):
        yield Bullets(tuple(("cannot estimate: ", _text(why)) for why in sampling["cannot_estimate"]))
    yield from _sensitivity(estimate.get("sensitivity") or ())
    yield from _published(estimate.get("published"))


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
                    title, quantity, _round(number["value"]), _round(number["lower"]), _round(number["upper"]),
                    number["kind"], quoted(number["method"]), quoted(number["assumption"]),
                )  # fmt: skip


def _round(number: float | None) -> int | float | None:
    if number is None:
        return None
    return int(number) if float(number).is_integer() else round(float(number), 1)


def _sensitivity(variations: Any) -> Iterator[Block]:
    if not variations:
        return
    columns = (
        Column("change", "If one thing is changed", wide=True), Column("responses", "Responses"), Column("tenants", "Tenants"),
    )  # fmt: skip
    rows = tuple((quoted(v["change"]), bounds(v["responses"]), bounds(v["tenants"])) for v in variations)
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
    return quoted(text) or ""
