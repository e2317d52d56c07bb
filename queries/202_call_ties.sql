-- title: Ties by ids of a model call
-- question: Which records carry the same id of one model call?
-- parameters: none
-- limits: `k` names a tie, `n` a record in it. A replay keeps the answer's own ids of the call that it repeats, so these
--   do not tie it. A `cf_ray` can span the attempts of a retry, so it ties only where no better id tells them apart.
WITH telling AS (
    SELECT r.value AS ray
    FROM shared_ids AS r
    JOIN parts AS p ON p.n = r.n
    CROSS JOIN unnest(p.ids) AS u(id)
    WHERE r.kind = 'cf_ray' AND u.id.kind IN ('cf_aig_log_id', 'cf_ai_req_id', 'response_id', 'upstream_id')
    GROUP BY r.value, u.id.kind
    HAVING min(u.id.value) < max(u.id.value)
)
SELECT s.scope || '=' || s.value AS k, s.n
FROM shared_ids AS s
JOIN parts AS p ON p.n = s.n
WHERE s.kind IN ('cf_aig_log_id', 'request_id', 'raw_record')
   OR (s.kind IN ('cf_ai_req_id', 'response_id', 'upstream_id') AND p.from_cache IS NOT TRUE)
   OR (s.kind = 'cf_ray' AND s.value NOT IN (SELECT ray FROM telling))
UNION ALL
SELECT 'span=' || t.value || '=' || s.value, s.n
FROM shared_ids AS s
JOIN shared_ids AS t ON t.n = s.n AND t.kind = 'trace_id'
WHERE s.kind = 'span_id'
