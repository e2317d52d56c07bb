"""docker compose: where is the line behind the name of the service?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="docker-compose",
    title="Output of docker compose (service, bar, line; times with `--timestamps`)",
    pattern=(
        r"(?P<service>[A-Za-z0-9][A-Za-z0-9_.-]*)\s+\| "
        r"(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) )?"
    ),
    message=("message",),
    fields={"stamp": ("time",), "node": ("service",)},
    stream=("service",),
    export=("docker compose logs --no-color --timestamps > FILE",),
    links=("https://docs.docker.com/reference/cli/docker/compose/logs/",),
    accepts=(
        ('web-1  | {"model":"m"}', '{"model":"m"}'),
        ("\x1b[2K\x1b[36mweb-1  | \x1b[0m2026-09-02T08:41:22.027Z text", "text"),
    ),
    refuses=("a b | c", "| x"),
)
