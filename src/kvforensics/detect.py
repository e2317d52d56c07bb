"""Which format is this?

Looks at the first bytes of a source, tries every format on the records it finds there, and gives ranked answers with
the counts behind them.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace

from kvforensics.decode import decode_unit
from kvforensics.envelope import ELEMENT
from kvforensics.envelope_forms import LISTS, forms_of, has_name, is_bare, may_lead, tells_a_call
from kvforensics.framing import newline_of
from kvforensics.framing_csv import SAMPLE_BYTES, Dialect, csv_blocks, parse_rows, sniff_dialect
from kvforensics.framing_json import Unit, json_units
from kvforensics.made_once import extractor_of, first_match
from kvforensics.plan import Plan
from kvforensics.sample_layers import Sample, fitted, sample_lines, sample_rows, shown
from kvforensics.span_units import line_units, views_of
from kvforensics.spec import Format
from kvforensics.views import view
from kvforensics.wrapper_spec import Wrapper

HEAD_BYTES = 1 << 20
LONG_HEAD_BYTES = 16 << 20
_TELLING = re.compile(r"model|tokens?|gen_ai|llm", re.IGNORECASE)
SAMPLE_RECORDS = 200


def ranked_plans(
    head: bytes, formats: Sequence[Format], *, whole: bool, wrappers: Sequence[Wrapper] = ()
) -> tuple[Plan, ...]:
    """The plans for a source that starts with `head`, the best first; none where it is not understood."""
    text = head[3:] if head.startswith(b"\xef\xbb\xbf") else head
    first = text.lstrip()[:1]
    # JSON that a crash has padded with NUL bytes is still JSON.
    if not text.strip() or (first not in (b"{", b"[") and is_binary(text)):
        return ()
    newline = newline_of(text)
    plans: list[Plan] = []
    wrappers = fitted(wrappers, text)
    if first in (b"{", b"["):
        plans += _span_lines_plan(text, newline, formats, whole=whole)
        if not plans:
            plans += _lines_plan(text, newline, formats, wrappers, whole=whole)
            # No document explains more than lines that are all of one product's format, and where all lines are
            # home-made records only what is inside them could.
            all_lines = any(map(_explains_all, plans))
            if not all_lines or plans[0].main.startswith("app-json"):
                plans += _wrapped_documents(text, formats, wrappers)
                inside = [f for f in formats if not all_lines or "lines" not in f.containers or _goes_deeper(f.units, text)]
                plans += _document_plans(text, inside)
    else:
        plans += _lines_plan(text, newline, formats, wrappers, whole=whole)
        plans += _csv_plan(text, formats, wrappers)
        # A banner before documents.
        if b"\n{" in text:
            plans += _wrapped_documents(text, formats, wrappers)
            plans += _document_plans(text, [f for f in formats if not is_bare(f.units) and _goes_deeper(f.units, text)])
    return tuple(sorted(plans, key=_weight, reverse=True))


def _weight(plan: Plan) -> tuple[int, int]:
    """Prefer what explains more of the sample, a product's own format above all.

    Between equals lines win, unless the only line that is a record is not the first: the one row of a page may stand alone
    on a line. Home-made records in an envelope win too, as the envelope alone is no record of theirs.
    """
    best = plan.counts[0][1]
    specific = bool(plan.names) or not plan.main.startswith("app-json")
    preference = 1 if plan.container != "lines" else 2 if plan.first_is_record or best > 1 else 0
    if plan.other_form:  # a product that has an envelope of its own is nearer to it than one that has none
        preference = 3 if not specific else 0 if len(plan.units) < len(LISTS) else -1
    return (best * (2 if specific else 1), preference)


def _explains_all(plan: Plan) -> bool:
    best = plan.counts[0][1]
    return plan.first_is_record and 1 < best == plan.sampled and not plan.layered


def is_binary(text: bytes) -> bool:
    """Whether bytes hold so many control characters that they are no text."""
    sample = text[:65536]
    control = sum(sample.count(bytes([c])) for c in (*range(9), *range(14, 27), 28, 29, 30, 31))
    return control > max(4, len(sample) // 50)


def _lines_plan(
    text: bytes, newline: bytes, formats: Sequence[Format], wrappers: Sequence[Wrapper], *, whole: bool
) -> list[Plan]:
    lines = text.split(newline)
    if not whole and len(lines) > 1:
        lines = lines[:-1]
    here = [f for f in formats if {"lines", "text"} & set(f.containers)]
    sample = sample_lines([line for line in lines[: SAMPLE_RECORDS * 4] if line.strip()], here, wrappers, newline)
    if sample.is_layered:
        return layered_plan(sample, here, wrappers, Plan("lines", (), (), sample.seen, newline, first_is_record=True))
    tried = [decode_unit(line) for line in lines[: SAMPLE_RECORDS * 4] if line.strip()]
    records = [d.value for d in tried if d.reject is None]
    plan = _plan("lines", records[:SAMPLE_RECORDS], formats, ("lines",), seen=_seen(lines), newline=newline)
    first = bool(tried) and tried[0].reject is None
    return [replace(plan, first_is_record=first)] if plan else []


def _span_lines_plan(text: bytes, newline: bytes, formats: Sequence[Format], *, whole: bool) -> list[Plan]:
    """Lines each of which is an export request with spans inside."""
    lines = text.split(newline)
    if not whole:
        lines = lines[:-1]
    records: list[Any] = []
    for line in [line for line in lines[: SAMPLE_RECORDS * 4] if line.strip()]:
        units = line_units(line)
        if units is None:
            return []
        for unit in units:
            decoded = decode_unit(unit.data) if isinstance(unit, Unit) else None
            if isinstance(unit, Unit) and decoded and decoded.reject is None:
                records.append(view(("otlp",), decoded.value, unit.context)[0])
        if len(records) >= SAMPLE_RECORDS:
            break
    spans = [f for f in formats if f.view == "otlp"]
    if _are_log_lines(records, spans):
        return []
    plan = _plan("lines", records[:SAMPLE_RECORDS], spans, ("lines",), newline=newline)
    home = tuple(f for f in formats if f.name.startswith("app-json"))
    return [replace(plan, formats=(*plan.formats, *home), first_is_record=True)] if plan else []


def _are_log_lines(records: Sequence[Any], formats: Sequence[Format]) -> bool:
    """Whether all of these are log records of which no attribute is about a model: then the lines in them may be."""
    viewed = any(f.view == "otlp" for f in formats)
    logs = viewed and all(type(r) is dict and type(r.get("span")) is dict and "body" in r["span"] for r in records)
    return logs and bool(records) and not any(_TELLING.search(key) for r in records for key in r)


def _seen(lines: Sequence[bytes]) -> int:
    return min(SAMPLE_RECORDS, sum(1 for line in lines[: SAMPLE_RECORDS * 4] if line.strip()))


def _document_plans(text: bytes, formats: Sequence[Format]) -> list[Plan]:
    plans = []
    samples: dict[tuple[str, ...], tuple[list[tuple[Any, tuple[bytes, ...]]], int]] = {}
    for given in dict.fromkeys(f.units for f in formats if "json" in f.containers):
        here = [f for f in formats if f.units == given]
        views = views_of(here)
        for units in forms_of(given, text):
            led = tuple(path for path in units if may_lead(path, text))
            if led not in samples:
                samples[led] = _document_sample(text, led)
            sample, seen = samples[led]
            other = units != given
            records = [view(views, value, context)[0] for value, context in sample if not (other and tells_a_call(context))]
            plan = _plan("json", records, here, ("json",), seen=seen, units=units)
            if plan and _are_log_lines(records, here):
                # What a wrapper finds in the lines is more, however little it is.
                plan = replace(plan, counts=tuple((name, 0) for name, _ in plan.counts))
            if plan:
                plans.append(replace(plan, other_form=other))
    return plans


def _goes_deeper(units: Sequence[str], text: bytes) -> bool:
    """Whether any of the envelope paths leads below the top of documents."""
    return any(path not in ("", ELEMENT) and may_lead(path, text) for form in forms_of(tuple(units), text) for path in form)


def _document_sample(text: bytes, units: tuple[str, ...]) -> tuple[list[tuple[Any, tuple[bytes, ...]]], int]:
    """The first units that are records, each with what is around it, and of how many."""
    records: list[tuple[Any, tuple[bytes, ...]]] = []
    seen = 0
    for unit in json_units(io.BytesIO(text), units):
        seen += 1
        decoded = decode_unit(unit.data) if isinstance(unit, Unit) else None
        if isinstance(unit, Unit) and decoded and decoded.reject is None:
            records.append((decoded.value, unit.context))
        if len(records) >= SAMPLE_RECORDS or (not records and seen >= SAMPLE_RECORDS):
            break
    return records, seen


def layered_plan(sample: Sample, formats: Sequence[Format], wrappers: Sequence[Wrapper], base: Plan) -> list[Plan]:
    """A plan for lines in wrappers, for text, and for records among text."""
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    best: dict[str, tuple[int, str]] = {}
    for chain, name, n in sample.kinds:
        known = shown(chain, name, wrappers)
        if name is not None:
            counts[known] += n
            totals[name] += n
            if chain or known != name:
                best[name] = max(best.get(name, (0, "")), (n, known))
    if not counts:
        if 2 * sample.wrapped < sample.seen:
            return []
        chain = max((c for c in sample.kinds if c[0]), key=lambda c: c[2])[0]
        counts[shown(chain, None, wrappers)] = 0
    seen = {name for _, name, _ in sample.kinds if name is not None}
    chains = {chain for chain, _, _ in sample.kinds}
    uniform = len(chains) == 1 and bool(seen)
    beside = seen.union(*(f.beside for f in formats if f.name in seen))
    tried = [f for f in formats if not uniform or f.name in beside or f.name.startswith("app-json")]
    ranked = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    main = ranked[0][0].rsplit(" > ", 1)[-1]
    talk = {name for f in formats if f.name == main for name in f.speaks}
    tried = [f for f in tried if f.name not in talk]
    return [
        replace(
            base, formats=tuple(tried), counts=ranked, layered=True, wrappers=tuple(wrappers),
            names=tuple((name, known) for name, (n, known) in sorted(best.items()) if 2 * n > totals[name]),
            joins=_joins(chains, wrappers), only=next(iter(chains)) if uniform else (),
        )
    ]  # fmt: skip


def _joins(chains: set[tuple[str, ...]], wrappers: Sequence[Wrapper]) -> Literal["none", "outermost", "inside"]:
    joining = {w.name for w in wrappers if w.joins}
    if any(joining.intersection(chain[1:]) for chain in chains):
        return "inside"
    return "outermost" if any(joining.intersection(chain) for chain in chains) else "none"


def _wrapped_documents(text: bytes, formats: Sequence[Format], wrappers: Sequence[Wrapper]) -> list[Plan]:
    plans = []
    inner = [f for f in formats if {"lines", "text"} & set(f.containers)]
    for units in dict.fromkeys(w.units for w in wrappers if w.units and _may_hold(w, text)):
        data = []
        for unit in json_units(io.BytesIO(text), units):
            data += [unit.data] if isinstance(unit, Unit) else []
            if len(data) >= SAMPLE_RECORDS:
                break
        sample = sample_lines(data, inner, wrappers, None)
        if sample.wrapped or any((name or "") in {w.name for w in wrappers} for _, name, _ in sample.kinds):
            plans += layered_plan(sample, inner, wrappers, Plan("json", (), (), sample.seen, units=units))
    return plans


def _may_hold(wrapper: Wrapper, text: bytes) -> bool:
    """Whether the names of the wrapper are in the text at all."""
    return any(
        all(has_name(text, step) for t in terms if t[0] not in "![" for step in t.split("."))
        for terms in wrapper.signature
    )


def _csv_plan(text: bytes, formats: Sequence[Format], wrappers: Sequence[Wrapper]) -> list[Plan]:
    dialect = sniff_dialect(text)
    if dialect is None:
        return []
    rows: list[dict[str, Any]] = []
    for block in csv_blocks(io.BytesIO(text), dialect, SAMPLE_BYTES):
        rows += parse_rows(block, dialect).frame.head(SAMPLE_RECORDS - len(rows)).to_dicts()
        if len(rows) >= SAMPLE_RECORDS:
            break
    return table_plans("csv", rows, formats, wrappers, dialect)


def table_plans(
    container: str, rows: Sequence[Any], formats: Sequence[Format], wrappers: Sequence[Wrapper], dialect: Dialect | None = None
) -> list[Plan]:
    """The plan for a table that begins with these rows, none where it is not understood."""
    inner = [f for f in formats if {"lines", "text"} & set(f.containers)]
    sample = sample_rows(rows, inner, wrappers)
    if sample.wrapped:
        return layered_plan(sample, inner, wrappers, Plan(container, (), (), sample.seen, dialect=dialect))
    return [plan] if (plan := _plan(container, rows, formats, (container,), dialect=dialect)) else []


def _plan(
    container: str, records: Sequence[Any], formats: Sequence[Format], allowed: tuple[str, ...], *, seen: int | None = None,
    newline: bytes = b"\n", units: tuple[str, ...] = ("",), dialect: Dialect | None = None,
) -> Plan | None:  # fmt: skip
    tried = [extractor_of(f) for f in formats if set(allowed) & set(f.containers)]
    counts: dict[str, int] = {}
    views = views_of([e.format for e in tried])
    records = [view(views, r)[0] for r in records] if views else records
    first = first_match(tried)
    for record in records:
        winner = first(record)
        if winner:
            counts[winner.format.name] = counts.get(winner.format.name, 0) + 1
    if not counts:
        return None
    order = [e.format.name for e in tried]
    ranked = sorted(counts.items(), key=lambda item: (-item[1], order.index(item[0])))
    fallback = [e.format for e in tried if e.format.name.startswith("app-json")]
    # What shares a view is one kind of log: the spans that come later may be those of another of its formats.
    kin = {e.format.view for e in tried if e.format.name in counts and e.format.view}
    chosen = [e.format for e in tried if e.format.name in counts or e.format.view in kin]
    chosen += [f for f in fallback if f.name not in counts]
    return Plan(container, tuple(chosen), tuple(ranked), seen or len(records), newline, units, dialect)
