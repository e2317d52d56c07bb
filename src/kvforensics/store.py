"""How does anything reach DuckDB?

The only door. A store is opened, tightened and locked before its first query: it sees Arrow data that we made and its
own temporary folder, nothing else of the machine, and nothing that runs in it can loosen that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import duckdb
import pyarrow as pa

from kvforensics.errors import KvForensicsError, UsageError

if TYPE_CHECKING:
    import pyarrow.dataset as pads

    from kvforensics.catalog import Query

Value = str | int | float | bool | None
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
# The order matters: where it may spill comes before external access ends, and the lock comes last.
_TIGHTEN = (
    # It would be written to standard output, which carries the answer only, once a query takes two seconds.
    "SET enable_progress_bar = false",
    "SET TimeZone = 'UTC'",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET allow_unsigned_extensions = false",
    "SET python_enable_replacements = false",
    "SET preserve_insertion_order = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
DEFAULT_MEMORY_BYTES = 2 << 30
DEFAULT_SPILL_BYTES = 64 << 30
_FEW_ROWS = 50_000


def threads_for(rows: int, threads: int | None = None) -> int | None:
    """How many threads to give a store for so many rows: of few, one alone answers sooner than several that share them."""
    return 1 if rows < _FEW_ROWS else threads


class Store:
    """A locked DuckDB, in memory, or in a file of `spool` where a folder is given.

    `memory_bytes` bounds its buffers, `threads` its workers, `spill_bytes` what it may write under `spool`; without a
    `spool` it never writes to disk. Use it as a context manager, or close it.
    """

    def __init__(
        self,
        *,
        spool: Path | None = None,
        memory_bytes: int | None = None,
        threads: int | None = None,
        spill_bytes: int = DEFAULT_SPILL_BYTES,
    ) -> None:
        path = ":memory:" if spool is None else str(spool / "store.duckdb")
        self._connection = duckdb.connect(path)
        self._registered: dict[str, object] = {}
        settings = [f"SET memory_limit = '{(memory_bytes or DEFAULT_MEMORY_BYTES) >> 10}KiB'"]
        if threads:
            settings.append(f"SET threads = {int(threads)}")
        if spool is None:
            settings += ["SET temp_directory = ''"]
        else:
            folder = str(spool / "spill").replace("'", "''")
            settings += [f"SET temp_directory = '{folder}'", f"SET max_temp_directory_size = '{spill_bytes >> 10}KiB'"]
        for statement in (*settings, *_TIGHTEN):
            self._connection.execute(statement)

    def register(self, name: str, data: pa.Table | pads.Dataset) -> None:
        """Make an Arrow table or data set readable as the relation `name`, in place of any earlier one."""
        _check_name(name)
        self._connection.register(name, data)
        self._registered[name] = data

    def create_table_as(self, name: str, query: Query, parameters: Mapping[str, Value] | None = None) -> int:
        """Keep the answer of a query as the table `name`, in place of any earlier one; the number of its rows."""
        _check_name(name)
        with _explained(query.stem):
            made = self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS {query.sql}", query.bind(parameters))
            (rows,) = made.fetchone() or (0,)
        if self._registered.pop(name, None) is not None:
            self._connection.unregister(name)
        return int(rows)

    def relation(self, name: str) -> pa.Table:
        """A relation as it stands."""
        _check_name(name)
        with _explained(name):
            return self._connection.table(name).to_arrow_table()

    def run(self, query: Query, parameters: Mapping[str, Value] | None = None) -> pa.Table:
        """The answer of a query of the catalogue."""
        with _explained(query.stem):
            return self._answer(query.sql, query.bind(parameters))

    def select(self, text: str) -> pa.Table:
        """The answer of one SELECT that a user wrote. Raises `UsageError` where it is anything else, or fails."""
        try:
            statements = self._connection.extract_statements(text)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("only a single SELECT is run here")
            return self._answer(statements[0].query, {})
        except duckdb.Error as error:
            told = " ".join(str(error).partition("\n\nLINE ")[0].split())
            raise UsageError(f"the query failed: {told}", advice="without a query, sql lists tables and columns") from error

    def drop(self, *names: str) -> None:
        """Drop tables, to give back their memory."""
        for name in names:
            _check_name(name)
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")

    def _answer(self, sql: str, parameters: dict[str, Value]) -> pa.Table:
        # A relation hands its Arrow data over without a further copy.
        return self._connection.sql(sql, params=parameters).to_arrow_table()

    def close(self) -> None:
        """Close the database; what it spilled is removed by whoever owns the folder."""
        self._connection.close()
        self._registered.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _explained(stem: str) -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise KvForensicsError("the database ran out of memory", where=stem, advice="give it more with --memory") from error
    except duckdb.Error as error:
        raise KvForensicsError(f"the query failed: {error}", where=stem) from error


def _check_name(name: str) -> None:
    # Names are ours; the check keeps it so, as a name cannot be bound as a parameter.
    if not _NAME.fullmatch(name):
        raise KvForensicsError(f"{name!r} is no name for a relation")
