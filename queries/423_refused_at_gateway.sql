-- title: Refusals that the gateway saw (S13)
-- question: Which requests did prefill refuse, and what did the client get?
-- parameters: none
-- limits: Their absence proves nothing, as the bug gives 200 on both legs. A refusal that reaches the client shows a repaired
--   pair. The gateway's request id is not the engine's.
WITH refusals AS (
    SELECT rid, min(source) AS source, arg_min(line, (source, line)) AS line
    FROM engine_records
    WHERE kind = 'gateway_refusal' AND status BETWEEN 400 AND 499
    GROUP BY rid
),
ends AS (
    SELECT rid, max(status) AS highest, min(status) AS lowest FROM engine_records WHERE kind = 'gateway_end' GROUP BY rid
)
SELECT
    'S13' AS signature,
    r.rid,
    NULL::BIGINT AS room,
    'gateway' AS node,
    NULL::BIGINT AS tokens_low,
    NULL::BIGINT AS tokens_high,
    CASE
        WHEN e.lowest >= 400 THEN 'refused'
        WHEN e.lowest IS NULL THEN 'refused by prefill, what the client got is not told'
        ELSE 'needs review: refused by prefill, HTTP ' || e.lowest::VARCHAR || ' for the client'
    END AS reading,
    r.source,
    r.line
FROM refusals AS r
LEFT JOIN ends AS e ON e.rid = r.rid
ORDER BY r.source, r.line
