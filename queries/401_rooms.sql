-- title: Requests by room, prefill and decode together
-- question: What do both sides of each handed-over request say, joined by its bootstrap room?
-- parameters: none
-- limits: A room is a 63-bit whole number drawn by the router; a retry draws another one. Health checks (room 0 or
--   rid HEALTH_CHECK..) are left out. NULL is "that side is not in the evidence".
WITH spoken AS (
    SELECT
        *,
        CASE
            WHEN role IN ('prefill', 'decode') THEN role
            WHEN finish = 'length' AND finish_length = 0 THEN 'prefill'
            WHEN finish = 'abort' AND coalesce(output_tokens, 0) = 0 THEN NULL
            WHEN output_tokens > 1 OR finish IN ('stop', 'length') THEN 'decode'
        END AS side
    FROM engine_records
    WHERE kind IN ('stats', 'finish', 'export') AND room > 0 AND coalesce(rid, '') NOT LIKE 'HEALTH_CHECK%'
)
SELECT
    room,
    min(rid) FILTER (WHERE side = 'prefill') AS prefill_rid,
    min(rid) FILTER (WHERE side = 'decode') AS decode_rid,
    min(node) FILTER (WHERE side = 'prefill') AS prefill_node,
    min(node) FILTER (WHERE side = 'decode') AS decode_node,
    max(dp) FILTER (WHERE side = 'prefill') AS prefill_dp,
    max(dp) FILTER (WHERE side = 'decode') AS decode_dp,
    max(prompt_tokens) FILTER (WHERE side = 'prefill') AS prefill_tokens,
    max(prompt_tokens) FILTER (WHERE side = 'decode') AS decode_tokens,
    max(cached_tokens) FILTER (WHERE side = 'decode') AS cached_tokens,
    max(output_tokens) FILTER (WHERE side = 'decode') AS output_tokens,
    min(finish) FILTER (WHERE side = 'decode') AS decode_finish,
    bool_or(finish = 'length' AND finish_length = 0) FILTER (WHERE side = 'prefill') AS prefill_ended_in_nothing,
    max(transfer_bytes) FILTER (WHERE side = 'prefill') AS transfer_bytes,
    bool_or(kind = 'stats') FILTER (WHERE side = 'prefill') AS prefill_statistics,
    bool_or(kind <> 'stats') FILTER (WHERE side = 'prefill') AS prefill_logged,
    bool_or(finish = 'abort') AS aborted,
    max(tenant) AS tenant,
    min(coalesce(received_us, entry_us)) FILTER (WHERE side = 'decode') AS received_us,
    min(coalesce(answered_us, entry_us + bootstrap_us + coalesce(wait_us, 0) + transfer_us + coalesce(queue_us, 0)))
        FILTER (WHERE side = 'decode') AS first_token_us
FROM spoken
GROUP BY room
ORDER BY room
