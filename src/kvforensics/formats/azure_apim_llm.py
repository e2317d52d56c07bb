"""Azure API Management: what do the rows of `ApiManagementGatewayLlmLog` tell?

A request has several rows; the one with sequence number 0 has the counts, later ones only pieces of the messages. Whether
`time` is the start or the end of the call is not documented. The status is in the gateway's own log.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="azure-apim-llm",
    title="Azure API Management, LLM log (ApiManagementGatewayLlmLog)",
    containers=("lines", "json", "csv"),
    units=("records[]", "[]", ""),
    signature=(
        ("properties.sequenceNumber", "correlationId"), ("properties.promptTokens", "correlationId"),
        ("SequenceNumber", "PromptTokens", "CorrelationId"),
    ),
    fields={
        "record_id": ("correlationId", "CorrelationId"),
        "stamp": ("time", "TimeGenerated", "TimeGenerated [UTC]"),
        "model": ("properties.modelName", "ModelName", "properties.deploymentName", "DeploymentName"),
        "prompt": ("properties.promptTokens", "PromptTokens"),
        "completion": ("properties.completionTokens", "CompletionTokens"),
        "total": ("properties.totalTokens", "TotalTokens"),
        "node": ("properties.backendId", "BackendId"),
    },
    ids={
        "request_id": ("correlationId", "CorrelationId"), "x_request_id": ("properties.requestId", "RequestId"),
    },
    zone="UTC",
    cache_rule="inclusive",
    framing=(("properties.sequenceNumber", "!0"), ("SequenceNumber", "!0")),
    tenant_says="nothing in this log names a tenant; subscription and product are in the gateway's log",
    blind_spots=(
        BlindSpot("no_status", "Status and caller are in GatewayLogs, joined by the correlation id."),
        BlindSpot("stream_gaps", "Streamed calls may have no counts."),
        BlindSpot("size_limit", "Messages are cut at 256 KB; the counts are not, but a stored log may be.", hides_long=True),
        BlindSpot("no_host", "The log names a backend by its own id, not by its host."),
    ),
    export=(
        "Copy the blobs of the diagnostic setting (insights-logs-gatewayllmlogs), or export the table "
        "ApiManagementGatewayLlmLog.",
        "Export GatewayLogs of the same days too: they have the status.",
    ),
    links=("https://learn.microsoft.com/en-us/azure/azure-monitor/reference/tables/apimanagementgatewayllmlog",),
    accepts=(
        '{"time":"2026-09-02T08:41:22.0270000Z","category":"GatewayLlmLogs","correlationId":"b9f6fc94","properties":{'
        '"sequenceNumber":0,"deploymentName":"@cf/zai-org/glm-5.3","modelName":"@cf/zai-org/glm-5.3",'
        '"promptTokens":702114,"completionTokens":1207,"totalTokens":703321,"backendId":"cloudflare-ai"}}',
        '{"TimeGenerated":"2026-09-02T08:41:22.027Z","CorrelationId":"b9f6fc94","SequenceNumber":0,'
        '"DeploymentName":"glm","ModelName":"","PromptTokens":702114,"CompletionTokens":0,"TotalTokens":702114}',
    ),
    refuses=(
        '{"time":"2026-09-02T08:41:22Z","category":"GatewayLogs","correlationId":"b9f6fc94","properties":{"method":"POST"}}',
        '{"correlationId":"b9f6fc94","operationName":"ChatCompletions_Create","properties":{"requestTime":1}}',
    ),
)  # fmt: skip
