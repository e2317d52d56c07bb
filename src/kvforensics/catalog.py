"""Which questions can be put to the evidence, and what does each one need?

A query is one file of the folder `queries`: a header of comments that says what it asks, then one SELECT. This module
reads the header, checks the parameters, and takes the digest that a case keeps.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from msgspec import Struct

from kvforensics.errors import KvForensicsError

Value = str | int | float | bool | None
_HEADER = ("title", "question", "parameters", "limits")
_LINE = re.compile(r"-- (?P<key>[a-z]+): (?P<text>.+)")
_PARAMETER = re.compile(r"\$([a-z_]+)")
_STEM = re.compile(r"[0-9]{3}_[a-z_]+")


class Query(Struct, frozen=True):
    """One query file. `parameters` are the names it binds, `digest` is the SHA-256 of the file, `data` the file itself."""

    stem: str
    title: str
    question: str
    parameters: tuple[str, ...]
    limits: str
    sql: str
    digest: str
    data: bytes

    def bind(self, values: Mapping[str, Value] | None = None) -> dict[str, Value]:
        """The values of exactly the parameters that the query has. Raises where one is missing or unknown."""
        given = dict(values or {})
        if set(given) != set(self.parameters):
            raise KvForensicsError(
                f"takes the parameters {sorted(self.parameters)}, was given {sorted(given)}", where=self.stem
            )
        return given


def parse_query(stem: str, data: bytes) -> Query:
    """The query in a file's bytes. Raises where the header is incomplete or does not fit the text."""
    if not _STEM.fullmatch(stem):
        raise KvForensicsError("a query is named by three digits and words", where=stem)
    lines = data.decode().splitlines()
    header: dict[str, str] = {}
    key = ""
    body = 0
    for body, line in enumerate(lines):
        if not line.startswith("--"):
            break
        if match := _LINE.fullmatch(line):
            key = match["key"]
            header[key] = match["text"].strip()
        elif key and line.startswith("--   "):
            header[key] += " " + line[5:].strip()
        else:
            raise KvForensicsError(f"line {body + 1} is no header line", where=stem)
    if tuple(header) != _HEADER:
        raise KvForensicsError(f"the header should have {', '.join(_HEADER)}, in that order", where=stem)
    sql = "\n".join(lines[body:]).strip().removesuffix(";")
    bare = re.sub(r"--[^\n]*", "", sql)
    used = sorted(set(_PARAMETER.findall(bare)))
    named = [] if header["parameters"] == "none" else re.split(r"\s*,\s*", header["parameters"])
    if sorted(named) != used:
        raise KvForensicsError(f"the header names the parameters {sorted(named)}, the text has {used}", where=stem)
    return Query(
        stem=stem,
        title=header["title"],
        question=header["question"],
        parameters=tuple(named),
        limits=header["limits"],
        sql=sql,
        digest=hashlib.sha256(data).hexdigest(),
        data=data,
    )


def _folder() -> Traversable:
    installed = files("kvforensics").joinpath("queries")
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parents[2] / "queries"


@cache
def all_queries() -> tuple[Query, ...]:
    """Every query, in the order to read them. Raises where there is none."""
    found = sorted((f for f in _folder().iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    if not found:
        raise KvForensicsError("the folder of queries is missing", advice="install the package again")
    return tuple(parse_query(f.name.removesuffix(".sql"), f.read_bytes()) for f in found)


@cache
def query(stem: str) -> Query:
    """The query with this stem. Raises where there is none."""
    for candidate in all_queries():
        if candidate.stem == stem:
            return candidate
    raise KvForensicsError("no such query", where=stem)


def digests() -> tuple[tuple[str, str], ...]:
    """Stem and SHA-256 of every query, for the case."""
    return tuple((q.stem, q.digest) for q in all_queries())
