"""What does a raw batch mean in canonical columns?

Times become intervals in UTC, counts become intervals of prompt tokens, names become a nullable match, and everything
that could not be read is unknown with a reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import polars as pl
import pyarrow as pa
from msgspec import Struct

from kvforensics.clock import read_instants
from kvforensics.incident import Incident
from kvforensics.model_id import ModelReader
from kvforensics.spec import ID_KINDS, Format
from kvforensics.tokens import TokenLimits, read_count, read_tokens

ABSURD_FACTOR = 16
_NO_STARTS = ("date-only", "start-or-end", "end-minus-duration", "end-only", "missing")
_ROUNDING = 1_000
"""Microseconds by which two times of the same moment differ in a log."""
_INSTANT = {"earliest": pl.Int64(), "latest": pl.Int64(), "basis": pl.String(), "problem": pl.String()}
_ID_TYPE = pl.List(pl.Struct({"kind": pl.String, "value": pl.String}))
RECORD_COLUMNS = (
    "source", "line", "byte_offset", "byte_length", "sha256", "format", "record_id", "ids", "started_earliest",
    "started_latest", "time_text", "time_basis", "model_text", "provider_text", "host_text", "model_match",
    "prompt_tokens_min", "prompt_tokens_max", "token_basis", "completion_tokens", "status", "http_status", "outcome",
    "error_status", "has_output", "tenant", "key", "user", "client_ip", "user_agent", "tags", "node", "from_cache",
    "replay_of", "sample_interval", "reasons", "duration_us", "first_token_us", "cached_tokens", "response_bytes",
    "finish_reason", "unzoned_earliest", "unzoned_latest", "raw",
)  # fmt: skip


class Located(Struct, frozen=True):
    """Where the records of a raw batch are: parallel columns. `raw` may be empty where bytes do not exist (Parquet)."""

    lines: Sequence[int]
    offsets: Sequence[int | None]
    lengths: Sequence[int | None]
    raw: Sequence[bytes | None]


def read_model(raw: pl.DataFrame, fmt: Format, reader: ModelReader) -> pl.Series:
    """Whether each record is on the affected model, once for each distinct spelling.

    Where the name that was asked for leaves it open, such as a route, the name in the answer decides. An answer of the
    affected model to a request for another one, as a fallback gives it, leaves it open.
    """
    match = _matches(raw, fmt, reader, "model")
    if raw["answer_model"].null_count() == raw.height:
        return match
    answered = _matches(raw, fmt, reader, "answer_model")
    contradicts = (~match & answered).fill_null(value=False)
    return match.fill_null(answered).set(contradicts, None)


def _matches(raw: pl.DataFrame, fmt: Format, reader: ModelReader, name: str) -> pl.Series:
    keys = raw.select(name, "provider", "host")
    distinct = keys.unique()
    verdicts = [reader.read(m, p, h, provider_serves=fmt.provider_serves) for m, p, h in distinct.iter_rows()]
    known = distinct.with_columns(pl.Series("model_match", verdicts, dtype=pl.Boolean))
    joined = keys.join(known, on=[name, "provider", "host"], how="left", nulls_equal=True, maintain_order="left")
    return joined["model_match"]


def normalise(
    raw: pl.DataFrame,
    at: Located,
    fmt: Format,
    source: str,
    zone: str | None,
    incident: Incident,
    tenant_by: str | None,
) -> pl.DataFrame:
    """The canonical rows of a raw batch that already has the column `model_match`."""
    times = read_starts(raw, fmt.zone if zone is None else zone, incident)
    if zone is not None and zone != fmt.zone:
        times = _with_unzoned(times, read_starts(raw, fmt.zone, incident), zone)
    limits = _limits(incident)
    tokens = _tokens(raw, fmt, limits)
    frame = pl.concat([raw, times, tokens], how="horizontal").with_columns(*served(fmt)).with_columns(*_who(tenant_by))
    frame = frame.with_columns(
        pl.lit(source).alias("source"),
        pl.lit(fmt.name).alias("format"),
        pl.Series("line", at.lines, dtype=pl.Int64),
        pl.Series("byte_offset", at.offsets, dtype=pl.Int64),
        pl.Series("byte_length", at.lengths, dtype=pl.Int64),
        pl.coalesce("start", "end", "stamp").alias("time_text"),
        pl.col("model").alias("model_text"),
        pl.col("provider").alias("provider_text"),
        pl.col("host").alias("host_text"),
        pl.col("tag").str.split("\x1f").alias("tags"),
        pl.col("sample_interval").cast(pl.Float64, strict=False),
        _first_token(raw, times, fmt.zone if zone is None else zone),
        read_count(raw["cache_read"], limits.absurd_over)[0].alias("cached_tokens"),
        read_count(raw["response_bytes"], None)[0].alias("response_bytes"),
        _ids(raw),
        *(pl.lit(None, dtype=pl.Int64).alias(c) for c in ("unzoned_earliest", "unzoned_latest") if c not in times.columns),
        pl.concat_list(pl.col("problems"), pl.col("time_problem").str.split("\x1f").fill_null([]))
        .list.drop_nulls()
        .alias("reasons"),
        pl.coalesce("record_id", "id_response_id", "id_span_id").alias("record_id"),
        said_replay(raw),
    )
    keep = (
        (pl.col("model_match").fill_null(value=True))
        & (pl.col("prompt_tokens_max").is_null() | (pl.col("prompt_tokens_max") >= incident.uncertain_from))
    ) | pl.col("from_cache").fill_null(value=False)
    kept = frame.select(keep.alias("k"))["k"].to_list()
    blobs = [b if k else None for b, k in zip(at.raw, kept, strict=True)]
    digests = [None if b is None else hashlib.sha256(b).hexdigest() for b in blobs]
    frame = frame.with_columns(pl.Series("sha256", digests, dtype=pl.String), pl.Series("raw", blobs, dtype=pl.Binary))
    return frame.select(RECORD_COLUMNS)


def settling(raw: pl.DataFrame, fmt: Format, zone: str | None, incident: Incident) -> pl.DataFrame:
    """The canonical columns of a raw batch that say whether a record is settled."""
    times = read_starts(raw, fmt.zone if zone is None else zone, incident, bare=True)
    tokens = _tokens(raw, fmt, _limits(incident), bare=True)
    return pl.concat([times, tokens, said_replay(raw).to_frame()], how="horizontal")


def _limits(incident: Incident) -> TokenLimits:
    return TokenLimits(
        template_allowance=incident.template_allowance,
        absurd_over=incident.context_length * ABSURD_FACTOR if incident.context_length else None,
    )


def _tokens(raw: pl.DataFrame, fmt: Format, limits: TokenLimits, *, bare: bool = False) -> pl.DataFrame:
    rule = pl.col("cache_rule").fill_null(fmt.cache_rule) if "cache_rule" in raw.columns else fmt.cache_rule
    return read_tokens(
        raw, rule=rule, incident_limits=limits,
        cache_visible=fmt.cache_visible, cache_always_told=fmt.cache_always_told, own_total=fmt.own_total, estimate=False,
        total_is_sum=fmt.total_is_sum, bare=bare,
    )  # fmt: skip


def said_replay(raw: pl.DataFrame) -> pl.Series:
    """Whether each record of a raw batch is a replay; one that names the answer which it repeats is."""
    told = raw["from_cache"]
    said = told == "true"
    if not (said | (told == "false")).all():
        said = told.str.to_lowercase().replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)
    pointing = raw["replay_of"].is_not_null()
    return said.set(said.is_null() & pointing, value=True) if pointing.any() else said


def _ids(raw: pl.DataFrame) -> pl.Expr:
    """The ids of each record as a list; kinds that no record of the batch has cost nothing."""
    kinds = [k for k in ID_KINDS if raw[f"id_{k}"].null_count() < raw.height]
    if not kinds:
        return pl.lit(pl.Series([[]], dtype=_ID_TYPE)).first().alias("ids")
    pairs = [pl.struct(pl.lit(k).alias("kind"), pl.col(f"id_{k}").alias("value")) for k in kinds]
    given = [pl.when(pl.col(f"id_{k}").is_not_null()).then(p) for k, p in zip(kinds, pairs, strict=True)]
    return pl.concat_list(given).list.drop_nulls().cast(_ID_TYPE).alias("ids")


_FLAGS = {
    "true": True, "false": False, "1": True, "0": False, "hit": True, "miss": False, "yes": True, "no": False,
    "none": False, "bypass": False, "disabled": False, "semantic hit": True, "semantic_hit": True,
    "refresh": False,
}  # fmt: skip


def read_starts(raw: pl.DataFrame, zone: str | None, incident: Incident, *, bare: bool = False) -> pl.DataFrame:
    """The interval of possible starts, from a start, else an end, else a stamp that may be either.

    Where it is `bare`, nothing else is told.
    """
    parts = []
    for slot in ("start", "end", "stamp"):
        if raw[slot].null_count() == raw.height:
            part = pl.DataFrame({n: pl.Series([None], dtype=t).new_from_index(0, raw.height) for n, t in _INSTANT.items()})
        else:
            part = read_instants(raw[slot], zone)
        parts.append(part.rename({c: f"{slot}_{c}" for c in part.columns}))
    frame = pl.concat(parts, how="horizontal").with_columns(
        raw["duration"].cast(pl.Int64, strict=False).alias("duration_us")
    )
    d = pl.col("duration_us")
    back = d.fill_null(incident.max_request_us)
    by_start, by_end = pl.col("start_earliest").is_not_null(), pl.col("end_earliest").is_not_null()
    by_stamp = pl.col("stamp_earliest").is_not_null()
    earliest = (
        pl.when(by_start).then("start_earliest").when(by_end).then(pl.col("end_earliest") - back)
        .when(by_stamp).then(pl.col("stamp_earliest") - back)
    )  # fmt: skip
    latest = (
        pl.when(by_start).then("start_latest").when(by_end).then(pl.col("end_latest") - d.fill_null(0))
        .when(by_stamp).then("stamp_latest")
    )  # fmt: skip
    bounds = (earliest.alias("started_earliest"), latest.alias("started_latest"))
    if bare:
        return frame.select(bounds)
    basis = (
        pl.when(by_start).then("start_basis")
        .when(by_end & d.is_not_null()).then(pl.lit("end-minus-duration")).when(by_end).then(pl.lit("end-only"))
        .when(by_stamp).then(pl.lit("start-or-end")).otherwise(pl.lit("missing"))
    )  # fmt: skip
    problem = pl.concat_str(["start_problem", "end_problem", "stamp_problem"], separator="\x1f", ignore_nulls=True)
    problem = pl.when(problem == "").then(None).otherwise(problem)
    return frame.select(*bounds, basis.alias("time_basis"), problem.alias("time_problem"), "duration_us")


def _first_token(raw: pl.DataFrame, times: pl.DataFrame, zone: str | None) -> pl.Series:
    """The time from the start to the first token, in microseconds.

    Where an instant tells it, the start has to be one too. An instant at the end is what loggers write when they got the
    answer in one piece, and no sooner than that is its first token known.
    """
    told = raw["first_token"].cast(pl.Int64, strict=False).alias("first_token_us")
    if raw["first_token_at"].null_count() == raw.height:
        return told
    columns = {"told": told, "start": times["started_earliest"], "basis": times["time_basis"], "d": times["duration_us"]}
    read = {"at": read_instants(raw["first_token_at"], zone), "end": read_instants(raw["end"], zone)}
    frame = pl.DataFrame(columns | {name: table["earliest"] for name, table in read.items()})
    passed = pl.col("at") - pl.col("start")
    until = pl.coalesce(pl.col("end") - pl.col("start"), "d")
    known = ~pl.col("basis").is_in(_NO_STARTS) & (passed > 0) & (passed < until - _ROUNDING)
    return frame.select(pl.coalesce("told", pl.when(known).then(passed)).alias("first_token_us"))["first_token_us"]


def _with_unzoned(stated: pl.DataFrame, unstated: pl.DataFrame, zone: str) -> pl.DataFrame:
    """The starts, and what they would be had nobody stated a zone for this log; null where that changes nothing."""
    ends = ("started_earliest", "started_latest")
    differs = pl.any_horizontal(pl.col(e).ne_missing(pl.col(f"un_{e}")) for e in ends)
    both = stated.hstack(unstated.select(pl.col(e).alias(f"un_{e}") for e in ends))
    # A time in UTC needs no zone to be placed, so that only here it shows who said that it is one.
    basis = pl.when(differs & (pl.col("time_basis") == "offset")).then(pl.lit(f"assumed:{zone}")).otherwise("time_basis")
    return both.with_columns(
        basis.alias("time_basis"), *(pl.when(differs).then(f"un_{e}").alias(e.replace("started", "unzoned")) for e in ends)
    ).drop(f"un_{e}" for e in ends)  # fmt: skip


def served(fmt: Format) -> list[pl.Expr]:
    """Columns of a raw batch with its `completion_tokens` that say whether records were answered."""
    # Of the statuses of several attempts the last one counts; a status line has its words after the number. A column that
    # lacks some is often one of floating point numbers.
    told = pl.col("http_status")
    status = pl.coalesce(
        told.str.extract(r"(\d{3})\s*$"), told.str.extract(r"^\s*(?:HTTP/[0-9.]+ )?([1-5]\d\d) [A-Za-z]"),
        told.str.extract(r"^\s*([1-5]\d\d)\.0+\s*$"),
    )  # fmt: skip
    status = status.cast(pl.Int32, strict=False)
    state = pl.col("state").str.to_lowercase()
    numeric = state.str.extract(r"^(\d{3})$").cast(pl.Int32, strict=False)
    success = pl.col("success").str.to_lowercase().replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)
    outcome = (
        pl.when(state.is_in(fmt.ok_states)).then(pl.lit("ok"))
        .when(state.is_in(fmt.aborted_states)).then(pl.lit("aborted"))
        .when(state.is_in(fmt.failed_states)).then(pl.lit("failed"))
        .when(state.is_in(fmt.unset_states)).then(pl.lit("unset"))
        # A number that is no status of its own log is an error's; zero and what is below it say nothing.
        .when(state.str.contains(r"^[1-9]\d*$")).then(pl.lit("failed"))
        .when(success).then(pl.lit("ok")).when(~success).then(pl.lit("failed"))
        .when(pl.col("error").is_not_null()).then(pl.lit("failed"))
    )  # fmt: skip
    error_status = pl.coalesce(pl.col("error").cast(pl.Int32, strict=False), numeric)
    output = pl.when((pl.col("output") == "true") | (pl.col("completion_tokens") > 0)).then(pl.lit(value=True))
    return [
        pl.coalesce("http_status", "state", "success").alias("status"),
        status.alias("http_status"),
        outcome.alias("outcome"),
        error_status.alias("error_status"),
        output.alias("has_output"),
    ]


def _who(tenant_by: str | None) -> list[pl.Expr]:
    if tenant_by in ("key", "user", "client_ip", "user_agent", "node"):
        return [pl.col(tenant_by).alias("tenant")]
    return [] if tenant_by and tenant_by != "tenant" else [pl.coalesce("tenant", "key", "user").alias("tenant")]


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """The frame as an Arrow table with plain string columns."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
