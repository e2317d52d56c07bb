"""Which lines of a block are the engine's own with nothing around them, and what do they say, column by column?

Time statistics, request logs as JSON, metrics exports and decode batches are nearly all lines of a run-time log. Those in
the shapes that the engine itself writes are read as columns; any other line, and the first and the last of a kind in each
block, is left to the careful way, which knows wrappers, old shapes, and what a line tells about its node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import polars as pl

from kvforensics.engine.answers import COLUMNS, AnswerReader, Values
from kvforensics.engine.records import LONGEST

_RANK = r"(?:DP|TP|EP|PP|ATTN_CP|ATTN_TP|ATTN_DP|MOE_DP|MOE_EP|MOE_TP|CP)\d{1,4}"
_STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_STATS = (
    rf"^\[(?P<stamp>{_STAMP})(?P<ranks>(?: {_RANK})*)\] Req ?Time ?Stats\(rid=(?P<rid>[^,]{{1,200}}), "
    r"bootstrap_room=(?:None|(?P<room>\d{1,19})), input[ _]len=(?P<prompt_tokens>\d{1,18})"
    r"(?:, cached_input_len=(?P<cached_tokens>\d{1,18}))?, output[ _]len=(?P<output_tokens>\d{1,18})"
    r"(?:, attempts=\d+)?, type=(?P<role>\w+)\)(?P<rest>[^\r]*)$"
)
_BATCH = (
    rf"^\[(?P<stamp>{_STAMP})(?P<ranks>(?: {_RANK})*)\] Decode batch, #running-req: (?P<pages>\d{{1,18}}), "
    r"#token: (?P<prompt_tokens>\d{1,18})[^\r\d]"
)
_ANSWER = rf'^(?:\[{_STAMP}\] )?\{{"(?:timestamp": ?"[^"]{{1,40}}", ?"event": ?"request\.finished"|request_parameters")'
_PHASES = {"bootstrap": "bootstrap_us", "alloc_wait": "wait_us", "transfer": "transfer_us", "queue": "queue_us",
           "forward": "forward_us"}  # fmt: skip
_WHOLE = ("room", "prompt_tokens", "cached_tokens", "output_tokens", "pages")
_AT = "at"
_DEPTH = 3
Keep = Callable[[pl.DataFrame], None]
Bulk = tuple[list[pl.DataFrame], list[int]]
"""Rows whose columns are some of those of `records.SCHEMA`, and the places of the lines that are left."""


class Lane:
    """Takes the blocks of one source, in other processes where there are some; `keep` takes their rows."""

    def __init__(self, source: str, tenant_by: str | None, keep: Keep, processes: ProcessPoolExecutor | None) -> None:
        self._source, self._tenant_by, self._keep, self._processes = source, tenant_by, keep, processes
        self.depth = _DEPTH if processes else 0

    def take(self, lines: Sequence[bytes], first: int) -> Callable[[], Sequence[int]]:
        """Begin with a block; what is returned waits for its end and says which lines are left."""
        if self._processes is None:
            return lambda: self._done(read_bare(self._source, self._tenant_by, b"\n".join(lines), first))
        future = self._processes.submit(read_bare, self._source, self._tenant_by, b"\n".join(lines), first)
        return lambda: self._done(future.result())

    def _done(self, bulk: Bulk) -> Sequence[int]:
        for rows in bulk[0]:
            self._keep(rows)
        return bulk[1]


def read_bare(source: str, tenant_by: str | None, data: bytes, first: int) -> Bulk:
    """The lines of a block that are in a known shape. Line `first` is the first one."""
    rows: list[pl.DataFrame] = []
    left = _Bare(source, _answers(tenant_by), rows.append).take(data.split(b"\n"), first)
    return rows, left


@cache
def _answers(tenant_by: str | None) -> AnswerReader:
    return AnswerReader(tenant_by)


class _Bare:
    """Reads the lines of one block."""

    def __init__(self, source: str, answers: AnswerReader, keep: Keep) -> None:
        self._source, self._answers, self._keep = source, answers, keep

    def take(self, lines: Sequence[bytes], first: int) -> list[int]:
        """Take the lines in a known shape; the places of those that are left."""
        texts = pl.DataFrame({"line": [line.decode("utf-8", "replace") for line in lines]}, schema={"line": pl.String})
        texts = texts.with_row_index(_AT)
        taken = [
            self._columns(texts, "Time", _STATS, _stats, first),
            self._columns(texts, "Decode batch, ", _BATCH, _batch, first),
            self._records(texts, first),
        ]
        gone = set().union(*taken)
        return [at for at in range(len(lines)) if at not in gone]

    def _columns(
        self, texts: pl.DataFrame, near: str, pattern: str, made: Callable[[pl.DataFrame], pl.DataFrame], first: int
    ) -> Sequence[int]:
        lines = texts.filter(pl.col("line").str.contains(near, literal=True))
        if lines.height <= 2:
            return ()
        groups = lines["line"].str.extract_groups(pattern).struct.unnest()
        rows = pl.concat([lines.select(_AT), groups], how="horizontal").with_columns(
            pl.col("stamp").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False).cast(pl.Int64)
            .alias("local_us"),
            *(pl.col("ranks").str.extract(rf" {name}(\d+)").cast(pl.Int64).alias(name.lower()) for name in ("DP", "TP")),
            *(pl.col(name).cast(pl.Int64, strict=False) for name in _WHOLE if name in groups.columns),
        )  # fmt: skip
        rows = rows.filter(pl.col("local_us").is_not_null()).slice(1)
        return self._kept(made(rows.head(max(rows.height - 1, 0))).drop("stamp", "ranks"), first)

    def _records(self, texts: pl.DataFrame, first: int) -> Sequence[int]:
        """Request logs and metrics exports, with the engine's prefix or without it."""
        lines = texts.filter(pl.col("line").str.contains(_ANSWER))
        if lines.height <= 2:
            return ()
        found: list[Values] = []
        for at, text in lines.slice(1, lines.height - 2).iter_rows():
            values = self._answers.decoded(text if text[0] == "{" else text[text.index("{") :])
            if values is not None:
                found.append((at, *values))
        rows = pl.DataFrame(found, schema={_AT: pl.UInt32, **COLUMNS}, orient="row")
        stamps = lines["line"].str.extract(rf"^\[({_STAMP})\] ").str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False
        )  # fmt: skip
        printed = pl.DataFrame({_AT: lines[_AT], "printed": stamps.cast(pl.Int64)})
        rows = rows.join(printed, on=_AT, how="left", maintain_order="left")
        return self._kept(rows.with_columns(pl.coalesce("local_us", "printed").alias("local_us")).drop("printed"), first)

    def _kept(self, rows: pl.DataFrame, first: int) -> Sequence[int]:
        if rows.height:
            named = rows.with_columns(
                (pl.col(_AT).cast(pl.Int64) + first).alias("line"),
                pl.lit(self._source).alias("source"),
                pl.lit(self._source).alias("node"),
            )
            self._keep(named.drop(_AT))
        return rows[_AT].to_list()


def _stats(rows: pl.DataFrame) -> pl.DataFrame:
    rest = pl.col("rest").str.slice(0, LONGEST)
    amount = r"(\d{1,12}(?:\.\d{1,12})?)"
    return rows.with_columns(
        pl.lit("stats").alias("kind"),
        *(_scaled(rest.str.extract(rf"(?:^|\W){name}(?:_queue)?_duration={amount}ms"), 1_000).alias(column)
          for name, column in _PHASES.items()),
        _scaled(rest.str.extract(r"entry_time=(\d{9,10}(?:\.\d{1,12})?)(?:\D|$)"), 1_000_000).alias("entry_us"),
        _scaled(rest.str.extract(rf"transfer_total={amount} ?MB"), 1 << 20).alias("transfer_bytes"),
    ).drop("rest")  # fmt: skip


def _batch(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.lit("batch").alias("kind"))


def _scaled(text: pl.Expr, factor: int) -> pl.Expr:
    return (text.cast(pl.Float64) * factor).cast(pl.Int64)
