"""OpenAI Batch: what does a line of a batch's output file tell?

Each line holds one answer under `response.body`. Its only time is `created` of the answer, near the start of the
generation; the batch itself may have been sent up to a day before.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="openai-batch",
    title="OpenAI batch output",
    containers=("lines", "json"),
    signature=(("custom_id", "response"), ("custom_id", "id", "error")),
    fields={
        "record_id": ("id", "custom_id"),
        "stamp": ("response.body.created", "response.body.created_at"),
        "model": ("response.body.model",),
        "prompt": ("response.body.usage.prompt_tokens", "response.body.usage.input_tokens"),
        "cache_read": (
            "response.body.usage.prompt_tokens_details.cached_tokens",
            "response.body.usage.input_tokens_details.cached_tokens",
        ),
        "completion": ("response.body.usage.completion_tokens", "response.body.usage.output_tokens"),
        "total": ("response.body.usage.total_tokens",),
        "http_status": ("response.status_code",),
        "error": ("error", "response.body.error"),
        "output": ("response.body.choices", "response.body.output"),
        "user": ("response.body.user",),
        "finish_reason": ("response.body.choices[0].finish_reason",),
    },
    ids={"response_id": ("response.body.id",), "x_request_id": ("response.request_id",)},
    cache_rule="inclusive",
    tenant_says="nothing in this log names a tenant; the caller's `custom_id` may, in its own way",
    blind_spots=(
        BlindSpot("no_host", "Lines do not tell which provider served the batch."),
        BlindSpot("error_file", "Refused requests are in the batch's error file, without their model."),
    ),
    export=("Fetch the output file and the error file of each batch: GET /v1/files/{output_file_id}/content.",),
    links=("https://platform.openai.com/docs/api-reference/batch",),
    accepts=(
        '{"id":"batch_req_1","custom_id":"a-1","response":{"status_code":200,"request_id":"r1",'
        '"body":{"id":"chatcmpl-1",'
        '"object":"chat.completion","created":1788338472,"model":"@cf/zai-org/glm-5.3","choices":[{"index":0}],'
        '"usage":{"prompt_tokens":702114,"completion_tokens":1207,"total_tokens":703321}}},"error":null}',
        '{"id":"batch_req_2","custom_id":"a-2","response":null,"error":{"code":"batch_expired","message":"expired"}}',
    ),
    refuses=(
        '{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[]}',
        '{"request":{"model":"m"},"response":null}',
    ),
)  # fmt: skip
