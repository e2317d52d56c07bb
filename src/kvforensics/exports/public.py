"""What of a case may be published, or told to a group of recipients?

Counts only: no request, no id, no text of a log, times to the UTC day. Small counts are hidden so that no subtraction gives
them back. With a key, a table by tenant under pseudonyms of one group of recipients is added.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from kvforensics import __version__
from kvforensics.case_reader import StoredCase
from kvforensics.errors import EvidenceError
from kvforensics.escape import terminal
from kvforensics.finding_rows import finding_rows
from kvforensics.instant import rfc3339
from kvforensics.pseudonym import Pseudonyms
from kvforensics.suppression import LIMIT, Line, published, suppress
from kvforensics.whole import whole_folder

SCHEMA = "kvforensics.public/1"
FLAGGED = ("affected", "possible", "replay")
MARKINGS = ("TLP:CLEAR", "TLP:GREEN", "TLP:AMBER", "TLP:AMBER+STRICT", "TLP:RED")
_DAY_US = 86_400_000_000
_UNKNOWN_DAY = "not known to the day"
_HIDDEN = ""
"""A hidden count in the tables; the summary says null."""


class PublicOptions(Struct, frozen=True):
    """`limit` is the least count that is told (zero always is). `names` are the pseudonyms of one group, with its `group`."""

    limit: int = LIMIT
    names: Pseudonyms | None = None
    group: str | None = None
    marking: str = MARKINGS[0]


def write_public(case: StoredCase, target: Path, options: PublicOptions) -> int:
    """Write the folder: `summary.json`, `by_day.csv`, and for a group `by_tenant.csv`. The number of tables."""
    incident = case.incident()
    if incident is None:
        raise EvidenceError("does not hold the incident file that it was judged by", where="case.json")
    days: dict[str, Counter[str]] = {
        rfc3339(us)[:10]: Counter()
        for us in range(incident.start_us // _DAY_US * _DAY_US, incident.uncertain_until_us, _DAY_US)
    }
    days[_UNKNOWN_DAY] = Counter()
    tenants: dict[str, Counter[str]] = {}
    nameless = guessed = 0
    totals: Counter[str] = Counter()
    for found in finding_rows(case):
        disposition = found["disposition"]
        guessed += "possible_duplicate_without_id" in found["reasons"]
        if disposition not in FLAGGED:
            continue
        totals[disposition] += 1
        days[_day(found, days)][disposition] += 1
        if found["tenant"] is None:
            nameless += 1
        else:
            tenants.setdefault(found["tenant"], Counter())[disposition] += 1
    numbers = _Numbers(case.summary, totals, guessed, options.limit)
    written = 2
    with whole_folder(target, "the public export") as folder:
        _table(folder / "by_day.csv", "day", days, numbers)
        named = None
        if options.names is not None:
            # The rows count the tenants, so these are listed only where their numbers are told.
            named = None not in numbers.tenants.cells and not nameless
            if named:
                known = {options.names.name(tenant): counts for tenant, counts in tenants.items()}
                _table(folder / "by_tenant.csv", "tenant", dict(sorted(known.items())), numbers)
                written += 1
        document = _summary(case, numbers, options, by_tenant=named)
        text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=True)
        (folder / "summary.json").write_text(text + "\n", encoding="ascii")
    return written


class _Numbers:
    """The totals, with what must be hidden hidden; everything else that is published builds on them."""

    def __init__(self, summary: Mapping[str, Any], totals: Counter[str], guessed: int, limit: int) -> None:
        self.limit = limit
        self.bounded = summary["responses"]["upper"] is not None
        # The upper bound is the sum of these, so they are one line.
        self.responses: Line = suppress([*(totals[d] for d in FLAGGED), guessed], limit)
        told = summary["tenants"]
        # Answers without a tenant widen the upper bound, one each.
        upper = told["upper"]
        rest = 0 if upper is None else upper - told["affected"] - told["possible"]
        self.tenants: Line = suppress([told["affected"], told["possible"], rest], limit)
        self.excluded = published(summary["excluded"]["records"], limit)
        self.duplicates = published(summary["duplicates"] - guessed, limit)

    def total(self, disposition: str) -> int | None:
        """The published number of responses of a disposition."""
        return self.responses.cells[FLAGGED.index(disposition)]


def _day(found: Mapping[str, Any], days: Mapping[str, object]) -> str:
    first, last = found["started_earliest"], found["started_latest"]
    if first is None or last is None or first // _DAY_US != last // _DAY_US:
        return _UNKNOWN_DAY
    day = rfc3339(first)[:10]
    return day if day in days else _UNKNOWN_DAY


def _table(path: Path, key: str, rows: Mapping[str, Counter[str]], numbers: _Numbers) -> None:
    """One column a disposition; each is a line whose sum is the published total. Sums of rows are not published."""
    columns: list[Sequence[int | None]] = []
    for disposition in FLAGGED:
        cells = [counts[disposition] for counts in rows.values()]
        line = suppress(cells, numbers.limit, total_is_known=numbers.total(disposition) is not None)
        columns.append(line.cells)
    with path.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow((key, *FLAGGED))
        for at, name in enumerate(rows):
            table.writerow((name, *(_HIDDEN if column[at] is None else column[at] for column in columns)))


def _summary(case: StoredCase, numbers: _Numbers, options: PublicOptions, *, by_tenant: bool | None) -> dict[str, Any]:
    summary, responses, tenants = case.summary, numbers.responses, numbers.tenants
    coverage = summary["coverage"]
    affected = responses.cells[0]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "kvforensics", "version": __version__},
        "marking": options.marking,
        "incident": summary["incident"],
        "title": terminal(summary["title"]),
        "verdict": summary["verdict"],
        "complete": summary["complete"],
        "responses": {
            **dict(zip(FLAGGED, responses.cells, strict=False)), "lower": affected,
            "upper": responses.total if numbers.bounded else None, "bounded": numbers.bounded,
        },
        "tenants": {
            "affected": tenants.cells[0], "possible": tenants.cells[1],
            "upper": tenants.total if numbers.bounded else None,
        },
        "excluded": numbers.excluded,
        "duplicates": numbers.duplicates,
        "coverage": {
            "first_day": _to_day(coverage["first"]), "last_day": _to_day(coverage["last"]),
            "window_covered": coverage["window_covered"],
        },
        "hidden_below": numbers.limit,
        "notes": list(_NOTES),
    }  # fmt: skip
    if options.names is not None:
        document["recipients"] = {"group": options.group, "key_id": options.names.key_id, "by_tenant": bool(by_tenant)}
    return document


def _to_day(instant: str | None) -> str | None:
    return None if instant is None else instant[:10]


_NOTES = (
    "null, or an empty cell of a table, is a count that is not told: it is small, or would give a small one away",
    "a response is counted once, whatever the number of log records of it",
    "a tenant is what the logs call one; it is not a data subject",
    "days are UTC; a response whose time is not known to the day, or lies outside the window, has a row of its own",
)
