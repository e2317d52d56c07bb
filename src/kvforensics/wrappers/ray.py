"""Ray: where is the line behind the name of the actor?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="ray",
    title="Output of Ray actors (actor, process and address, line)",
    pattern=r"\((?P<actor>[A-Za-z_][\w.:]*) pid=\d+, ip=(?P<ip>[0-9A-Fa-f.:]+)\) ",
    message=("message",),
    fields={"node": ("ip",)},
    links=("https://docs.ray.io/en/latest/ray-observability/user-guides/configure-logging.html",),
    accepts=(("(SGLangEngine pid=616, ip=192.0.2.20) text", "text"),),
    refuses=("(APIServer pid=1) INFO 09-03 19:05:44 [logger.py:40] text",),
)
