"""What does one piece of a source hold?

The scanner takes units (lines, elements, rows), gives every one its place in the ledger, drops what is plainly another
model as early as it can, and hands the rest to `normalise` in batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from kvforensics.clock import coverage_instant, telling
from kvforensics.decode import decode_unit, may_repeat_keys, repeated_keys
from kvforensics.framing import Block
from kvforensics.lane import Lane, layout_of, texts
from kvforensics.model_id import ModelReader
from kvforensics.normalise import Located, normalise, read_model, read_starts, to_arrow
from kvforensics.raw import Extractor, raw_batch
from kvforensics.scanned import Scanned, Setting, Tally
from kvforensics.settled import is_settled, not_in_window
from kvforensics.spec import ID_KINDS, Format
from kvforensics.ties import NOTHING, id_digests, shares

BATCH = 16384
HELD_BYTES = 32 << 20
"""Units wait for their batch only up to this size, so that long lines do not add up."""
ROW_BYTES = 1024
EXCERPT = 200
MINUTE_US = 60_000_000

_ID_COLUMNS = ("record_id", *(f"id_{kind}" for kind in ID_KINDS))
_Unit = tuple[Any, int, int | None, int | None, bytes | None, tuple[str, ...]]
"""A decoded unit: its value, line, offset, length, bytes, and the reasons why parts of it are unknown."""


class Scanner:
    """Reads the units of one piece; `finish` gives the result."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._reader = ModelReader(setting.incident)
        self._extractors = [Extractor(f, setting.tenant_by) for f in setting.formats]
        self._pending: list[_Unit] = []
        self._held = 0
        self._frames: list[pl.DataFrame] = []
        self._left_out: list[pl.Series] = []
        self._minutes: set[int] = set()
        self._rejects: list[tuple[int, int | None, int | None, str, bytes]] = []
        self._lane = self._open_lane()
        self.tally = Tally()

    def lines(self, block: Block, newline: bytes) -> None:
        """A block of physical lines, each of which should be one JSON object."""
        if block.reject is not None:
            self.tally.bytes += block.length
            self.reject(block.first_line, block.offset, block.length, block.reject, block.data)
            return
        self.tally.bytes += len(block.data)
        if self._lane is not None:
            for line, number, offset in self._lane.take(block, newline):
                self.unit(line, number, offset)
            return
        lines = block.data.split(newline)
        if not lines[-1]:
            lines.pop()
        at = block.offset
        for number, line in enumerate(lines, block.first_line):
            self.unit(line, number, at)
            at += len(line) + len(newline)

    def _open_lane(self) -> Lane | None:
        s = self._setting
        layout = layout_of(s.formats[0]) if s.keep != "all" else None
        below = s.incident.uncertain_from if s.keep == "open" else None
        return None if layout is None else Lane(layout, self._reader, below, s.wanted)

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
        extra = {item[1]: item[5] for item in items if item[5]}
        fixed = self._without_repeats(items, suspects, extra)
        if fixed:
            values = [fixed.get(i, item[0]) for i, item in enumerate(items)]
            raw = extractor.batch(values)
            match = read_model(raw, fmt, self._reader)
        raw = raw.with_columns(match.alias("model_match"))
        s = self._setting
        wanted = shares((id_digests(raw[c]) for c in _ID_COLUMNS), s.wanted) if len(s.wanted) else None
        if s.keep != "all":
            other = raw.select(pl.col("model_match").eq(other=False).fill_null(value=False))["model_match"]
            raw, items, wanted = self._leave(raw, items, wanted, other if wanted is None else other & ~wanted)
        if not items:
            return
        at = Located([k[1] for k in items], [k[2] for k in items], [k[3] for k in items], [k[4] for k in items])
        frame = normalise(raw, at, fmt, s.source, s.zone, s.incident, s.tenant_by)
        if extra:
            more = pl.Series([list(extra.get(i[1], ())) for i in items], dtype=pl.List(pl.String))
            frame = frame.with_columns(pl.col("reasons").list.concat(more))
        if s.keep == "open":
            frame = self._settle(frame, raw, wanted)
        self._frames.append(frame)

    def _leave(
        self, raw: pl.DataFrame, items: Sequence[_Unit], wanted: pl.Series | None, other: pl.Series,
    ) -> tuple[pl.DataFrame, Sequence[_Unit], pl.Series | None]:  # fmt: skip
        """What is left once records of other models are counted and left out."""
        self.tally.off_model_dropped += int(other.sum())
        self._remember(raw.filter(other))
        keep = (~other).arg_true().to_list()
        return raw[keep], [items[i] for i in keep], None if wanted is None else wanted[keep]

    def _settle(self, frame: pl.DataFrame, raw: pl.DataFrame, wanted: pl.Series | None) -> pl.DataFrame:
        """The rows whose answer is open, or that share an id with one; the others are counted and left out."""
        incident = self._setting.incident
        settled = frame.select(s=is_settled(incident))["s"]
        settled = settled if wanted is None else settled & ~wanted
        self._count_settled(frame.filter(settled))
        self._remember(raw.filter(settled))
        return frame.filter(~settled)

    def _count_settled(self, starts: pl.DataFrame) -> None:
        early_or_late = int(starts.select(w=not_in_window(self._setting.incident))["w"].sum())
        self.tally.settled_in_window += early_or_late
        self.tally.settled_over_threshold += starts.height - early_or_late

    def _remember(self, raw: pl.DataFrame) -> None:
        self._left_out += [id_digests(raw[c]).drop_nulls() for c in _ID_COLUMNS]

    def _repeats_model(self, data: bytes | None) -> bool:
        return data is not None and (data.count(b'odel"') > 1 or b"\\u00" in data)

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
                line = items[i][1]
                extra[line] = (*extra.get(line, ()), *(f"repeated_key:{n[:64]}" for n in names))
        return fixed

    def _note(self, raw: pl.DataFrame, fmt: Format) -> None:
        times = raw.select(pl.coalesce("start", "stamp", "end").alias("t"))["t"]
        self._cover(times, fmt.zone)
        if raw["sample_interval"].null_count() < raw.height:
            rates = raw["sample_interval"].cast(pl.Float64, strict=False)
            self.tally.sampled = self.tally.sampled or bool((rates > 1).any())

    def _cover(self, times: pl.Series, zone: str | None) -> None:
        thin, says_offset = telling(times)
        if says_offset is not None:
            self.tally.says_offset = says_offset and self.tally.says_offset is not False
        instants = coverage_instant(thin, self._setting.zone or zone)
        if instants.null_count() and len(thin) < len(times):
            instants = coverage_instant(times, self._setting.zone or zone)
        instants = instants.drop_nulls()
        if instants.is_empty():
            return
        low, high = int(instants.min()), int(instants.max())  # type: ignore[arg-type]
        t = self.tally
        t.first_us = low if t.first_us is None else min(t.first_us, low)
        t.last_us = high if t.last_us is None else max(t.last_us, high)
        self._minutes.update((instants // MINUTE_US).unique().to_list())

    def _close_lane(self) -> None:
        """Counts what the lane let pass."""
        if self._lane is None:
            return
        for line, number, offset in self._lane.rest():
            self.unit(line, number, offset)
        layout, passed, tally = self._lane.layout, self._lane.passed, self.tally
        settled = len(passed.settled_times)
        total = passed.off_model + settled
        if not total:
            return
        tally.lines += total
        tally.records += total
        tally.off_model_dropped += passed.off_model
        name, incident = layout.format.name, self._setting.incident
        tally.formats[name] = tally.formats.get(name, 0) + total
        zone = self._setting.zone or layout.format.zone
        if settled:
            columns = {"duration": pl.Series(passed.settled_durations, dtype=pl.String)}
            if layout.time_slot:
                columns[layout.time_slot] = texts(passed.settled_times)
            self._count_settled(read_starts(raw_batch(columns, settled, {}), zone, incident))
        self._left_out.append(id_digests(texts(passed.ids)).drop_nulls())
        self._cover(texts(passed.times), layout.format.zone)
        self._cover(texts(passed.settled_times), layout.format.zone)

    def finish(self) -> Scanned:
        """The result; the scanner is spent."""
        self._close_lane()
        self._flush()
        table = to_arrow(pl.concat(self._frames)) if self._frames else None
        left_out = pl.concat(self._left_out).rename("id") if self._left_out else NOTHING
        return Scanned(self.tally, table, self._rejects, sorted(self._minutes), left_out)
