-- title: Plain successes at the gateway (S12)
-- question: Which requests that prefill saw as a stub, or that were over the limit, are plain successes at the gateway?
-- parameters: first_rejected
-- limits: Not distinguishable by itself: clients and gateways see a plain success with the whole prompt counted. The row
--   only names the gateway's record of a request that other signatures point to.
SELECT
    'S12' AS signature,
    r.decode_rid AS rid,
    r.room,
    g.gateway_id AS node,
    r.decode_tokens AS tokens_low,
    r.decode_tokens AS tokens_high,
    'weak: HTTP ' || g.status::VARCHAR || ' at the gateway, which says nothing by itself' AS reading,
    g.source,
    g.line
FROM gateway_requests AS g
JOIN rooms AS r ON r.room = g.room
WHERE g.status BETWEEN 200 AND 299 AND r.decode_tokens > 1
    AND (r.prefill_tokens = 1 OR (r.prefill_tokens IS NULL AND r.decode_tokens >= $first_rejected))
ORDER BY g.source, g.line
