"""Which log formats are read, and what can each show?"""

from __future__ import annotations

import textwrap

import click

from kvforensics.cli import emit
from kvforensics.spec import Format

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

    if name is not None:
        emit(describe(by_name(name)))
        return
    width = max(len(f.name) for f in all_formats())
    lines = [f"{f.name:<{width}}  {f.title}" for f in all_formats()]
    emit("\n".join((*lines, "", "kvforensics formats NAME says what one format can and cannot show.")))


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
    for spot in fmt.blind_spots:
        lines += _item("cannot show" if spot.hides_long else "take care", spot.text)
    for step in fmt.export:
        lines += _item("how to export", step)
    for link in fmt.links:
        lines += _item("read more", link)
    return "\n".join(lines)


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
