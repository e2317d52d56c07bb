"""What goes into the scan of a piece, and what comes out of it?"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow as pa
from msgspec import Struct, field

from kvforensics.clashes import NOTHING
from kvforensics.incident import Incident
from kvforensics.sealed import PrivateKey, SealedTally
from kvforensics.spec import Format
from kvforensics.wrapper_spec import Wrapper

MOST_INTERVALS = 32
Keep = Literal["all", "on-model", "open"]
"""Which records are kept: all, those on the model or possibly so, or of these only those whose answer is open."""


class Setting(Struct, frozen=True):
    """What a scanner needs to know of its source and of the run."""

    source: str
    formats: tuple[Format, ...]
    zone: str | None
    incident: Incident
    tenant_by: str | None
    keep: Keep = "on-model"
    wanted: pl.Series = field(default_factory=lambda: NOTHING)
    """Digests of ids; a record that has one is kept whatever it is."""
    wrappers: tuple[Wrapper, ...] = ()
    layered: bool = False
    """Whether lines may be in wrappers or be text."""
    newline: bytes | None = b"\n"
    """What ends lines, None where units are no lines."""
    only: tuple[str, ...] = ()
    """The wrappers around all lines, as far as the start of the source shows."""
    keys: tuple[PrivateKey, ...] = ()
    """What opens encrypted fields."""

    @property
    def bounds(self) -> tuple[int | None, int]:
        """The count under which a prompt settles its record, None to settle none, and the lowest threshold."""
        return self.incident.uncertain_from if self.keep == "open" else None, self.incident.lowest_over


class Tally(Struct):
    """The ledger of one piece, and what it saw on the way. Counts are of units."""

    lines: int = 0
    records: int = 0
    rejected: int = 0
    blank: int = 0
    framing: int = 0
    off_model_dropped: int = 0
    settled_in_window: int = 0
    settled_over_threshold: int = 0
    settled_served: int = 0
    """Records on the model that were left out as settled, by the first part that is FALSE."""
    bytes: int = 0
    mentions: bool = False
    sampled: bool = False
    intervals: list[float] = field(default_factory=list)
    """Of records that may be on the model, how many requests one stands for, where that is more than one; largest first."""
    stumps: int = 0
    """Units of no format that look like what damage left of a record."""
    is_cut: bool = False
    """Whether the piece ends where a line goes on in the next one."""
    problem: str | None = None
    """Why the piece could not be read to its end."""
    says_offset: bool | None = None
    """Whether every time of a record says its offset; None without a time."""
    first_us: int | None = None
    last_us: int | None = None
    formats: dict[str, int] = field(default_factory=dict)
    framing_by: dict[str, int] = field(default_factory=dict)
    """How many lines are framing for which reason, where there is one to tell."""
    sealed: SealedTally = field(default_factory=SealedTally)


class Scanned(Struct):
    """The result of one piece: its ledger, canonical records, rejects, and the minutes it has records of."""

    tally: Tally
    records: pa.Table | None
    rejects: pa.Table | None
    minutes: list[int]
    left_out: pl.DataFrame | Path
    """Digests of the ids of records that were not kept, see `clashes`, or a file with them, see `ties`."""
    statuses: dict[tuple[str, str], int] = field(default_factory=dict)
    """HTTP statuses that child spans tell of a parent (trace, span) whose record is elsewhere or has none itself."""
    buckets: pl.DataFrame | None = None
    """Sums over several requests, where the source has such units; see `bucket`."""
