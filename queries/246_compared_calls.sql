-- title: Calls that may be duplicates without an id
-- question: Which calls that are alike have no kind of id that all of them have?
-- parameters: none
-- limits: Where every call of a group has a kind of id in common there is nothing to guess, and no pair to look at.
WITH told AS (
    SELECT
        a.call,
        CASE
            WHEN u.id.kind IN ('request_id', 'span_id') THEN u.id.kind || ':' || p.format ELSE u.id.kind
        END AS kind
    FROM alike_calls AS a
    JOIN members AS m ON m.call = a.call
    JOIN parts AS p ON p.n = m.n
    CROSS JOIN unnest(p.ids) AS u(id)
    WHERE u.id.kind IN (
        'cf_aig_log_id', 'cf_ai_req_id', 'response_id', 'cf_ray', 'upstream_id', 'request_id', 'span_id',
        'x_request_id', 'litellm_call_id'
    )
    UNION ALL
    SELECT a.call, 'record_id:' || p.source_no
    FROM alike_calls AS a
    JOIN members AS m ON m.call = a.call
    JOIN parts AS p ON p.n = m.n
    WHERE p.record_id IS NOT NULL
      AND NOT coalesce(list_contains(list_transform(p.ids, lambda i: i.value), p.record_id), FALSE)
),
kinds AS (
    SELECT call, list(DISTINCT kind) AS kinds
    FROM told
    GROUP BY call
),
ranked AS (
    SELECT
        a.*, coalesce(k.kinds, []) AS kinds,
        row_number() OVER (ORDER BY a.verdict, len(coalesce(k.kinds, [])) DESC, a.carrier) AS place
    FROM alike_calls AS a
    LEFT JOIN kinds AS k ON k.call = a.call
)
SELECT *
FROM ranked
QUALIFY count(DISTINCT list_sort(kinds)) OVER (PARTITION BY tenant, model, prompt_tokens_min, prompt_tokens_max) > 1
     OR len(kinds) = 0
