"""AWS Bedrock: what does its model invocation log tell?

Another provider, so none of its calls is in question; it is read so that a folder that holds it is understood.
`inputTokenCount` leaves out cached tokens.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="bedrock",
    title="AWS Bedrock, model invocation log (S3 and CloudWatch)",
    containers=("lines", "json"),
    units=("[]", ""),
    signature=(
        ("schemaType", "modelId", "requestId", "operation"), ("schemaType", "timestamp", "modelId", "accountId"),
        ("schemaType", "timestamp", "modelId", "input"),
    ),
    fields={
        "record_id": ("requestId",),
        "stamp": ("timestamp",),
        "duration": ("output.outputBodyJson.metrics.latencyMs",),
        "model": ("modelId",),
        "prompt": ("input.inputTokenCount",),
        "cache_read": ("input.cacheReadInputTokenCount",),
        "cache_write": ("input.cacheWriteInputTokenCount",),
        "completion": ("output.outputTokenCount",),
        "error": ("errorCode",),
        "output": ("output.outputBodyJson", "output.outputBodyS3Path"),
        "tenant": ("accountId",),
        "user": ("identity.arn",),
    },
    ids={"request_id": ("requestId",)},
    zone="UTC",
    cache_rule="exclusive",
    provider_serves=True,
    constants={"provider": "aws-bedrock"},
    tenant_says="the AWS account",
    blind_spots=(
        BlindSpot("bodies_elsewhere", "Bodies of more than 100 KB are kept beside the log only."),
        BlindSpot("converse_only", "Invocation logging is off until somebody turns it on, for each region."),
    ),
    export=("Copy AWSLogs/{account}/BedrockModelInvocationLogs/{region} of the window from the log bucket.",),
    links=("https://docs.aws.amazon.com/bedrock/latest/userguide/model-invocation-logging.html",),
    accepts=(
        '{"schemaType":"ModelInvocationLog","schemaVersion":"1.0","timestamp":"2026-09-02T08:41:12Z","requestId":"r",'
        '"accountId":"123456789012","operation":"ConverseStream","modelId":"zai.glm-5.3",'
        '"input":{"inputTokenCount":46754,"cacheReadInputTokenCount":655360},"output":{"outputTokenCount":1207}}',
    ),
    refuses=('{"timestamp":"2026-09-02T08:41:12Z","modelId":"@cf/zai-org/glm-5.3","requestId":"r","inputTokens":1}',),
)  # fmt: skip
