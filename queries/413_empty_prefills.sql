-- title: Prefill saw one token, decode many (S3, S4, S10)
-- question: Which handed-over requests did prefill see as a stub and decode as a whole prompt?
-- parameters: none
-- limits: Very high reliability, but needs both sides: request logs (S3) or time statistics (S4) joined by room. A transfer of
--   one page for a prompt of thousands of tokens (S10) supports it. A prompt that is one token long on both sides is none.
SELECT
    CASE WHEN prefill_logged THEN 'S3' ELSE 'S4' END AS signature,
    decode_rid AS rid,
    room,
    coalesce(prefill_node, decode_node) AS node,
    decode_tokens AS tokens_low,
    decode_tokens AS tokens_high,
    CASE
        WHEN aborted THEN 'refused'
        WHEN transfer_bytes IS NOT NULL THEN 'affected, ' || (transfer_bytes // 1024)::VARCHAR || ' KiB sent (S10)'
        ELSE 'affected'
    END AS reading,
    NULL::VARCHAR AS source,
    NULL::BIGINT AS line
FROM rooms
WHERE prefill_tokens = 1 AND decode_tokens > 1
ORDER BY room
