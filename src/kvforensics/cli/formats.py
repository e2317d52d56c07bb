"""Which log formats are read, and what can each show?"""

from __future__ import annotations

import textwrap

import click

from kvforensics.cli import emit
from kvforensics.spec import Format
from kvforensics.wrapper_spec import Wrapper

_CACHE = {
    "inclusive": "the prompt count includes cached tokens",
    "exclusive": "cached tokens come on top of the prompt count",
    "unknown": "not documented whether the prompt count includes cached tokens; both readings are kept",
}


@click.command(name="formats")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the log formats, or say what NAME can and cannot show."""
    from kvforensics.formats import all_formats, by_name
    from kvforensics.wrappers import all_wrappers

    wrappers = {w.name: w for w in all_wrappers() if not w.is_record}
    if name in wrappers:
        emit(describe_wrapper(wrappers[name]))
        return
    if name is not None:
        emit(describe(by_name(name)))
        return
    width = max(map(len, (*wrappers, *(f.name for f in all_formats()))))
    lines = [f"{f.name:<{width}}  {f.title}" for f in all_formats()]
    around = [f"{w.name:<{width}}  {w.title}" for w in wrappers.values()]
    last = "kvforensics formats NAME says what one of them can and cannot show."
    emit("\n".join((*lines, "", "Read inside any of these, one in another too:", "", *around, "", last)))


def describe_wrapper(wrapper: Wrapper) -> str:
    """One wrapper in plain words."""
    lines = [f"{wrapper.name}: {wrapper.title}", ""]
    lines += _item("time", "used where the record inside has none; it may be the start or the end")
    if wrapper.joins:
        lines += _item("pieces", "pieces of one line are joined; the record is at the first one")
    return "\n".join(lines + _notes(wrapper))


def describe(fmt: Format) -> str:
    """One format in plain words."""
    zone = (
        f"read in {fmt.zone} where they carry no offset" if fmt.zone else "need --timezone where they carry no offset"
    )
    lines = [f"{fmt.name}: {fmt.title}", ""]
    lines += _item("containers", ", ".join(fmt.containers))
    lines += _item("times", zone)
    lines += _item("tokens", _CACHE.get(fmt.cache_rule, fmt.cache_rule))
    lines += _item("tenant", fmt.tenant_says)
    if fmt.aggregates:
        lines += _item("note", "every row is a sum over several requests: it can bound, it can never flag one")
    return "\n".join(lines + _notes(fmt))


def _notes(what: Format | Wrapper) -> list[str]:
    lines = []
    for spot in what.blind_spots:
        lines += _item("cannot show" if spot.hides_long else "take care", spot.text)
    for step in what.export:
        lines += _item("how to export", step)
    for link in what.links:
        lines += _item("read more", link)
    return lines


def _item(label: str, text: str) -> list[str]:
    """A labelled paragraph at 80 columns; links stay whole."""
    return textwrap.wrap(
        text,
        80,
        initial_indent=f"{label:<15}",
        subsequent_indent=" " * 15,
        break_long_words=False,
        break_on_hyphens=False,
    )
