-- title: Ids of requests that several calls share
-- question: Which ids of a request occur in more than one call, as far as ties are known?
-- parameters: none
-- limits: Ids that only tie what is tied already are left out.
WITH heard AS (
    SELECT s.n, s.source_no, s.kind, s.value, s.scope, coalesce(l.label, s.n) AS call
    FROM shared_ids AS s
    LEFT JOIN labels AS l ON l.n = s.n
    WHERE s.kind IN (
        'x_request_id', 'litellm_call_id', 'cf_aig_otel_trace_id', 'cf_aig_event_id', 'trace_id', 'cf_ray',
        'span_id', 'parent_span_id'
    )
),
split AS (
    SELECT scope, value
    FROM heard
    GROUP BY scope, value
    HAVING min(call) < max(call)
)
SELECT h.n, h.source_no, h.kind, h.value, h.call
FROM heard AS h
SEMI JOIN split AS s ON s.scope = h.scope AND s.value = h.value
