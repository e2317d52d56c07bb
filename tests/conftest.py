"""How do the property tests run? The same examples on every machine, however slow it is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from effort import cases

settings.register_profile(
    "steady", deadline=None, derandomize=True, max_examples=cases(50), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
