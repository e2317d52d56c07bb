"""Amazon CloudWatch Logs: where is the message of an event?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="cloudwatch",
    title="Amazon CloudWatch Logs events",
    signature=(("message", "timestamp", "ingestionTime"), ("message", "timestamp", "eventId"), ("message", "timestamp", "id")),
    units=("events[]", "logEvents[]", "[]", ""),
    message=("message",),
    fields={"stamp": ("timestamp",), "node": ("logStreamName",)},
    blind_spots=(
        BlindSpot(
            "event_limit", "An event holds 256 KB, of late 1 MB; agents cut or split what is longer.", hides_long=True,
        ),
    ),
    export=("aws logs filter-log-events --log-group-name ... --start-time ... --end-time ... > FILE (all pages)",),
    links=("https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html",),
    accepts=(
        (
            '{"timestamp":1788338482027,"message":"{\\"model\\":\\"m\\"}","ingestionTime":1788338482927,"eventId":"1"}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"timestamp":1788338482027,"message":"x"}',),
)
