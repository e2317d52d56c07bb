"""Kubernetes CRI: where is the line that a container wrote?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="cri",
    title="Kubernetes container logs (CRI: time, stream, P or F, line)",
    pattern=(
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d++)?+(?:Z|[+-]\d\d:\d\d)) (?P<stream>stdout|stderr) "
        r"(?P<part>[PF])(?::[^ ]*+)?+(?: |$)"
    ),
    message=("message",),
    fields={"stamp": ("time",)},
    goes_on=(("part", "P"),),
    stream=("stream",),
    blind_spots=(
        BlindSpot("rotation", "The kubelet keeps a few files of 10 MB a container; lines from before are gone."),
    ),
    export=("Copy the files under /var/log/pods as they are, rotated ones too.",),
    links=("https://kubernetes.io/docs/concepts/cluster-administration/logging/",),
    accepts=(
        ('2026-09-02T08:41:22.027000000Z stdout F {"model":"m"}', '{"model":"m"}'),
        ("2026-09-02T10:41:22.027+02:00 stderr F:tag text", "text"),
    ),
    refuses=("2026-09-02T08:41:22Z stdout {}", "2026-09-02 08:41:22 stdout F {}"),
)
