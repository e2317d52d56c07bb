"""What is there to say about one format or wrapper, as a document and at 80 columns?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kvforensics.spec import BlindSpot, Format
from kvforensics.wrapper_spec import Wrapper

WIDTH = 80
LABEL = 16
_CACHE = {
    "inclusive": "the prompt count includes cached tokens",
    "exclusive": "cached tokens come on top of the prompt count",
    "unknown": "not documented whether the prompt count includes cached tokens; both readings are kept",
    "split": "cached tokens come on top of the prompt count, and no total belongs to it",
    "unproven": "nothing tells whether the prompt count includes cached tokens, not even a total; both readings are kept",
}
_CANONICAL = {
    "prompt": "prompt_tokens", "cache_read": "cached_tokens", "cache_write": "cache_write_tokens",
    "completion": "completion_tokens", "total": "total_tokens", "http_status": "status",
}  # fmt: skip
_STARTS = {
    "start": "the log says when a call started",
    "end": "the log says when a call ended; it started the duration before, where that is logged",
    "stamp": "not documented whether the stamp is start or end; the start lies between stamp minus duration and stamp",
}
_MARKS = {
    "~": "~name is found in any spelling: case, - and _ do not count",
    "**": "** is any depth",
    "|": "behind a bar stands the unit of a duration, or what is taken of the value",
}
Json = dict[str, Any]


def document(of: Format | Wrapper) -> Json:
    """Everything about a format or wrapper, for scripts."""
    page: Json = {"name": of.name, "kind": "wrapper" if isinstance(of, Wrapper) else "format", "title": of.title}
    page |= _wrapper(of) if isinstance(of, Wrapper) else _format(of)
    page |= {
        "fields": {_CANONICAL.get(slot, slot): list(paths) for slot, paths in of.fields.items()},
        "correlation": {kind: list(paths) for kind, paths in of.ids.items()},
        "blind_spots": [{"code": s.code, "text": s.text, "hides_long_prompts": s.hides_long} for s in of.blind_spots],
        "export": list(of.export),
        "links": list(of.links),
    }
    return page


def _format(fmt: Format) -> Json:
    return {
        "containers": list(fmt.containers),
        "zone": fmt.zone,
        "time_rule": list(_time_rule(fmt)),
        "duration_unit": fmt.duration_unit if "duration" in fmt.fields else None,
        "cache_rule": fmt.cache_rule if "prompt" in fmt.fields else None,
        "cache_rules": [{"where": term, "rule": rule} for term, rule in fmt.cache_rules],
        "tenant_rule": fmt.tenant_says,
        "constants": {_CANONICAL.get(slot, slot): value for slot, value in fmt.constants.items()},
        "patterns": list(fmt.pattern),
        "notes": list(_notes(fmt)),
    }


def _wrapper(wrapper: Wrapper) -> Json:
    return {
        "message": list(wrapper.message or wrapper.body),
        "pattern": wrapper.pattern or None,
        "joins_pieces": wrapper.joins,
    }


def _time_rule(fmt: Format) -> Iterator[str]:
    rules = [rule for slot, rule in _STARTS.items() if slot in fmt.fields]
    for at, rule in enumerate(rules):
        yield f"where that is missing: {rule}" if at else rule
    if not rules:
        yield "the log has no time of its own"
    elif fmt.zone:
        yield f"times without an offset are {fmt.zone}, as the product documents"
    else:
        yield "times without an offset need --timezone"


def _notes(fmt: Format) -> Iterator[str]:
    if fmt.aggregates:
        yield "every row is a sum over several requests: it can bound, it can never flag one"
    if fmt.chatter:
        yield "its lines name neither a model nor tokens: they are framing"
    if fmt.requests:
        yield "units that are no model call are framing"
    if fmt.sums:
        yield "a record that may add up several calls only bounds each of them"
    if fmt.opening:
        yield "the two events of a request are one record, at the line of the first"
    if fmt.provider_serves:
        yield "the provider field says who served the call"


def page_text(of: Format | Wrapper) -> str:
    """The page in plain words."""
    page = document(of)
    lines = [*textwrap.wrap(f"{of.name}: {of.title}", WIDTH, break_on_hyphens=False), ""]
    if isinstance(of, Wrapper):
        lines += _item("holds", "another line of log, which is read by its own format")
        lines += _items("the line is at", page["message"])
        if of.joins:
            lines += _item("pieces", "a line that was split into pieces is joined again")
        lines += _item("times", "its own stamp is used only where the record inside has no time")
    else:
        lines += _item("containers", ", ".join(page["containers"]))
        lines += _items("times", page["time_rule"])
        lines += _cache(of)
        lines += _item("tenant", page["tenant_rule"])
        lines += _items("note", page["notes"])
    lines += _paths("Fields, and where the log has them", page["fields"])
    lines += [line for slot, value in page.get("constants", {}).items() for line in _row(slot, [f'always "{value}"'])]
    lines += _paths("Ids that tie records of one call", page["correlation"])
    lines += _spots("Cannot show, so that it never proves that nothing happened", of.blind_spots, hides=True)
    lines += _spots("Take care", of.blind_spots, hides=False)
    lines += _section("How to export it", (f"{n}. {step}" for n, step in enumerate(of.export, 1)))
    lines += _section("Read more", of.links)
    return "\n".join(lines)


def _cache(fmt: Format) -> Iterator[str]:
    if "prompt" not in fmt.fields:
        yield from _item("tokens", "no token count of its own" if "request_bytes" not in fmt.fields else
                         "no token count; the size of a request bounds it from above")  # fmt: skip
        return
    for term, rule in fmt.cache_rules:
        yield from _item("tokens", f"where {term}: {_CACHE[rule]}")
    yield from _item("tokens", f"{'otherwise: ' if fmt.cache_rules else ''}{_CACHE[fmt.cache_rule]}")


def _paths(title: str, paths: Mapping[str, list[str]]) -> list[str]:
    rows = [line for slot, found in paths.items() for line in _row(slot, found)]
    legend = [
        f"  ({words})" for mark, words in _MARKS.items() if any(mark in p for found in paths.values() for p in found)
    ]
    return ["", title, *rows, *legend] if rows else []


def _row(slot: str, found: Iterable[str]) -> list[str]:
    """The paths beside their slot, or below it where one of them is too long for that."""
    names, head = list(found), f"  {slot:<18} <- "
    if max(map(len, names), default=0) + len(head) < WIDTH:
        return textwrap.wrap(
            ", ".join(names), WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
        )
    below = " " * 8
    return [
        head.rstrip(),
        *textwrap.wrap(", ".join(names), WIDTH, initial_indent=below, subsequent_indent=below, break_on_hyphens=False),
    ]


def _spots(title: str, spots: Iterable[BlindSpot], *, hides: bool) -> list[str]:
    return _section(title, (f"- {s.text}" for s in spots if s.hides_long is hides))


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [
        line
        for item in items
        for line in textwrap.wrap(
            item, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    ]
    return ["", title, *lines] if lines else []


def _items(label: str, texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in _item(label, text)]


def _item(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"{label:<{LABEL}}", subsequent_indent=" " * LABEL, break_on_hyphens=False
    )
