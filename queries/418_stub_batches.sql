-- title: Prefill batches of one page (S8)
-- question: Which prefill batches look like the stub of a rejected prompt, when such a prompt was on its way?
-- parameters: page_size, first_rejected
-- limits: Weak, and never counted: batches merge several requests, health checks look the same, and some releases print no
--   such line. One row a long request whose arrival and first token are told: the first batch of one request and no more
--   than one page between them. Local stamps are compared up to whole quarters of an hour, as their offset is not told.
WITH batches AS (
    SELECT source, line, node, utc_us, local_us
    FROM engine_records
    WHERE kind = 'prefill_batch' AND prompt_tokens <= greatest(coalesce($page_size, 1), 1)
),
long_ones AS (
    SELECT room, decode_rid, prefill_node, decode_tokens, received_us - 1000000 AS since, first_token_us + 1000000 AS until
    FROM rooms
    WHERE decode_tokens > 1 AND first_token_us >= received_us
        AND (prefill_tokens = 1 OR (prefill_tokens IS NULL AND decode_tokens >= $first_rejected))
)
SELECT
    'S8' AS signature,
    min(l.decode_rid) AS rid,
    l.room,
    arg_min(b.node, (b.source, b.line)) AS node,
    min(l.decode_tokens) AS tokens_low,
    min(l.decode_tokens) AS tokens_high,
    'weak: one request, one page, while it was prefilled' AS reading,
    min(b.source) AS source,
    arg_min(b.line, (b.source, b.line)) AS line
FROM long_ones AS l
JOIN batches AS b
    ON (l.prefill_node IS NULL OR b.node = l.prefill_node)
    AND CASE
        WHEN b.utc_us IS NOT NULL THEN b.utc_us BETWEEN l.since AND l.until
        WHEN b.local_us IS NULL THEN FALSE
        ELSE (b.local_us - l.since + 172800000000) % 900000000 <= l.until - l.since
    END
GROUP BY l.room
ORDER BY l.room
