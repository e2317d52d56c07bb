"""How do the property tests run? The same examples on every machine, however slow it is."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from effort import cases

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each core has a worker already.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

settings.register_profile(
    "steady", deadline=None, derandomize=True, max_examples=cases(50), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
