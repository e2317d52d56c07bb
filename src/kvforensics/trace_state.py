"""For how many spans does a kept span stand, by its own trace state?

OpenTelemetry samplers that keep a share of all traces write the threshold of their choice into `tracestate`: `ot=th:c` is
1 - 0xc/16, a quarter. Source: OpenTelemetry specification, "TraceState: Probability Sampling".
"""

from __future__ import annotations

import re

_THRESHOLD = re.compile(r"(?:^|,)\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?=[;,\s]|$)")
_ALL = 1 << 56


def adjusted_count(text: str) -> str | None:
    """How many spans one stands for, None where the trace state does not tell."""
    found = _THRESHOLD.search(text)
    return None if found is None else repr(_ALL / (_ALL - int(found[1].ljust(14, "0"), 16)))
