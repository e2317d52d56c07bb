"""Splunk search export: where is the event as it was indexed?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="splunk",
    title="Splunk search export (JSON, CSV or XML)",
    signature=(("result", "preview"), ("result", "offset"), ("result", "lastrow"), ("_raw", "_time")),
    units=("results[]", "[]", ""),
    message=("result._raw", "_raw"),
    body=("result", ""),
    fields={"stamp": ("result._time", "_time"), "node": ("result.host", "host")},
    framing=(("preview", "true"),),
    blind_spots=(
        BlindSpot("truncate", "Events are cut at the source type's TRUNCATE (10,000 bytes unless set).", hides_long=True),
        BlindSpot("result_limit", "A search returns only so many events; compare the count with the index."),
    ),
    export=("Search the index, then export as JSON (CSV and XML are read too) with all fields, without previews.",),
    links=("https://docs.splunk.com/Documentation/Splunk/latest/Search/ExportdatausingRESTAPI",),
    accepts=(
        (
            '{"preview":false,"offset":0,"result":{"_time":"2026-09-02T10:41:22.027+02:00","_raw":"{\\"model\\":\\"m\\"}"}}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"result":{"model":"m"}}',),
)  # fmt: skip
