"""How does a source begin, and in which ways could it be read?

Opens a source, looks at its head, and ranks the plans for it; the bytes of the head stay to be read.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from msgspec import Struct

from kvforensics.decompress import ByteStream, open_stream
from kvforensics.detect import HEAD_BYTES, LONG_HEAD_BYTES, ranked_plans
from kvforensics.detect_copy import copy_plans
from kvforensics.detect_parquet import PARQUET, parquet_plans
from kvforensics.detect_xml import xml_plans
from kvforensics.framing import UTF8_BOM, Transcoded, encoding_of
from kvforensics.plan import Plan
from kvforensics.source import Source
from kvforensics.spec import Format
from kvforensics.wrappers import all_wrappers


class Recognised(Struct, frozen=True):
    """An open source with the plans for it, the best first. `head` is its beginning as UTF-8, whatever it is stored as."""

    stream: ByteStream
    head: bytes
    whole: bool
    """Whether the head is all that there is."""
    mark: str | None
    """The encoding that a byte order mark tells."""
    plans: tuple[Plan, ...]

    @property
    def plan(self) -> Plan | None:
        """The best plan, None where no format explains anything."""
        return self.plans[0] if self.plans else None

    @property
    def wide(self) -> str | None:
        """The encoding that has to be turned into UTF-8, None where there is nothing to turn."""
        return None if self.mark == "utf-8" else self.mark


def recognise(source: Source, formats: Sequence[Format]) -> Recognised:
    """Open a source and look at its head. The caller closes the stream."""
    stream = open_stream(source)
    head = stream.peek(HEAD_BYTES)
    whole = len(head) < HEAD_BYTES
    mark = encoding_of(head)
    wide = mark not in (None, "utf-8")
    if mark is not None and wide:
        head = Transcoded(io.BytesIO(head[: len(head) // 4 * 4]), mark).read()
    plans = plans_for(source, head, formats, whole=whole)
    if not plans and not whole and head[:64].lstrip()[:1] in (b"{", b"[", b"<") and not wide:
        # The very first record may hold a prompt that is longer than the head.
        head = stream.peek(LONG_HEAD_BYTES)
        whole = len(head) < LONG_HEAD_BYTES
        plans = plans_for(source, head, formats, whole=whole)
    return Recognised(stream, head, whole, mark, plans)


def plans_for(source: Source, head: bytes, formats: Sequence[Format], *, whole: bool) -> tuple[Plan, ...]:
    """The plans for a source that begins with `head`, the best first."""
    if head.startswith(PARQUET):
        return tuple(parquet_plans(str(source.path), formats, all_wrappers())) if source.path and source.member is None else ()
    text = head[3:] if head.startswith(UTF8_BOM) else head
    told = xml_plans(text, formats, all_wrappers()) or copy_plans(text, formats)
    return told or ranked_plans(head, formats, whole=whole, wrappers=all_wrappers())
