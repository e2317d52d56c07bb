"""How do other tools answer the benchmark's question?

Each peer is a command for a file. DuckDB and Polars get explicit columns and, where lines have to be taken apart, look for
the model's name first, as someone would who knows them well.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import containers
import generate

_FROM, _TO = (f"{edge:%Y-%m-%dT%H:%M:%SZ}" for edge in generate.WINDOW)
_TIMES = f"created_at >= '{_FROM}' AND created_at < '{_TO}'"
WHERE = f"model = '{generate.MODEL}' AND tokens_in > {generate.OVER} AND status_code BETWEEN 200 AND 299 AND {_TIMES}"
_TYPES = {"created_at": "TIMESTAMPTZ", "model": "VARCHAR", "status_code": "INTEGER", "tokens_in": "BIGINT"}
_COLUMNS = "{" + ", ".join(f"{name}: '{kind}'" for name, kind in _TYPES.items()) + "}"
_ALL_COLUMNS = _COLUMNS.replace("}", ", id: 'VARCHAR'}")
_SHAPE = "'" + json.dumps({**_TYPES, "id": "VARCHAR"}) + "'"
_INSIDE = (
    f"json_extract_string(held, '$.model') = '{generate.MODEL}'"
    f" AND CAST(json_extract(held, '$.tokens_in') AS BIGINT) > {generate.OVER}"
    " AND CAST(json_extract(held, '$.status_code') AS INTEGER) BETWEEN 200 AND 299"
    " AND CAST(json_extract_string(held, '$.created_at') AS TIMESTAMPTZ) >= '{0}'"
    " AND CAST(json_extract_string(held, '$.created_at') AS TIMESTAMPTZ) < '{1}'"
).replace("{0}", _FROM).replace("{1}", _TO)  # fmt: skip
_LINES = (
    "read_csv($1, columns = {line: 'VARCHAR'}, delim = '\\x01', quote = '', escape = '', header = false,"
    " auto_detect = false)"
)
_ENVOY = (
    r'^\[([^\]]+)\] "(\S+) (\S+) \S+" (\d+) \S+ (\d+) '
)  # fmt: skip
_WHOLE_ENVOY = _ENVOY + r'.*? "([^"]*)" "[^"]*" "[^"]*"$'
_UNCERTAIN = f"{containers.UNCERTAIN_UNTIL:%Y-%m-%dT%H:%M:%SZ}"
_JSON = "SELECT {0} FROM read_json($1, format = '{1}', columns = {2})"
_APP = (
    "SELECT {0} FROM read_json($1, format = 'newline_delimited', columns = {{request_id: 'VARCHAR', started_at: 'TIMESTAMPTZ',"
    " model: 'VARCHAR', status: 'INTEGER', usage: 'STRUCT(prompt_tokens BIGINT)'}})"
)
_SPAN = (
    "STRUCT(traceId VARCHAR, spanId VARCHAR, startTimeUnixNano VARCHAR, attributes STRUCT(key VARCHAR, value STRUCT("
    "stringValue VARCHAR, intValue VARCHAR))[])"
)
_SPANS = (
    "SELECT concat(span.traceId, span.spanId) AS id, held['gen_ai.request.model'] AS model,"
    " CAST(held['gen_ai.usage.input_tokens'] AS BIGINT) AS tokens_in,"
    " CAST(held['http.response.status_code'] AS INTEGER) AS status_code,"
    " to_timestamp(CAST(span.startTimeUnixNano AS BIGINT) / 1e9) AS created_at"
    " FROM (SELECT span, map_from_entries(list_transform(span.attributes, lambda a: {'k': a.key, 'v':"
    " coalesce(a.value.stringValue, a.value.intValue)})) AS held"
    " FROM (SELECT unnest(flatten(flatten(list_transform(resourceSpans, lambda r: list_transform(r.scopeSpans,"
    " lambda s: s.spans))))) AS span FROM read_json($1, format = 'newline_delimited', columns = {resourceSpans:"
    f" 'STRUCT(scopeSpans STRUCT(spans {_SPAN}[])[])[]'}}, maximum_object_size = 67108864)))"
)
_PLAIN = _JSON.format("count(*)", "newline_delimited", _COLUMNS) + f" WHERE {WHERE}"
_COUNT = {
    "plain": _PLAIN,
    "gz": _PLAIN,
    "zst": _PLAIN,
    "document": _JSON.format("count(*)", "array", _COLUMNS) + f" WHERE {WHERE}",
    "csv": f"SELECT count(*) FROM read_csv($1, header = true, types = {_COLUMNS}) WHERE {WHERE}",
    "parquet": f"SELECT count(*) FROM read_parquet($1) WHERE {WHERE}",
    "app": _APP.format("count(*)") + (
        f" WHERE model = '{generate.MODEL}' AND usage.prompt_tokens > {generate.OVER} AND status BETWEEN 200 AND 299"
        f" AND started_at >= '{_FROM}' AND started_at < '{_TO}'"
    ),
    "journald": (
        "SELECT count(*) FROM (SELECT MESSAGE AS held FROM read_json($1, format = 'newline_delimited', columns = {MESSAGE:"
        f" 'VARCHAR'}}) WHERE contains(MESSAGE, '{generate.MODEL}')) WHERE {_INSIDE}"
    ),
    "cri": (
        f"SELECT count(*) FROM (SELECT substr(line, strpos(line, '{{')) AS held FROM {_LINES}"
        f" WHERE contains(line, '{generate.MODEL}')) WHERE {_INSIDE}"
    ),
    "access": (
        f"SELECT count(*) FROM (SELECT regexp_extract(line, '{_ENVOY}', ['start', 'method', 'path', 'status', 'size']) AS r"
        f" FROM {_LINES} WHERE contains(line, '{generate.MODEL}')) WHERE r.method NOT IN ('GET', 'HEAD', 'OPTIONS')"
        f" AND r.path LIKE '%/{generate.MODEL}' AND CAST(r.status AS INTEGER) BETWEEN 200 AND 299"
        f" AND CAST(r.size AS BIGINT) >= {containers.FEWEST_BYTES} AND CAST(r.start AS TIMESTAMPTZ) >= '{_FROM}'"
        f" AND CAST(r.start AS TIMESTAMPTZ) < '{_UNCERTAIN}'"
    ),
    "otlp": f"SELECT count(*) FROM ({_SPANS}) WHERE {WHERE}",
}  # fmt: skip
_HELD = "h.id, h.model, h.tokens_in, h.status_code, h.created_at"
_ROWS = {
    "plain": _JSON.format("*", "newline_delimited", _ALL_COLUMNS),
    "gz": _JSON.format("*", "newline_delimited", _ALL_COLUMNS),
    "zst": _JSON.format("*", "newline_delimited", _ALL_COLUMNS),
    "document": _JSON.format("*", "array", _ALL_COLUMNS),
    "csv": f"SELECT id, {', '.join(_TYPES)} FROM read_csv($1, header = true, types = {_ALL_COLUMNS})",
    "parquet": f"SELECT id, {', '.join(_TYPES)} FROM read_parquet($1)",
    "app": _APP.format(
        "request_id AS id, model, usage.prompt_tokens AS tokens_in, status AS status_code, started_at AS created_at"
    ),
    "journald": (
        f"SELECT {_HELD} FROM (SELECT json_transform(MESSAGE, {_SHAPE}) AS h FROM read_json($1, format = 'newline_delimited',"
        " columns = {MESSAGE: 'VARCHAR'}))"
    ),
    "cri": f"SELECT {_HELD} FROM (SELECT json_transform(substr(line, strpos(line, '{{')), {_SHAPE}) AS h FROM {_LINES})",
    "access": (
        "SELECT r.id, CASE WHEN r.method NOT IN ('GET', 'HEAD', 'OPTIONS') THEN regexp_extract(r.path, '/run/(.+)$', 1) END"
        " AS model, TRY_CAST(r.size AS BIGINT) AS tokens_in, TRY_CAST(r.status AS INTEGER) AS status_code,"
        f" TRY_CAST(r.start AS TIMESTAMPTZ) AS created_at FROM (SELECT regexp_extract(line, '{_WHOLE_ENVOY}',"
        f" ['start', 'method', 'path', 'status', 'size', 'id']) AS r FROM {_LINES})"
    ),
    "otlp": _SPANS,
}
_TWICE = ("csv", "parquet", "cri")
"""What DuckDB reads faster twice than it keeps it."""


_ID = "01M[0-9A-Z]{23}"
_NUMBERED = f"(SELECT row_number() OVER () AS number, line FROM {_LINES})"
_LINE = f"SELECT number, sha256(line) FROM {_NUMBERED} WHERE contains(line, '{generate.MODEL}')"
_PLACES = {
    "parquet": "SELECT file_row_number + 1 FROM read_parquet($1, file_row_number = true) WHERE list_contains($2, id)",
    "otlp": (
        f"SELECT number, sha256(line) FROM (SELECT number, line, unnest(regexp_extract_all(line, '\"spanId\":\"(\\w+)', 1))"
        f" AS span FROM {_NUMBERED}) WHERE list_contains(list_transform($2, lambda id: id[33:]), span)"
    ),
}  # fmt: skip
"""Where the calls with the ids $2 are, and the digests of their lines; of most containers it is the line that has the id."""


def _places(form: str) -> str:
    return _PLACES.get(form, f"{_LINE} AND list_contains($2, regexp_extract(line, '{_ID}'))")


def _account(form: str, more: str = "") -> str:
    """How many calls are affected, and what else a check tells of all records.

    How many there are, how many are on the model and how many of these are small, in how many minutes, from when to when,
    and how many records belong to an affected call.
    """
    kept, small = "NOT MATERIALIZED" if form in _TWICE else "MATERIALIZED", f"tokens_in <= {generate.OVER}"
    where = WHERE
    if form == "access":
        small = f"tokens_in < {containers.FEWEST_BYTES}"
        where = WHERE.replace(f"tokens_in > {generate.OVER}", f"NOT {small}").replace(_TO, _UNCERTAIN)
    return (
        f"WITH calls AS {kept} ({_ROWS[form]}), hits AS (SELECT id FROM calls WHERE {where})"
        f" SELECT (SELECT count(DISTINCT id) FROM hits), count(*), count(*) FILTER (model = '{generate.MODEL}'),"
        f" count(*) FILTER (model = '{generate.MODEL}' AND {small}), count(DISTINCT CAST(epoch(created_at) AS BIGINT) // 60),"
        f" min(created_at), max(created_at), (SELECT count(*) FROM calls SEMI JOIN hits USING (id)){more} FROM calls"
    )


_DUCKDB = (
    "import duckdb, sys; c = duckdb.connect(); c.execute(\"SET TimeZone = 'UTC'\");"
    ' c.execute("SET enable_progress_bar = false"); print(c.execute(sys.argv[2], [sys.argv[1]]).fetchone()[0])'
)
COUNT, ACCOUNT, EVIDENCE = "duckdb count", "duckdb account", "duckdb evidence"
ASKED = (COUNT, ACCOUNT, EVIDENCE)
_SCRIPT = str(Path(__file__).with_name("evidence.py"))
_SCAN = {
    "csv": "pl.scan_csv(sys.argv[1], try_parse_dates=False)", "parquet": "pl.scan_parquet(sys.argv[1])",
    "plain": "pl.scan_ndjson(sys.argv[1], schema={'created_at': pl.String, 'model': pl.String, 'status_code': pl.Int64,"
    " 'tokens_in': pl.Int64})",
}  # fmt: skip
_POLARS = (
    "import polars as pl, sys; from datetime import datetime, UTC; f = {scan}; c = pl.col;"
    " time = c('created_at') if f.collect_schema()['created_at'] != pl.String else"
    " c('created_at').str.to_datetime(time_zone='UTC');"
    f" print(f.filter((c('model') == '{generate.MODEL}') & (c('tokens_in') > {generate.OVER}) &"
    " c('status_code').is_between(200, 299))"
    f".filter((time >= datetime.fromisoformat('{_FROM}')) & (time < datetime.fromisoformat('{_TO}')))"
    ".select(pl.len()).collect().item())"
)
_CHDB = (
    "import chdb, sys; f = sys.argv[1]; print(chdb.query(f\"SELECT count() FROM file('{f}', JSONEachRow, 'created_at String,"
    f" model String, status_code Int32, tokens_in Int64') WHERE {WHERE} SETTINGS"
    ' input_format_skip_unknown_fields = 1", "TSV"))'
)
_JQ = (
    f'select(.model == "{generate.MODEL}" and .tokens_in > {generate.OVER} and .status_code >= 200 and .status_code < 300'
    f' and .created_at >= "{_FROM[:-1]}" and .created_at < "{_TO[:-1]}")'
    " | .id"
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A command for a file, and how its output becomes a count (None: the tool answers another, easier question)."""

    name: str
    command: Callable[[Path], Sequence[str]]
    count: Callable[[str], int | None]


