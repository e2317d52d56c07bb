"""Console output of applications: where is the JSON record behind the time that a logger puts before it?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

# Only a time that begins the line, behind a level, a name in brackets, a process or `time=`, is the logger's own.
_BEFORE = (
    r"(?:\[[^\]\[{\n]{1,64}\]|\d{1,7}\|[\w.-]{1,64}|\d{1,7}|(?i:time|ts|timestamp|level|lvl|severity)=|"
    r"(?i:trace|debug|verbose|info|information|notice|warn|warning|error|err|critical|crit|fatal|severe|log|[cdefistvw])\b)"
)
_TIME = (
    r"(?P<time>(?:\d{4}-\d\d-\d\d|\d{4}/\d\d/\d\d)[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?(?![\d:])|"
    r"\d{1,2}/\d{1,2}/\d{4},? \d{1,2}:\d\d(?::\d\d)?(?: [AaPp][Mm])?(?![\d:]))"
)
# Up to the brace of an object that ends the line; what has none is text, and for others to read.
_RECORD = r"[^{\n]{0,256}+(?=\{[ \t]*\"[^\n]*\}[ \t\r]*(?:\n|\Z))"
WRAPPER = Wrapper(
    name="console",
    title="Console output of applications (time, level or logger, JSON record)",
    pattern=rf"(?:{_BEFORE}[ \t:,|-]{{0,8}}){{0,4}}[\[(\"]?{_TIME}{_RECORD}",
    holds="{",
    message=("message",),
    fields={"stamp": ("time",)},
    blind_spots=(
        BlindSpot("line_limit", "Services and collectors cut or split long lines; ask whether output was kept in full."),
    ),
    export=("Copy the output as it was kept, one file a service and day, and state the zone of times without an offset.",),
    links=(
        "https://docs.python.org/3/library/logging.html#formatter-objects",
        "https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html",
    ),
    accepts=(
        ('2026-09-01 10:00:00,123 - app - INFO - answered {"model":"m"}', '{"model":"m"}'),
        ('2026-09-01T10:00:00.123Z\t8f503a2b-1111-4c1e-9d11-0242ac120002\tINFO\t{"model":"m"}', '{"model":"m"}'),
        ('2026-09-01T10:00:00Z INFO app: {"model":"m"}', '{"model":"m"}'),
        ('[INFO]\t2026-09-01T10:00:00.123Z\t8f503a2b\t{"model":"m"}', '{"model":"m"}'),
        ('2026/09/01 10:00:00 { "model":"m"}', '{"model":"m"}'),
        ('[Nest] 26  - 09/01/2026, 10:00:00 AM     LOG [Calls] {"model":"m"}', '{"model":"m"}'),
        ('time=2026-09-01T10:00:00.123+02:00 level=INFO msg={"model":"m"}', '{"model":"m"}'),
    ),
    refuses=(
        'INFO:     {"model":"m"}', 'retry after 2026-09-01 10:00:00 {"model":"m"}', "2026-09-01 10:00:00 INFO started",
        '2026-09-01 10:00:00 INFO settings {"a":1} loaded', "2026-09-01 10:00:00 INFO {'a': 1}",
    ),
)  # fmt: skip
