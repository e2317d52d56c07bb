"""What does DuckDB need for an answer that somebody could follow up: which lines, with which digests, of which file?

Takes a file, a query for an account whose last column lists the ids of the affected calls, and a query that finds these
ids again, with the numbers and digests of their lines. Prints how many calls there are; that many places have to be found.
"""

from __future__ import annotations

import hashlib
import sys
from threading import Thread

import duckdb


def main() -> None:
    """Ask both, and digest the file beside them."""
    path, account, places = sys.argv[1:]
    digest = hashlib.sha256()

    def read() -> None:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - nothing else is to be loaded
            while chunk := file.read(1 << 20):
                digest.update(chunk)

    beside = Thread(target=read)
    beside.start()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    told = connection.execute(account, [path]).fetchone()
    if told is None:
        raise SystemExit("no answer")
    found = connection.execute(places, [path, told[-1]]).fetchall()
    beside.join()
    if len(found) != told[0] or len(digest.hexdigest()) != 64:
        raise SystemExit(f"{told[0]} calls are affected, but {len(found)} places were found")
    print(told[0])


if __name__ == "__main__":
    main()
