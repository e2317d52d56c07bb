"""What does one piece of a source hold?

The scanner takes units (lines, elements, rows), gives every one its place in the ledger, drops what is plainly another
model as early as it can, and hands the rest to `normalise` in batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import polars as pl
import pyarrow as pa

from kvforensics.clock import coverage_instant
from kvforensics.decode import decode_unit, may_repeat_keys, repeated_keys
from kvforensics.framing import Block
from kvforensics.incident import Incident
from kvforensics.model_id import ModelReader
from kvforensics.normalise import Located, normalise, read_model, to_arrow
from kvforensics.probe import Probe, probe_for
from kvforensics.raw import Extractor
from kvforensics.spec import Format

BATCH = 16384
HELD_BYTES = 32 << 20
"""Units wait for their batch only up to this size, so that long lines do not add up."""
ROW_BYTES = 1024
EXCERPT = 200
MINUTE_US = 60_000_000

_Unit = tuple[Any, int, int | None, int | None, bytes | None, tuple[str, ...]]
"""A decoded unit: its value, line, offset, length, bytes, and the reasons why parts of it are unknown."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a scanner needs to know of its source and of the run."""

    source: str
    formats: tuple[Format, ...]
    zone: str | None
    incident: Incident
    tenant_by: str | None
    keep_off_model: bool


@dataclass(slots=True)
class Tally:
    """The ledger of one piece, and what it saw on the way. Counts are of units."""

    lines: int = 0
    records: int = 0
    rejected: int = 0
    blank: int = 0
    framing: int = 0
    off_model_dropped: int = 0
    bytes: int = 0
    mentions: bool = False
    sampled: bool = False
    problem: str | None = None
    """Why the piece could not be read to its end."""
    first_us: int | None = None
    last_us: int | None = None
    formats: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Scanned:
    """The result of one piece: its ledger, canonical records, rejects, and the minutes it has records of."""

    tally: Tally
    records: pa.Table | None
    rejects: list[tuple[int, int | None, int | None, str, bytes]]
    minutes: list[int]


