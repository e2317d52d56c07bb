"""How is a source to be read?"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kvforensics.framing_csv import Dialect
from kvforensics.spec import Format
from kvforensics.wrapper_spec import Wrapper


class Plan(Struct, frozen=True):
    """How to read one source: its container and the formats to try on each record, in the order in which they are tried."""

    container: str
    formats: tuple[Format, ...]
    counts: tuple[tuple[str, int], ...]
    sampled: int
    newline: bytes = b"\n"
    units: tuple[str, ...] = ("",)
    dialect: Dialect | None = None
    first_is_record: bool = False
    other_form: bool = False
    """Whether the units are not where the formats have them (see `envelope_forms`)."""
    layered: bool = False
    """Whether lines may be in wrappers or be text."""
    wrappers: tuple[Wrapper, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    """The formats of the sample that come mostly in the same wrappers, and each with them: (`app-json`, `cri > app-json`)."""
    joins: Literal["none", "outermost", "inside"] = "none"
    """Whether lines may come in several pieces, and whether it takes only the outermost layer to see it."""
    only: tuple[str, ...] = ()
    """The wrappers around all lines of the sample, where they are the same around all of them."""

    @property
    def main(self) -> str:
        """The name of the format that most records of the sample have, with the wrappers around it."""
        return self.counts[0][0]

    @property
    def main_format(self) -> Format | None:
        """The format that most records of the sample have, None where only wrappers are known."""
        inner = next((name for name, shown in self.names if shown == self.main), self.main.rsplit(" > ", 1)[-1])
        return next((f for f in self.formats if f.name == inner), None)

    def shown(self, name: str) -> str:
        """The name of a format with the wrappers around it."""
        return dict(self.names).get(name, name)
