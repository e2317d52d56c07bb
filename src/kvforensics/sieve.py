"""Which records of a batch are kept, and what do the others leave behind?

Records of other models and settled ones are counted and left out; the digests of their ids, their minutes and their
sampling rates stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from kvforensics.bucket import joined, read_buckets
from kvforensics.clashes import KEPT, NONE, lined
from kvforensics.clock import coverage_instant, telling
from kvforensics.decode import told_once
from kvforensics.hidden_calls import NAMED_BESIDE, HiddenCalls
from kvforensics.inner_calls import InnerCalls, with_counts
from kvforensics.lane import Lane
from kvforensics.layered import Found, fill_rest, fill_times
from kvforensics.model_id import ModelReader
from kvforensics.normalise import Located, normalise, read_model, read_starts, to_arrow
from kvforensics.openings import OPENING
from kvforensics.passed import texts
from kvforensics.peel import Layers
from kvforensics.raw import ID_COLUMNS, TELLING, TIMES, Extractor, raw_batch
from kvforensics.scanned import MOST_INTERVALS, Setting, Tally
from kvforensics.sealed import MARK, Opener
from kvforensics.settled import WEIGHING, is_failed, is_settled, not_in_window, tags_of_others, tags_of_settled
from kvforensics.span_units import SUMS, views_of
from kvforensics.spec import Format
from kvforensics.ties import id_digests, shares

MINUTE_US = 60_000_000
Held = tuple[Any, int, int | None, int | None, bytes | None, tuple[str, ...]]
"""A decoded unit: its value, line, offset, length, bytes, and the reasons why parts of it are unknown."""


class Sieve:
    """Takes the records of one piece; its tally is the scanner's."""

    def __init__(self, setting: Setting, tally: Tally, reader: ModelReader, hidden: HiddenCalls) -> None:
        self._setting, self._tally, self._reader, self._hidden = setting, tally, reader, hidden
        self._frames: list[pl.DataFrame] = []
        self._left_out: list[pl.DataFrame] = []
        self._minutes: set[int] = set()
        self._viewed = bool(views_of(setting.formats))
        self._buckets: list[pl.DataFrame] = []
        self._opener = Opener(setting.keys)
        tally.sealed = self._opener.tally

    def take(self, extractor: Extractor, items: Sequence[Held], found: Sequence[Found | None]) -> None:
        """Records of one format, each with where it was found if that was inside other layers."""
        fmt = extractor.format
        layers = [f.layers if f else () for f in found]
        self.count(fmt.name, len(items))
        s, values = self._setting, [i[0] for i in items]
        raw = fill_times(extractor.batch(values, TELLING), layers)
        self.note(raw, fmt.zone)
        match = read_model(raw, fmt, self._reader)
        # Text has no keys that could be given twice.
        near = (i for i, m in enumerate(match) if m is not False or self._repeats_model(items[i][4]))
        suspects = [] if fmt.pattern or self._viewed else list(near)
        extra = {item[1]: item[5] for item in items if item[5]}
        fixed = self._without_repeats(items, suspects, extra, OPENING if fmt.opening else None)
        fixed |= self._opened(extractor, items, [i for i, m in enumerate(match) if m is not False], fixed, extra)
        if fixed:
            values = [fixed.get(i, value) for i, value in enumerate(values)]
            raw = fill_times(extractor.batch(values, TELLING), layers)
            match = read_model(raw, fmt, self._reader)
        doubted = self._doubted(extractor, items, values, raw.filter(match.eq(other=False)), match, layers)
        if doubted:
            extra |= {items[i][1]: (*extra.get(items[i][1], ()), NAMED_BESIDE) for i in doubted}
            values = [doubted[i][0] if i in doubted else value for i, value in enumerate(values)]
            raw = fill_times(extractor.batch(values, TELLING), layers)
            match = match.scatter(list(doubted), None)
        self.note_rates(raw, match)
        wanted = self.wanted(raw)
        keep = list(range(len(items)))
        if s.keep != "all":
            other = match.eq(other=False).fill_null(value=False)
            other = other if wanted is None else other & ~wanted
            weighed = extractor.batch([values[i] for i in other.arg_true()], WEIGHING)
            keep = self.leave(raw, other, tags_of_others(weighed, s.incident.lowest_over))
        if not keep:
            return
        extra |= {items[i][1]: (*extra.get(items[i][1], ()), SUMS) for i in keep if extractor.adds_up(items[i][0])}
        at = _located([items[i] for i in keep], [found[i] for i in keep])
        around = [layers[i] for i in keep]
        raw = fill_rest(fill_times(extractor.batch([values[i] for i in keep]), around), around)
        if doubted:
            raw = with_counts(raw, {k: doubted[i][1] for k, i in enumerate(keep) if i in doubted})
        raw = raw.with_columns(match[keep].alias("model_match"))
        self.keep(raw, at, fmt, None if wanted is None else wanted[keep], extra)

    def keep(
        self, raw: pl.DataFrame, at: Located, fmt: Format, wanted: pl.Series | None, extra: Mapping[int, tuple[str, ...]]
    ) -> None:
        """Keep the records of a raw batch with its `model_match`, less those that are settled; `extra`: reasons by line."""
        s = self._setting
        frame = normalise(raw, at, fmt, s.source, s.zone, s.incident, s.tenant_by)
        if extra:
            more = pl.Series([list(extra.get(line, ())) for line in at.lines], dtype=pl.List(pl.String))
            frame = frame.with_columns(pl.col("reasons").list.concat(more))
        if s.keep == "open":
            # What a span says of itself is not the last word: the spans below it may say more.
            failed = None if self._viewed else frame.select(f=is_failed())["f"]
            frame = self.unsettled(frame, raw, frame["model_match"], wanted, failed)[0]
        elif s.keep == "on-model":
            settled = self._settled(frame, wanted, None)
            tags = tags_of_settled(frame.filter(settled), frame["model_match"].filter(settled))
            self._remember(raw, settled, tags | KEPT)
        self._frames.append(frame)

    def count(self, name: str, records: int) -> None:
        """Count records of a format."""
        self._tally.lines += records
        self._tally.records += records
        self._tally.formats[name] = self._tally.formats.get(name, 0) + records

    def wanted(self, raw: pl.DataFrame) -> pl.Series | None:
        """Which records have an id that is wanted; None where none is."""
        return shares((id_digests(raw[c]) for c in ID_COLUMNS), self._setting.wanted) if len(self._setting.wanted) else None

    def leave(self, raw: pl.DataFrame, other: pl.Series, tags: pl.Series) -> list[int]:
        """The places of what is left once records of other models are counted and left out; `tags` of those, see `clashes`."""
        self._tally.off_model_dropped += int(other.sum())
        self._remember(raw, other, tags)
        return (~other).arg_true().to_list()

    def unsettled(
        self, frame: pl.DataFrame, raw: pl.DataFrame, match: pl.Series, wanted: pl.Series | None, failed: pl.Series | None
    ) -> tuple[pl.DataFrame, pl.Series]:
        """The rows whose answer is open, or that share an id with one, and which; the others are counted and left out.

        `failed` are those that surely were not answered, as far as it is known.
        """
        settled = self._settled(frame, wanted, failed)
        gone = frame.filter(settled)
        failed = None if failed is None else failed.filter(settled)
        self._count_settled(gone, failed)
        self._remember(raw, settled, tags_of_settled(gone, match.filter(settled), failed))
        return frame.filter(~settled), ~settled

    def _settled(self, frame: pl.DataFrame, wanted: pl.Series | None, failed: pl.Series | None) -> pl.Series:
        settled = frame.select(s=is_settled(self._setting.incident))["s"]
        settled = settled if failed is None else settled | failed
        return settled if wanted is None else settled & ~wanted

    def _count_settled(self, starts: pl.DataFrame, failed: pl.Series | None = None) -> None:
        outside = starts.select(w=not_in_window(self._setting.incident))["w"]
        early_or_late = int(outside.sum())
        unserved = 0 if failed is None else int((failed & ~outside).sum())
        self._tally.settled_in_window += early_or_late
        self._tally.settled_served += unserved
        self._tally.settled_over_threshold += starts.height - early_or_late - unserved

    def _remember(self, raw: pl.DataFrame, which: pl.Series, tags: pl.Series) -> None:
        told: list[pl.Series] = []
        for column in (raw[c].filter(which) for c in ID_COLUMNS if raw[c].null_count() < raw.height):
            if not any(column.equals(other) for other in told):
                told.append(column)
        self._left_out.append(lined([id_digests(texts) for texts in told], tags))

    def _doubted(
        self, extractor: Extractor, items: Sequence[Held], values: Sequence[Any], raw: pl.DataFrame, match: pl.Series,
        layers: Sequence[Layers],
    ) -> dict[int, tuple[Any, InnerCalls]]:
        """Records of another model, with what `raw` has of them and what is around them, that name the affected one too."""
        others = zip(match.eq(other=False).arg_true(), raw["provider"], raw["host"], strict=True)
        found = {
            i: self._hidden.beside(extractor, values[i], items[i][4], place, [outer for _, outer in layers[i]])
            for i, *place in others
        }
        return {i: told for i, told in found.items() if told is not None}

    def _repeats_model(self, data: bytes | None) -> bool:
        return data is not None and (data.count(b'odel"') > 1 or b"\\u00" in data)

    def _without_repeats(
        self, items: Sequence[Held], suspects: Sequence[int], extra: dict[int, tuple[str, ...]], added: str | None
    ) -> dict[int, Any]:
        """Records in which a key is given twice with different values, read again with that value unknown."""
        fixed = {}
        for i in suspects:
            line, data = items[i][1], items[i][4]
            value, names = told_once(data, items[i][0], added) if data is not None else (None, ())
            if names:
                fixed[i] = value
                extra[line] = (*extra.get(line, ()), *(f"repeated_key:{n[:64]}" for n in names))
        return fixed

    def _opened(
        self, extractor: Extractor, items: Sequence[Held], suspects: Sequence[int], fixed: Mapping[int, Any],
        extra: dict[int, tuple[str, ...]],
    ) -> dict[int, Any]:  # fmt: skip
        """Records that may be on the model, with what is in the encrypted fields that the paths of the format go through."""
        opened = {}
        for i in suspects:
            line, data = items[i][1], items[i][4]
            if data is not None and MARK not in data:
                continue
            found = self._opener.open(fixed.get(i, items[i][0]), extractor.roots)
            if found is not None:
                opened[i], reasons = found
                extra[line] = (*extra.get(line, ()), *reasons)
        return opened

    def note(self, raw: pl.DataFrame, zone: str | None) -> None:
        """Note the times of records, for the coverage."""
        told = [slot for slot in TIMES if raw[slot].null_count() < raw.height]
        self._cover(raw[told[0]] if len(told) == 1 else raw.select(t=pl.coalesce(TIMES))["t"], zone)

    def note_rates(self, raw: pl.DataFrame, match: pl.Series) -> None:
        """Which records stand for several, of any model: where one is sampled, another can be missed."""
        if raw["sample_interval"].null_count() == raw.height:
            return
        told = raw.select(i=pl.col("sample_interval").cast(pl.Float64, strict=False), m=match)
        rates = told.filter(pl.col("i") > 1)
        self._tally.sampled = self._tally.sampled or not rates.is_empty()
        found = rates.filter(pl.col("m").fill_null(value=True))["i"].unique()
        self._tally.intervals = sorted({*self._tally.intervals, *found.to_list()}, reverse=True)[:MOST_INTERVALS]

    def _cover(self, times: pl.Series, zone: str | None) -> None:
        thin, says_offset = telling(times)
        if says_offset is not None:
            self._tally.says_offset = says_offset and self._tally.says_offset is not False
        instants = coverage_instant(thin, self._setting.zone or zone)
        if instants.null_count() and len(thin) < len(times):
            instants = coverage_instant(times, self._setting.zone or zone)
        instants = instants.drop_nulls()
        if instants.is_empty():
            return
        low, high = int(instants.min()), int(instants.max())  # type: ignore[arg-type]
        t = self._tally
        t.first_us = low if t.first_us is None else min(t.first_us, low)
        t.last_us = high if t.last_us is None else max(t.last_us, high)
        self._minutes.update((instants // MINUTE_US).unique().to_list())

    def sums(self, extractor: Extractor, values: Sequence[Any]) -> None:
        """Sums over several requests."""
        s = self._setting
        self._buckets.append(read_buckets(values, extractor, self._reader, s.incident, s.zone))

    def buckets(self) -> pl.DataFrame | None:
        """All sums, None where there are none."""
        return joined(self._buckets) if self._buckets else None

    def passed(self, lane: Lane) -> None:
        """What a lane let pass."""
        tally = self._tally
        for fmt, passed in lane.take_passed():
            total = passed.off_model + passed.settled
            tally.lines += total
            tally.records += total
            tally.off_model_dropped += passed.off_model
            if total:
                tally.formats[fmt.name] = tally.formats.get(fmt.name, 0) + total
            if passed.settled:
                columns = {slot: texts(held) for slot, held in passed.starts.items()}
                frame = raw_batch(columns, passed.settled, {})
                starts = read_starts(frame, self._setting.zone or fmt.zone, self._setting.incident, bare=True)
                self._count_settled(starts, pl.Series(passed.failed, dtype=pl.Boolean))
            digests = [id_digests(texts(column)) for column in passed.ids]
            self._left_out.append(lined(digests, passed.tag_column()))
            times = texts(passed.times)
            self._cover(times.set(times == "", None), fmt.zone)

    def result(self) -> tuple[pa.Table | None, list[int], pl.DataFrame]:
        """The kept records, the minutes that have records, and the digests of the ids of what was left out, see `clashes`."""
        table = to_arrow(pl.concat(self._frames)) if self._frames else None
        left_out = pl.concat([NONE, *self._left_out])
        return table, sorted(self._minutes), left_out


def _located(items: Sequence[Held], found: Sequence[Found | None]) -> Located:
    """Where records are: inside layers, the bytes are those of the whole line."""
    raws = [f.place.raw or None if f else item[4] for item, f in zip(items, found, strict=True)]
    sizes = [len(f.place.raw) or None if f else item[3] for item, f in zip(items, found, strict=True)]
    return Located([i[1] for i in items], [i[2] for i in items], sizes, raws)
