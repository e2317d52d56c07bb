"""CloudWatch Logs Insights: where is the line, or the record, in a row of named values?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="cloudwatch-insights",
    title="Amazon CloudWatch Logs Insights, results of a query",
    signature=(("@ptr",), ("@message",)),
    pairs=("field", "value"),
    units=("results[]",),
    message=("@message",),
    body=("",),
    fields={"stamp": ("timestamp", "@timestamp"), "node": ("@logStream", "@log")},
    blind_spots=(
        BlindSpot(
            "event_limit", "An event holds 256 KB, of late 1 MB; agents cut or split what is longer.", hides_long=True,
        ),
        BlindSpot("query_limit", "A query gives `limit` rows at most, a page 10,000; compare with `statistics`."),
        BlindSpot("partial", "While `status` is not Complete the rows are only a part of the answer."),
    ),
    export=(
        "Query with `fields toMillis(@timestamp) as timestamp, @message, @logStream | limit 10000`, a time range at a time.",
        "aws logs get-query-results --query-id ... > FILE (once its `status` is Complete)",
    ),
    links=(
        "https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetQueryResults.html",
        "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html",
    ),
    accepts=(
        (
            '[{"field":"@timestamp","value":"2026-09-02 08:41:22.027"},{"field":"@message","value":"{\\"model\\":\\"m\\"}"},'
            '{"field":"@ptr","value":"Cl0K"}]',
            '{"model":"m"}',
        ),
    ),
    refuses=('[{"field":"a","value":"b"}]', '[{"model":"m"}]', '{"@timestamp":"2026-09-02 08:41:22.027"}'),
)  # fmt: skip
