"""What do all the sources hold, and does every line have its place?

Cuts sources into pieces, scans the pieces on all cores, gives every record its absolute line, and adds up the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import count
from pathlib import Path

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from kvforensics import workers as processes
from kvforensics.beside import begin_beside
from kvforensics.clashes import NOTHING
from kvforensics.clock import check_zone
from kvforensics.cores import run_pieces, run_rows
from kvforensics.cutting import csv_pieces, even_share, parquet_pieces, table_pieces
from kvforensics.decompress import ByteStream, digest_file
from kvforensics.formats import all_formats, by_name
from kvforensics.framing import UTF8_BOM, Block, Range, Transcoded, line_blocks, line_ranges, read_range_blocks
from kvforensics.gather import Ingested, SourceState, add_piece, gather
from kvforensics.globs import chosen_by_name
from kvforensics.incident import Incident
from kvforensics.joining import whole_blocks
from kvforensics.mapping import Mapping
from kvforensics.piece import Piece, scan_piece
from kvforensics.plan import Plan
from kvforensics.recognise import recognise
from kvforensics.scanned import Keep, Setting
from kvforensics.sealed import PrivateKey
from kvforensics.settled import is_settled
from kvforensics.source import Source, find_sources, hold_stdin
from kvforensics.spec import Format
from kvforensics.spooled import Spool, spool_in
from kvforensics.stored_file import state_at
from kvforensics.ties import LeftOut, seed_ids
from kvforensics.unread import close_stream, count_unread
from kvforensics.workers import PARALLEL_FROM

RANGE_BYTES = 64 << 20
LEAST_RANGE = 8 << 20
BLOCK_BYTES = 12 << 20
Progress = Callable[[int, int], None]
Step = Callable[[int], None]


class _Kept(Struct, frozen=True):
    """Which records are kept, and the ids whose records are wanted whole."""

    keep: Keep
    wanted: pl.Series


class IngestRequest(Struct, frozen=True):
    """What to read and how. `memory_bytes` bounds DuckDB, `spool` is a folder for temporary files."""

    paths: tuple[str, ...]
    incident: Incident
    timezones: tuple[tuple[str | None, str], ...] = ()
    formats: tuple[tuple[str | None, str], ...] = ()
    mappings: tuple[Mapping, ...] = ()
    tenant_by: str | None = None
    workers: int = 0
    memory_bytes: int | None = None
    spool: Path | None = None
    keep: Keep = "on-model"
    keys: tuple[PrivateKey, ...] = ()
    """What opens encrypted fields; only the memory of the workers ever holds it."""


def ingest(request: IngestRequest, progress: Progress | None = None) -> Ingested:
    """Read every source, and once more for each round of records that were left out and turn out to be tied to others."""
    for _, zone in request.timezones:
        check_zone(zone)
    for _, name in request.formats:
        if name not in {m.format.name for m in request.mappings}:
            by_name(name)
    found = find_sources(request.paths)
    if request.spool is not None:
        found = hold_stdin(found, request.spool)
    wanted = NOTHING
    while True:
        spool = spool_in(request.spool)
        with LeftOut(request.spool) as left_out:
            ingested = _read_all(found, request, progress, left_out, spool, _kept(request, found, wanted))
            seeds = seed_ids(ingested.records, is_settled(request.incident), wanted)
            more = left_out.tied(seeds)
            more = more.filter(~more.is_in(wanted.implode()))
        if more.is_empty():
            return ingested
        wanted = pl.concat([wanted, more])


def _kept(request: IngestRequest, found: Sequence[Source], wanted: pl.Series) -> _Kept:
    """What can be read only once has to be kept, so that nothing has to be read again for its ids."""
    once = any(s.path is None and s.remote is None for s in found)
    return _Kept("all", NOTHING) if once else _Kept(request.keep, wanted)


def _read_all(
    found: Sequence[Source], request: IngestRequest, progress: Progress | None, left_out: LeftOut, spool: Spool,
    kept: _Kept,
) -> Ingested:  # fmt: skip
    states = [SourceState(s, left_out, spool) for s in found]
    total = sum(s.size or 0 for s in found)
    workers = processes.count(request.workers)
    pool = processes.pool(workers) if workers > 1 and total >= PARALLEL_FROM else None
    done = 0
    ready: set[int] = set()

    def step(here: int) -> None:
        if progress:
            progress(done + here, total)

    try:
        for i, state in _small_ones(states, request, pool, workers, kept):
            states[i] = state
            ready.add(i)
            left_out.take(state.left_out)
            spool.take(state.spool)
            done += state.bytes
            step(0)
        for i, state in enumerate(states):
            if i not in ready:
                _read(state, request, pool, workers, step, kept)
                done += state.bytes
                step(0)
    finally:
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)
        spool.close()
    return gather(states, spool)


def _small_ones(
    states: Sequence[SourceState], request: IngestRequest, pool: ProcessPoolExecutor | None, workers: int, kept: _Kept
) -> Iterator[tuple[int, SourceState]]:
    """Sources of which several are read at the same time, each by one process, in order."""
    small = [i for i, s in enumerate(states) if s.source.size is not None and s.source.size < PARALLEL_FROM]
    if pool is None or len(small) < 2:
        return
    waiting: list[tuple[int, Future[SourceState]]] = []
    for i in small:
        waiting.append((i, pool.submit(_read_alone, states[i].source, request, kept)))
        if len(waiting) >= 2 * workers + 1:
            at, future = waiting.pop(0)
            yield at, future.result()
    for at, future in waiting:
        yield at, future.result()


def _read_alone(source: Source, request: IngestRequest, kept: _Kept) -> SourceState:
    state = SourceState(source, LeftOut(None), spool_in(None))
    _read(state, request, None, 1, lambda _: None, kept)
    return state


def _read(
    state: SourceState, request: IngestRequest, pool: ProcessPoolExecutor | None, workers: int, step: Step, kept: _Kept
) -> None:
    source = state.source
    if source.skipped:
        state.problems.append(f"skipped: {source.skipped}")
        return
    formats = _formats_for(source.name, request)
    found = recognise(source, formats)
    stream, wide, state.plan = found.stream, found.wide, found.plan
    if state.plan is None:
        count_unread(state, stream, found.head, request.incident)
        return
    plan = state.plan
    setting = Setting(
        source.name, plan.formats, None, request.incident, request.tenant_by, kept.keep, kept.wanted,
        plan.wrappers, plan.layered, plan.newline if plan.container == "lines" else None, plan.only, request.keys,
    )  # fmt: skip
    setting = _with_zone(setting, state, request)
    # The two events of a request may be far apart, so such a log is not cut into pieces.
    seen = {name.rsplit(" > ", 1)[-1] for name, _ in plan.counts}
    seen = seen.union(*(f.beside for f in plan.formats if f.name in seen))
    whole = any(f.opening for f in plan.formats if f.name in seen)
    pool = None if whole else pool
    plain = stream.compression is None and source.path is not None and source.member is None
    pool = None if plan.joins == "inside" else pool
    large = (source.size or 0) >= PARALLEL_FROM
    as_table = plan.container == "csv" and plan.joins == "none" and plan.dialect is not None and not plan.dialect.lead
    if plain and not wide and (as_table or plan.container == "lines") and pool and large:
        stream.close()
        _read_ranges(state, setting, pool, workers, step, len(UTF8_BOM) if found.mark else 0)
    elif plan.container == "lines" and pool and not wide and (stream.compression or (plan.joins == "outermost" and large)):
        _read_blocks(state, setting, pool, workers, stream, step)
    elif plan.container == "parquet" and source.path:
        _read_parquet(state, setting, pool, workers, stream, source.path, step)
    elif plan.container == "csv" and pool and plan.joins == "none" and (stream.compression or large):
        readable = Transcoded(stream, wide) if wide else stream
        run_pieces(state, csv_pieces(readable, setting, plan), pool, workers, lambda: step(stream.position_raw))
        close_stream(state, stream)
    else:
        readable = Transcoded(stream, wide) if wide else stream
        add_piece(state, scan_piece(Piece("stream", setting, state.plan), readable))
        close_stream(state, stream)


def _read_parquet(
    state: SourceState, setting: Setting, pool: ProcessPoolExecutor | None, workers: int, stream: ByteStream, path: Path,
    step: Step,
) -> None:  # fmt: skip
    """The stream is only digested, beside the reading of the rows."""
    plan, before = state.plan, state_at(path)
    if plan is None:  # pragma: no cover - the caller checked
        return
    closed = begin_beside(lambda: close_stream(state, stream))
    pieces = list(parquet_pieces(str(path), setting, plan, workers))
    size, done = state.source.size or 0, count(1)
    # Pieces are alike, so that each is as much of the file.
    run_pieces(state, iter(pieces), pool, workers, lambda: step(size * next(done) // len(pieces)))
    closed()
    if state_at(path) != before and "changed_while_read" not in state.problems:
        _note_change(state)


def _note_change(state: SourceState) -> None:
    state.problems.append("changed_while_read")
    state.broken = True


def _formats_for(name: str, request: IngestRequest) -> tuple[Format, ...]:
    own = tuple(m.format for m in request.mappings if m.takes(name))
    wanted = chosen_by_name(name, request.formats)
    if wanted is None:
        return (*own, *all_formats())
    return tuple(f for f in own if f.name == wanted) or (by_name(wanted),)


def _with_zone(setting: Setting, state: SourceState, request: IngestRequest) -> Setting:
    """A plain zone is a default for logs that do not say; one with a glob wins over the format's documentation too."""
    named = chosen_by_name(state.source.name, [c for c in request.timezones if c[0] is not None])
    default = chosen_by_name(state.source.name, [c for c in request.timezones if c[0] is None])
    main = state.plan.main_format if state.plan else None
    documented = main.zone if main else None
    zone = named or (None if documented else default)
    state.zone = zone or documented
    return replace(setting, zone=zone)


