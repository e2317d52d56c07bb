"""How is an instant written?

Always RFC 3339 in UTC. Instants are microseconds since 1970.
"""

from __future__ import annotations

import datetime as dt

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def rfc3339(us: int, *, precise: bool = False) -> str:
    """The instant, with microseconds where `precise` is set or where they are not zero."""
    moment = _EPOCH + dt.timedelta(microseconds=us)
    precision = "microseconds" if precise or us % 1_000_000 else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"