class Scanner:
    """Reads the units of one piece; `finish` gives the result."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._reader = ModelReader(setting.incident)
        self._extractors = [Extractor(f, setting.tenant_by) for f in setting.formats]
        self._pending: list[_Unit] = []
        self._held = 0
        self._frames: list[pl.DataFrame] = []
        self._times: list[str] = []
        self._others: set[str | None] = set()
        self._minutes: set[int] = set()
        self._rejects: list[tuple[int, int | None, int | None, str, bytes]] = []
        self._probe: Probe | None = None if setting.keep_off_model else probe_for(setting.formats)
        self.tally = Tally()

    def lines(self, block: Block, newline: bytes) -> None:
        """A block of physical lines, each of which should be one JSON object."""
        if block.reject is not None:
            self.tally.bytes += block.length
            self.reject(block.first_line, block.offset, block.length, block.reject, block.data)
            return
        lines = block.data.split(newline)
        if not lines[-1]:
            lines.pop()
        self.tally.bytes += len(block.data)
        if self._probe is None:
            at = block.offset
            for number, line in enumerate(lines, block.first_line):
                self.unit(line, number, at)
                at += len(line) + len(newline)
            return
        self._probed(lines, block, len(newline))

    def _probed(self, lines: list[bytes], block: Block, gap: int) -> None:
        """Lines of a known layout: only those that are not plainly another model are looked at closely."""
        probe, other = self._probe, self._reader.is_plainly_other
        if probe is None:  # pragma: no cover - the caller checked
            return
        models, times = probe.read(lines)
        others = self._others
        for model in set(models).difference(others):
            if model is not None and other(model):
                others.add(model)
        near = [i for i, m in enumerate(models) if m not in others]
        if not probe.is_plain(block.data, len(lines) - models.count(None)):
            near = [i for i, m in enumerate(models) if m not in others or lines[i].count(probe.model_key) != 1]
        starts = list(accumulate(map(len, lines), lambda at, size: at + size + gap, initial=block.offset))
        for i in near:
            times[i] = None
            self.unit(lines[i], block.first_line + i, starts[i])
        self._times.extend([t if type(t) is str else str(t) for t in times if t is not None])
        passed = len(lines) - len(near)
        self.tally.lines += passed
        self.tally.records += passed
        self.tally.off_model_dropped += passed
        name = probe.format.name
        self.tally.formats[name] = self.tally.formats.get(name, 0) + passed

    def unit(self, data: bytes, line: int, offset: int | None) -> None:
        """One unit of bytes."""
        if not data.strip():
            self.blanks()
            return
        decoded = decode_unit(data)
        if decoded.reject is not None:
            self.reject(line, offset, len(data), decoded.reject, data)
            return
        self.value(decoded.value, line, offset, data, decoded.reasons)

    def value(
        self, value: Any, line: int, offset: int | None, data: bytes | None, reasons: tuple[str, ...] = (),
        length: int | None = None,
    ) -> None:  # fmt: skip
        """One decoded unit."""
        self._pending.append((value, line, offset, len(data) if data is not None else length, data, reasons))
        self._held += len(data) if data is not None else ROW_BYTES
        if len(self._pending) >= BATCH or self._held >= HELD_BYTES:
            self._flush()

    def reject(self, line: int, offset: int | None, length: int | None, reason: str, data: bytes) -> None:
        """A unit that is no record; only the start of it is kept."""
        self.tally.lines += 1
        self.tally.rejected += 1
        self.tally.mentions = self.tally.mentions or self._reader.mentions(data)
        self._rejects.append((line, offset, length, reason, data[:EXCERPT]))

    def blanks(self, count: int = 1) -> None:
        """Units that hold nothing but white space."""
        self.tally.lines += count
        self.tally.blank += count

    def skip(self, count: int = 1) -> None:
        """Units that are framing, such as a header row."""
        self.tally.lines += count
        self.tally.framing += count

    def _flush(self) -> None:
        pending, self._pending, self._held = self._pending, [], 0
        groups: dict[int, list[int]] = {}
        for i, item in enumerate(pending):
            which = next((k for k, e in enumerate(self._extractors) if e.matches(item[0])), None)
            if which is None or self._extractors[which].is_framing(item[0]):
                self.skip()
            else:
                groups.setdefault(which, []).append(i)
        for which, members in sorted(groups.items()):
            self._group(self._extractors[which], [pending[i] for i in members])

    def _group(self, extractor: Extractor, items: Sequence[_Unit]) -> None:
        fmt = extractor.format
        self.tally.lines += len(items)
        self.tally.records += len(items)
        self.tally.formats[fmt.name] = self.tally.formats.get(fmt.name, 0) + len(items)
        raw = extractor.batch([i[0] for i in items])
        self._note(raw, fmt)
        match = read_model(raw, fmt, self._reader)
        suspects = [i for i, m in enumerate(match) if m is not False or self._repeats_model(items[i][4])]
        extra = {i: items[i][5] for i in range(len(items)) if items[i][5]}
        fixed = self._without_repeats(items, suspects, extra)
        if fixed:
            values = [fixed.get(i, item[0]) for i, item in enumerate(items)]
            raw = extractor.batch(values)
            match = read_model(raw, fmt, self._reader)
        raw = raw.with_columns(match.alias("model_match"))
        keep = list(range(len(items))) if self._setting.keep_off_model else [i for i, m in enumerate(match) if m is not False]
        self.tally.off_model_dropped += len(items) - len(keep)
        if not keep:
            return
        kept = [items[i] for i in keep]
        at = Located([k[1] for k in kept], [k[2] for k in kept], [k[3] for k in kept], [k[4] for k in kept])
        s = self._setting
        frame = normalise(raw[keep], at, fmt, s.source, s.zone, s.incident, s.tenant_by)
        if extra:
            more = pl.Series([list(extra.get(i, ())) for i in keep], dtype=pl.List(pl.String))
            frame = frame.with_columns(pl.col("reasons").list.concat(more))
        self._frames.append(frame)

    def _repeats_model(self, data: bytes | None) -> bool:
        return data is not None and data.count(b'odel"') > 1

    def _without_repeats(
        self, items: Sequence[_Unit],
        suspects: Sequence[int], extra: dict[int, tuple[str, ...]],
    ) -> dict[int, Any]:  # fmt: skip
        """Records in which a key is given twice with different values, read again with that value unknown."""
        fixed = {}
        for i in suspects:
            data = items[i][4]
            if data is None or not may_repeat_keys(data, items[i][0]):
                continue
            value, names = repeated_keys(data)
            if names:
                fixed[i] = value
                extra[i] = (*extra.get(i, ()), *(f"repeated_key:{n[:64]}" for n in names))
        return fixed

    def _note(self, raw: pl.DataFrame, fmt: Format) -> None:
        times = raw.select(pl.coalesce("start", "stamp", "end").alias("t"))["t"]
        self._cover(times, fmt.zone)
        if raw["sample_interval"].null_count() < raw.height:
            rates = raw["sample_interval"].cast(pl.Float64, strict=False)
            self.tally.sampled = self.tally.sampled or bool((rates > 1).any())

    def _cover(self, times: pl.Series, zone: str | None) -> None:
        instants = coverage_instant(times, self._setting.zone or zone).drop_nulls()
        if instants.is_empty():
            return
        low, high = int(instants.min()), int(instants.max())  # type: ignore[arg-type]
        t = self.tally
        t.first_us = low if t.first_us is None else min(t.first_us, low)
        t.last_us = high if t.last_us is None else max(t.last_us, high)
        self._minutes.update((instants // MINUTE_US).unique().to_list())

    def finish(self) -> Scanned:
        """The result; the scanner is spent."""
        self._flush()
        if self._times and self._probe:
            self._cover(pl.Series(self._times, dtype=pl.String), self._probe.format.zone)
        table = to_arrow(pl.concat(self._frames)) if self._frames else None
        return Scanned(self.tally, table, self._rejects, sorted(self._minutes))
