"""What did the engine print, under what launchers and terminals put around it?

`peel` takes off containers and collectors; this takes off what stands in the line itself: boxes, launcher and tracing
prefixes, and last the engine's own (`[2026-09-03 14:14:07 DP0 TP0] `, local time without an offset).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

DEEPEST = 6
Ranks = tuple[tuple[str, int], ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BOX = re.compile(r"^[\s│┃║▌|]*[│┃║]\s?|\s*[│┃║][\s│┃║]*$")
_UTC = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
# Each takes off one dress; the groups say what it knows.
_DRESSES = tuple(
    re.compile(text, re.DOTALL)
    for text in (
        r"\[pod/(?P<node>[\w.\-]+)/[\w.\-]+\] (?P<text>.*)",
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3} - [^-]{1,80} - [A-Z]+ - (?P<text>.*)",
        rf"(?P<utc>{_UTC})\s+(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\s+[\w.:]+: (?P<text>.*)",
        rf"(?P<utc>{_UTC})\s+(?P<text>.*)",
        r"(?:<\d+>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<node>[\w.\-]+) [\w./\-]+(?:\[\d+\])?: (?P<text>.*)",
    )
)
_RANK = r"(?:DP|TP|EP|PP|ATTN_CP|ATTN_TP|ATTN_DP|MOE_DP|MOE_EP|MOE_TP|CP)\d{1,4}"
_ENGINE = re.compile(
    rf"^(?:\*\*)?\[\s*(\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{{1,6}})?|\d\d:\d\d:\d\d)?((?:\s*{_RANK})*)\]\s?(.*)$",
    re.DOTALL,
)
_ONE_RANK = re.compile(r"([A-Z_]+)(\d+)")


class Printed(Struct, frozen=True):
    """What the engine printed. `utc_us` is told by a wrapper, `local_us` by the engine (microseconds of a naive local time).

    `node` is a wrapper's name of the container, pod or machine.
    """

    text: str
    node: str | None = None
    utc_us: int | None = None
    local_us: int | None = None
    ranks: Ranks = ()


def undress(printed: Printed) -> Printed:
    """The engine's own words. Its own JSON (request log, metrics export) stays as it is, whatever prefix it had."""
    for _ in range(DEEPEST):
        barer = _without_one(printed)
        if barer is printed:
            break
        printed = barer
    return printed


def _without_one(printed: Printed) -> Printed:
    text = printed.text
    if any(bar in text for bar in "│┃║"):
        bare = _BOX.sub("", text)
        return printed if bare == text else replace(printed, text=bare)
    if text[:1] in "*[":
        bare_engine = _without_engine_prefix(printed)
        if bare_engine is not printed:
            return bare_engine
    if text[:1] == "{":
        return printed
    for dress in _DRESSES:
        if found := dress.fullmatch(text):
            told = found.groupdict()
            instant = utc_instant(told["utc"]) if told.get("utc") else None
            return replace(
                printed,
                text=told["text"],
                node=printed.node or told.get("node"),
                utc_us=instant if instant is not None else printed.utc_us,
            )
    return printed


def _without_engine_prefix(printed: Printed) -> Printed:
    found = _ENGINE.match(printed.text)
    if not found or not (found[1] or found[2]):
        return printed
    ranks = tuple((name, int(number)) for name, number in _ONE_RANK.findall(found[2]))
    local = _local(found[1]) if found[1] and len(found[1]) > 8 else None
    return replace(
        printed, text=found[3], local_us=local if local is not None else printed.local_us, ranks=ranks or printed.ranks
    )


def utc_instant(value: object) -> int | None:
    """Microseconds in UTC of a stamp that tells its offset, or of a number since 1970."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, int | float):
        for scale, least in ((1_000_000, 1e9), (1_000, 1e12), (1, 1e15), (0.001, 1e18)):
            if least <= value < least * 10:
                return int(value * scale)
        return None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(re.sub(r"([.,]\d{6})\d+", r"\1", value))
    except ValueError:
        return None
    return None if moment.tzinfo is None else (moment - _EPOCH) // _MICROSECOND


def _local(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
    return (moment.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
