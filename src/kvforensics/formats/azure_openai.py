"""Azure OpenAI: what does the diagnostic category `RequestResponse` of Cognitive Services tell?

Served by Azure, never by another provider. `requestTime` is the start in .NET ticks; there are no token counts.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="azure-openai",
    title="Azure OpenAI, request and response log",
    containers=("lines", "json"),
    units=("records[]", "[]", ""),
    signature=(
        ("correlationId", "properties.requestTime"), ("correlationId", "properties.modelDeploymentName"),
        ("correlationId", "properties.requestLength", "resultSignature"),
    ),
    fields={
        "record_id": ("correlationId",),
        "start": ("properties.requestTime|ticks",),
        "stamp": ("time",),
        "duration": ("durationMs",),
        "model": ("properties.modelName", "properties.modelDeploymentName", "operationName"),
        "request_bytes": ("properties.requestLength",),
        "http_status": ("resultSignature",),
        "tenant": ("properties.objectId",),
        "client_ip": ("callerIpAddress", "CallerIPAddress"),
    },
    ids={"request_id": ("correlationId",)},
    zone="UTC",
    constants={"provider": "azure"},
    provider_serves=True,
    tenant_says="the caller's object id in Entra; the last part of its address is masked",
    blind_spots=(
        BlindSpot("bytes_only", "There are no token counts: the size of a request can rule it out, never prove it."),
        BlindSpot("status_text", "The status is a text (`resultSignature`) and sometimes missing."),
    ),
    export=("Copy the blobs of the diagnostic setting (insights-logs-requestresponse), or the Event Hub's messages.",),
    links=("https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/monitor-openai",),
    accepts=(
        '{"Tenant":"westeurope","callerIpAddress":"192.0.2.***","category":"RequestResponse","correlationId":"034d4f33",'
        '"durationMs":9120,"operationName":"ChatCompletions_Create","properties":"{\\"requestTime\\": 639239352729070000,'
        '\\"requestLength\\": 2935567, \\"modelName\\": \\"glm-5.3\\"}","resultSignature":"200",'
        '"time":"2026-09-02T08:41:12.9070000Z"}',
        '{"category":"RequestResponse","correlationId":"e7e77a39","durationMs":-1,"properties":{"modelDeploymentName":"d",'
        '"modelName":"gpt-4.1","requestLength":10},"resultSignature":"400","time":"2026-09-02T08:41:12.9070000Z"}',
    ),
    refuses=(
        '{"correlationId":"b9f6fc94","properties":{"sequenceNumber":0,"promptTokens":1}}',
        '{"correlationId":"b9f6fc94","category":"Audit","resultSignature":"200"}',
    ),
)  # fmt: skip
