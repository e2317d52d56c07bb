"""What is a wrapper around another log line, as data?

A `Wrapper` says how an outer layer (a container runtime, a collector, a log search) is recognised, where the line inside
it is, how pieces of one line join, and what of the layer is worth keeping. It holds no code; `peel` runs it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from kvforensics.spec import BlindSpot

_NAME = re.compile(r"\(\?P<\w+>")


class Wrapper(Struct, frozen=True):
    """One layer. A layer of text is a `pattern`, a layer of JSON a `signature`; paths are those of `paths`."""

    name: str
    title: str
    pattern: str = ""
    """What comes before the inner line, as a regular expression; its named groups are the fields of the layer."""
    holds: str = ""
    """Text that is in every line with such a layer, so that lines without it need not be tried."""
    signature: tuple[tuple[str, ...], ...] = ()
    """Alternatives; a value is of the layer if every path of one alternative is present (null counts, `!x` forbids)."""
    pairs: tuple[str, str] | None = None
    """Of a layer that comes as a list of named values: the keys of the name and of the value; it is read as an object."""
    units: tuple[str, ...] = ()
    """Envelope paths in JSON documents, see `framing_json`; empty where the layer comes in lines only."""
    message: tuple[str, ...] = ()
    """Where the inner line is: text, a list of byte values, or an object. Lists on the way stand for all their elements."""
    body: tuple[str, ...] = ()
    """Objects that may be the record itself, where a collector has parsed it; tried when no message is one."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Slots that the layer knows, used where the record inside does not say. Its time is one of the writing, so a `stamp`."""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    goes_on: tuple[tuple[str, str], ...] = ()
    """(path, value): a piece that has one of these values is continued by the next one of its stream."""
    ends: str = ""
    """Where set, a piece that does not end with this text is continued by the next one of its stream."""
    stream: tuple[str, ...] = ()
    """What tells streams apart, within which pieces are joined."""
    framing: tuple[tuple[str, str], ...] = ()
    """(path, value): a unit that has this value repeats or announces others and is framing."""
    is_record: bool = False
    """Whether the layer is a log of its own, with a format of the same name that reads it where nothing is inside."""
    last_resort: bool = False
    """Whether the layer is so general that every product's own format is tried before it."""
    last_of_all: bool = False
    """Whether it is tried only on what no format fits at all; then only objects kept as text are inside, and the first that
    is a call is the record."""
    blind_spots: tuple[BlindSpot, ...] = ()
    export: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    accepts: tuple[tuple[str, str], ...] = ()
    """(outer, inner): samples and the line inside them."""
    refuses: tuple[str, ...] = ()

    @property
    def joins(self) -> bool:
        """Whether a line may come in several pieces."""
        return bool(self.goes_on or self.ends)


def unnamed(pattern: str) -> str:
    """The pattern of a layer with groups that have no names, so that it can stand beside others."""
    return _NAME.sub("(?:", pattern)
