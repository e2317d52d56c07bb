-- title: Answers to prompts that prefill refused (S5, S6)
-- question: Which answered requests were as long as prefill's limit or longer?
-- parameters: first_rejected, certain_from
-- limits: The population test: full recall where decode logs are whole, precision as good as the limit and the belief in a
--   vulnerable version; below `certain_from` only some of the prefill nodes refused. Nothing cached on so long a prompt (S6) supports it; a cold prompt looks the same. Rows whose prefill
--   side shows the whole prompt are none.
SELECT
    CASE WHEN cached_tokens = 0 THEN 'S5+S6' ELSE 'S5' END AS signature,
    decode_rid AS rid,
    room,
    decode_node AS node,
    decode_tokens AS tokens_low,
    decode_tokens AS tokens_high,
    CASE
        WHEN decode_tokens >= $certain_from THEN 'affected if the node is vulnerable'
        ELSE 'affected if the node is vulnerable and had the lowest limit'
    END AS reading,
    NULL::VARCHAR AS source,
    NULL::BIGINT AS line
FROM rooms
WHERE decode_tokens >= $first_rejected
    AND NOT coalesce(aborted, FALSE)
    AND coalesce(prefill_tokens, 1) = 1
ORDER BY room
