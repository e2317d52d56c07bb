"""Docker json-file: where is the line that a container wrote?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="docker-json",
    title="Docker json-file container logs",
    signature=(("log", "stream", "time", "!kubernetes", "!logtag", "!_p"),),
    units=("[]", ""),
    message=("log",),
    fields={"stamp": ("time",), "node": ("attrs.tag",)},
    ends="\n",
    stream=("stream",),
    blind_spots=(
        BlindSpot(
            "rotation", "Docker keeps `max-file` files of `max-size` a container; lines from before are gone."
        ),
    ),
    export=("Copy /var/lib/docker/containers/*/*-json.log* as they are, rotated ones too.",),
    links=("https://docs.docker.com/engine/logging/drivers/json-file/",),
    accepts=(
        (
            '{"log":"{\\"model\\":\\"m\\"}\\n","stream":"stdout","time":"2026-09-02T08:41:22.027000000Z"}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"log":"x","date":1}', '{"log":"x\\n","stream":"stdout","time":"2026-09-02T08:41:22Z","kubernetes":{}}'),
)