def _duckdb(name: str, query: str) -> Tool:
    return Tool(name, lambda path: (sys.executable, "-c", _DUCKDB, str(path), query), int)


def _evidence(form: str) -> Tool:
    account, places = _account(form, ", (SELECT list(DISTINCT id) FROM hits)"), _places(form)
    return Tool(EVIDENCE, lambda path: (sys.executable, _SCRIPT, str(path), account, places), int)


def databases(form: str) -> list[Tool]:
    """DuckDB, asked for the count, for the account and for evidence, and Polars where it reads the form itself."""
    found = [_duckdb(COUNT, _COUNT[form]), _duckdb(ACCOUNT, _account(form)), _evidence(form)]
    if form in _SCAN:
        code = _POLARS.replace("{scan}", _SCAN[form])
        found.append(Tool("polars", lambda path: (sys.executable, "-c", code, str(path)), int))
    return found


def references() -> list[Tool]:
    """What else is installed and reads plain JSON Lines."""
    found = [Tool("wc -l", lambda path: ("wc", "-l", str(path)), lambda _: None)]
    if shutil.which("rg"):
        found.append(Tool("rg -c MODEL", lambda path: ("rg", "-c", "-F", generate.MODEL, str(path)), lambda _: None))
    if find_spec("chdb"):
        found.append(Tool("chdb JSONEachRow", lambda path: (sys.executable, "-c", _CHDB, str(path)), int))
    if shutil.which("jq"):
        found.append(Tool("jq", lambda path: ("jq", "-c", _JQ, str(path)), lambda text: len(text.splitlines())))
    return found
