"""Which wrappers are there, and in which order are they tried?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper
from kvforensics.wrappers import (
    cloudwatch,
    cloudwatch_insights,
    console,
    cri,
    datadog,
    docker_compose,
    docker_json,
    elastic,
    journald,
    json_message,
    json_payload,
    loki,
    otlp_logs,
    ray,
    splunk,
    syslog,
    workers_observability,
    workers_trace,
    wrangler_tail,
)

_RANKED = (
    cri,
    docker_compose,
    ray,
    syslog,
    console,
    workers_trace,
    wrangler_tail,
    workers_observability,
    docker_json,
    journald,
    splunk,
    elastic,
    datadog,
    loki,
    otlp_logs,
    cloudwatch,
    cloudwatch_insights,
    json_message,
    json_payload,
)


def all_wrappers() -> tuple[Wrapper, ...]:
    """Every wrapper, in the order in which they are tried."""
    return tuple(module.WRAPPER for module in _RANKED)
