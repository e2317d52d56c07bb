"""Anthropic message batches: what does a line of a batch's results tell?

Each line holds one message, or why there is none. It has no time: the requests of a batch were answered within a day of
its creation, which the batch tells and its results do not.
"""

from __future__ import annotations

from kvforensics.spec import BlindSpot, Format

FORMAT = Format(
    name="anthropic-batch",
    title="Anthropic message batch results",
    containers=("lines", "json"),
    signature=(("custom_id", "result.type"),),
    fields={
        "record_id": ("custom_id",),
        "model": ("result.message.model",),
        "prompt": ("result.message.usage.input_tokens",),
        "cache_read": ("result.message.usage.cache_read_input_tokens",),
        "cache_write": (
            "result.message.usage.cache_creation_input_tokens",
            "result.message.usage.cache_creation|+ephemeral_*",
        ),
        "completion": ("result.message.usage.output_tokens",),
        "state": ("result.type",),
        "error": ("result.error",),
        "output": ("result.message.content",),
        "finish_reason": ("result.message.stop_reason",),
    },
    ids={"response_id": ("result.message.id",)},
    cache_rule="exclusive",
    ok_states=("succeeded",),
    # A request that was cancelled or expired was never sent to a model.
    failed_states=("errored", "expired", "canceled"),
    aborted_states=(),
    tenant_says="nothing in this log names a tenant; the caller's `custom_id` may, in its own way",
    blind_spots=(
        BlindSpot("no_host", "Lines do not tell which provider served the batch."),
        BlindSpot("no_time", "Lines have no time; the batch has (`created_at`, `ended_at`)."),
        BlindSpot("no_model", "A request that was not answered is told without its model."),
    ),
    export=("Fetch the results of each batch: GET /v1/messages/batches/{message_batch_id}/results, kept for 29 days.",),
    links=(
        "https://docs.anthropic.com/en/api/retrieving-message-batch-results",
        "https://docs.anthropic.com/en/docs/build-with-claude/batch-processing",
    ),
    accepts=(
        '{"custom_id":"a-1","result":{"type":"succeeded","message":{"id":"msg_1","type":"message","role":"assistant",'
        '"model":"@cf/zai-org/glm-5.3","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn",'
        '"usage":{"input_tokens":46754,"cache_read_input_tokens":655360,"output_tokens":1207}}}}',
        '{"custom_id":"a-2","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error"}}}}',
    ),
    refuses=(
        '{"id":"batch_req_2","custom_id":"a-2","response":null,"error":{"code":"batch_expired"}}',
        '{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}',
    ),
)  # fmt: skip
