-- title: Answers that began too soon (S7)
-- question: Which answers began so soon that no prefill can have read the prompt?
-- parameters: none
-- limits: The implied rate is held against the best of requests that prefill did read. Ten times that is practically
--   conclusive and needs no prefill log of the request itself; without any such request nothing is said.
WITH rates AS (
    SELECT
        *,
        (decode_tokens - coalesce(cached_tokens, 0)) / ((first_token_us - received_us) / 1e6) AS rate
    FROM rooms
    WHERE first_token_us > received_us AND decode_tokens > 1000
),
best AS (
    SELECT max(rate) AS rate FROM rates WHERE prefill_tokens = decode_tokens
)
SELECT
    'S7' AS signature,
    r.decode_rid AS rid,
    r.room,
    r.decode_node AS node,
    r.decode_tokens AS tokens_low,
    r.decode_tokens AS tokens_high,
    'affected, ' || round(r.rate / b.rate, 1)::VARCHAR || ' times the best observed rate' AS reading,
    NULL::VARCHAR AS source,
    NULL::BIGINT AS line
FROM rates AS r
CROSS JOIN best AS b
WHERE r.rate > 10 * b.rate
ORDER BY r.room
