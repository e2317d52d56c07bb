-- title: Rejections printed by prefill (S1)
-- question: Which prompts did a scheduler reject for their length?
-- parameters: none
-- limits: On a vulnerable prefill node every one below decode's own limit is an affected request: high precision. Only
--   rank TP0 prints it, so with attention DP most are missing: a lower bound, and no multiple of it is an estimate.
--   Repaired versions print it too; those whose request ended in an abort are marked `refused`.
WITH lines AS (
    SELECT
        source, line, node, rid, prompt_tokens, "limit",
        coalesce(rid, concat_ws('/', node, prompt_tokens, local_us // 1000000)) AS event
    FROM engine_records
    WHERE kind = 'rejected'
),
refused AS (
    SELECT DISTINCT rid FROM engine_records WHERE finish = 'abort' AND rid IS NOT NULL
)
SELECT
    'S1' AS signature,
    min(l.rid) AS rid,
    NULL::BIGINT AS room,
    min(l.node) AS node,
    max(l.prompt_tokens) AS tokens_low,
    max(l.prompt_tokens) AS tokens_high,
    CASE WHEN bool_or(r.rid IS NOT NULL) THEN 'refused' ELSE 'affected if the node is vulnerable' END AS reading,
    min(l.source) AS source,
    arg_min(l.line, (l.source, l.line)) AS line
FROM lines AS l
LEFT JOIN refused AS r ON r.rid = l.rid
GROUP BY l.event
ORDER BY source, line