def _read_ranges(
    state: SourceState, setting: Setting, pool: ProcessPoolExecutor, workers: int, step: Step, mark: int
) -> None:
    """`mark` is the length of the byte order mark, which is in no line."""
    path, plan = state.source.path, state.plan
    if path is None or plan is None:  # pragma: no cover - the caller checked
        return
    before = state_at(path)
    digest = begin_beside(lambda: digest_file(path))
    size = path.stat().st_size
    if plan.container == "csv":
        pieces = table_pieces(path, size, setting, plan, _range_bytes(size, workers))
        at = run_rows(state, list(pieces), pool, workers, lambda: step(state.tally.bytes), mark)
        with path.open("rb", buffering=0) as file:
            file.seek(at)
            rest = csv_pieces(file, setting, plan, at) if at < size else iter(())
            run_pieces(state, rest, pool, workers, lambda: step(state.tally.bytes))
    else:
        ranges = line_ranges(path, size, plan.newline, _range_bytes(size, workers))
        pieces = (Piece("range", setting, plan, path=str(path), offset=r.offset, length=r.length) for r in ranges)
        last = None if plan.joins == "none" else len(ranges) - 1
        broken = run_pieces(state, pieces, pool, workers, lambda: step(state.tally.bytes), last)
        if broken is not None:
            start = ranges[broken].offset
            blocks = read_range_blocks(path, Range(start, size - start), plan.newline, BLOCK_BYTES)
            run_pieces(state, _block_pieces(blocks, setting, plan), pool, workers, lambda: step(state.tally.bytes))
    state.sha256, state.bytes, changed = digest()
    if changed or state.tally.bytes + mark != state.bytes or state_at(path) != before:
        _note_change(state)


def _read_blocks(
    state: SourceState, setting: Setting, pool: ProcessPoolExecutor, workers: int, stream: ByteStream, step: Step
) -> None:
    plan = state.plan
    if plan is None:  # pragma: no cover - the caller checked
        return
    pieces = _block_pieces(line_blocks(stream, plan.newline, BLOCK_BYTES), setting, plan)
    run_pieces(state, pieces, pool, workers, lambda: step(stream.position_raw))
    close_stream(state, stream)


def _range_bytes(size: int, workers: int) -> int:
    return min(RANGE_BYTES, max(LEAST_RANGE, even_share(size, RANGE_BYTES, workers)))


def _block_pieces(blocks: Iterator[Block], setting: Setting, plan: Plan) -> Iterator[Piece]:
    """Pieces that end where no line goes on."""
    whole = whole_blocks(blocks, plan.wrappers, plan.newline) if plan.joins == "outermost" else blocks
    return (Piece("block", setting, plan, block=b) for b in whole)
