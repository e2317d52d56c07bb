"""Which files are missing, by the names of those that are there?

Pure. Names of files carry numbers (pages, rotation, nodes), dates and, in Logpush, the start and end of what they hold. Where
names differ in one such field alone, a hole in it is a missing file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kvforensics.spans import Span

MOST = 10_000
"""A longer run of missing numbers is no hole but another numbering."""
_STEM = r"(?<![0-9A-Za-z])"
_END = r"(?![0-9A-Za-z])"
_LOGPUSH = re.compile(rf"{_STEM}(\d{{8}}T\d{{6}}Z)_(\d{{8}}T\d{{6}}Z)(?:_[0-9A-Za-z]+)?")
_FIELD = re.compile(
    rf"{_STEM}(?:(?P<day>20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01]))|(?P<month>20\d\d-(?:0[1-9]|1[0-2]))"
    rf"|(?P<number>\d{{1,9}})){_END}"
)  # fmt: skip
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Hole(Struct, frozen=True):
    """Names that should be there: `pattern` with `*` for the field that counts, and its missing values."""

    pattern: str
    missing: tuple[str, ...]


class _Name(Struct, frozen=True):
    whole: str
    fields: tuple[tuple[str, str], ...]
    spans: tuple[Span, ...]


def stream_of(source: str) -> str:
    """The name that the parts of one log have in common: dates, pages and rotation left out, node names kept.

    `nodes/ams-01_2026-08.jsonl.gz` and `nodes/ams-01_2026-09.jsonl` are both `nodes/ams-01`.
    """
    path = _LOGPUSH.sub("", source)
    folder, _, last = path.rpartition("/")
    folder = "/".join(p for p in folder.split("/") if not re.fullmatch(r"20\d\d-?\d\d(?:-?\d\d)?|\d{1,2}", p))
    base, *endings = last.split(".")
    numbered = re.sub(r"[-_. ]?20\d\d-?\d\d(?:-?\d\d)?.*$", "", base)
    numbered = numbered or ("" if folder else base)
    kept = ".".join([numbered, *(e for e in endings[:-1] if not re.fullmatch(r"\d+|gz|zst|log|jsonl?|ndjson|csv", e))])
    return "/".join(p for p in (folder, kept) if p)


def holes(sources: Sequence[str]) -> tuple[Hole, ...]:
    """Every hole in the numbers and dates of names, sorted."""
    families: dict[tuple[str, int], dict[str, tuple[str, set[int]]]] = {}
    for source in sorted(set(sources)):
        if _LOGPUSH.search(source):
            continue
        name = _parts(_without_ending(source))
        for i, (start, end) in enumerate(name.spans):
            kind, text = name.fields[i]
            pattern = f"{name.whole[:start]}*{name.whole[end:]}"
            value = _ordinal(kind, text)
            if value is not None:
                families.setdefault((kind, i), {}).setdefault(pattern, (text, set()))[1].add(value)
    found = []
    for (kind, _), patterns in families.items():
        for pattern, (example, values) in patterns.items():
            missing = _missing(kind, values, pattern)
            if missing:
                found.append(Hole(pattern, tuple(_written(kind, m, example) for m in missing)))
    return tuple(sorted(found, key=lambda h: h.pattern))


def _without_ending(source: str) -> str:
    """The name without the ending of a compression: older files of a rotation are compressed, the newest is not."""
    return re.sub(r"\.(?:gz|zst|bz2|xz)$", "", source)


def _parts(source: str) -> _Name:
    found = [m for m in _FIELD.finditer(source) if m.lastgroup]
    fields = tuple((m.lastgroup or "", m.group()) for m in found)
    return _Name(source, fields, tuple(m.span() for m in found))


def _ordinal(kind: str, text: str) -> int | None:
    try:
        if kind == "day":
            bare = text.replace("-", "")
            return dt.date(int(bare[:4]), int(bare[4:6]), int(bare[6:])).toordinal()
        if kind == "month":
            return int(text[:4]) * 12 + int(text[5:]) - 1
        return int(text)
    except ValueError:
        return None


def _missing(kind: str, values: set[int], pattern: str) -> list[int]:
    low, high = min(values), max(values)
    # A rotated log starts at 1 (or 0), so a family of `app.log.N` without it lacks its newest file.
    if kind == "number" and pattern.endswith(".log.*") and low > 1:
        low = 1
    if len(values) < 2 or high - low + 1 > MOST or (high - low + 1) > 8 * len(values):
        return []
    return [v for v in range(low, high + 1) if v not in values]


def _written(kind: str, value: int, example: str) -> str:
    if kind == "day":
        day = dt.date.fromordinal(value)
        return day.isoformat() if "-" in example else day.strftime("%Y%m%d")
    if kind == "month":
        return f"{value // 12:04}-{value % 12 + 1:02}"
    return str(value).zfill(len(example)) if example.startswith("0") else str(value)


def logpush_spans(sources: Iterable[str]) -> tuple[Span, ...]:
    """The times that names of Logpush files say they hold (`<start>_<end>_<hash>`), in microseconds, sorted."""
    spans = []
    for source in sources:
        found = _LOGPUSH.search(source.rpartition("/")[2])
        if found:
            start, end = (_instant(found[i]) for i in (1, 2))
            if start is not None and end is not None and end >= start:
                spans.append((start, end))
    return tuple(sorted(spans))


def _instant(text: str) -> int | None:
    try:
        moment = dt.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
