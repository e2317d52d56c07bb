"""Which of the things that the analyst stated fitted none of the logs?

A glob with a slip in it would otherwise leave a zone, a format, a rate or a source unsaid, and nobody would know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kvforensics.globs import fits

if TYPE_CHECKING:
    import pyarrow as pa

    from kvforensics.mapping import Mapping
    from kvforensics.observed import InputReport
    from kvforensics.sizing import SizingOptions

Chosen = Sequence[tuple[str | None, str]]

HINT = "a glob is tried on the whole name of a source, as the answer shows it, and on its last part"


def stated(zones: Chosen, formats: Chosen, sizing: SizingOptions) -> Iterator[tuple[str, str]]:
    """Every glob that an option has, as (option, glob)."""
    every = (
        ("--timezone", (glob for glob, _ in zones)), ("--format", (glob for glob, _ in formats)),
        ("--sample-rate", (rate.glob for rate in sizing.rates)), ("--two-sources", sizing.two_sources or ()),
    )  # fmt: skip
    return ((option, glob) for option, globs in every for glob in globs if glob is not None)


def unmatched(
    inputs: Sequence[InputReport], globs: Iterable[tuple[str, str]], mappings: Iterable[Mapping]
) -> Iterator[tuple[str, str]]:
    """Warnings as (code, message): globs that fit no source, and mappings that took no record."""
    names = {form for i in inputs for form in (*dict(i.formats), *(i.format or "").split(" > "))}
    for option, glob in globs:
        if not any(fits(glob, i.source) for i in inputs):
            yield "glob_matched_nothing", f"{option}: {glob!r} matches no source; {HINT}"
    for mapping in mappings:
        if mapping.format.name not in names:
            yield "mapping_matched_nothing", f"mapping {mapping.format.name} took no record; see its [match] and its [fields]"


def without_tenant(tenant_by: str | None, tenants: pa.ChunkedArray) -> Iterator[tuple[str, str]]:
    """A warning where the field that should name the tenant is in no finding; `tenants` are those of the findings."""
    if tenant_by is not None and len(tenants) == tenants.null_count > 0:
        yield "tenant_by_matched_nothing", f"--tenant-by: the field {tenant_by!r} is in no flagged record; none has a tenant"
