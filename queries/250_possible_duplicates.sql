-- title: Likely duplicates without an id
-- question: Which counted calls look like another one that no id ties them to?
-- parameters: none
-- limits: A guess by tenant, model, equal prompt tokens and starts within 2 s of each other, for calls that share no kind
--   of id. The lower bound takes it, the upper bound does not. In one format, differing keys, users or addresses refute it;
--   in one source, each record's own id does, unless it is one of its other ids, which each may tell of another kind.
WITH counted AS (
    SELECT
        v.call, v.verdict, c.carrier, c.tenant, p.format, p."key", p."user", p.client_ip,
        lower(split_part(p.model_text, '/', -1)) AS model, p.started_earliest, p.started_latest,
        p.prompt_tokens_min, p.prompt_tokens_max
    FROM verdicts AS v
    JOIN calls AS c ON c.call = v.call
    JOIN parts AS p ON p.n = c.carrier
    WHERE v.verdict IN ('affected', 'possible')
      AND v.call NOT IN (SELECT call FROM excluded_calls)
      AND p.prompt_tokens_min IS NOT NULL AND p.prompt_tokens_max IS NOT NULL
      AND p.started_earliest <= p.started_latest
),
alike AS (
    SELECT *
    FROM counted
    QUALIFY count(*) OVER (PARTITION BY tenant, model, prompt_tokens_min, prompt_tokens_max) > 1
),
told AS (
    SELECT
        a.call,
        CASE
            WHEN u.id.kind IN ('request_id', 'span_id') THEN u.id.kind || ':' || p.format ELSE u.id.kind
        END AS kind
    FROM alike AS a
    JOIN members AS m ON m.call = a.call
    JOIN parts AS p ON p.n = m.n
    CROSS JOIN unnest(p.ids) AS u(id)
    WHERE u.id.kind IN (
        'cf_aig_log_id', 'cf_ai_req_id', 'response_id', 'cf_ray', 'upstream_id', 'request_id', 'span_id',
        'x_request_id', 'litellm_call_id'
    )
    UNION ALL
    SELECT a.call, 'record_id:' || p.source_no
    FROM alike AS a
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
    FROM alike AS a
    LEFT JOIN kinds AS k ON k.call = a.call
),
-- Where every call of a group has a kind of id in common there is nothing to guess, and no pair to look at.
open_groups AS (
    SELECT *
    FROM ranked
    QUALIFY count(DISTINCT list_sort(kinds)) OVER (PARTITION BY tenant, model, prompt_tokens_min, prompt_tokens_max) > 1
         OR len(kinds) = 0
),
-- Calls that are equal in everything that is compared have the same twins, so the first of them stands for all.
firsts AS MATERIALIZED (
    SELECT *
    FROM open_groups
    QUALIFY row_number() OVER (
        PARTITION BY
            tenant, model, prompt_tokens_min, prompt_tokens_max, started_earliest, started_latest,
            list_sort(kinds), format, "key", "user", client_ip
        ORDER BY place
    ) = 1
),
-- Only a call that has no earlier twin itself can be the one that is counted.
counted_firsts AS MATERIALIZED (
    SELECT b.*
    FROM firsts AS b
    ANTI JOIN firsts AS a
      ON a.place < b.place
     AND a.tenant IS NOT DISTINCT FROM b.tenant
     AND a.model IS NOT DISTINCT FROM b.model
     AND a.prompt_tokens_min = b.prompt_tokens_min
     AND a.prompt_tokens_max = b.prompt_tokens_max
     AND a.started_earliest <= b.started_latest + 2000000
     AND b.started_earliest <= a.started_latest + 2000000
     AND NOT list_has_any(a.kinds, b.kinds)
     AND NOT (
         a.format = b.format
         AND coalesce(a."key" <> b."key" OR a."user" <> b."user" OR a.client_ip <> b.client_ip, FALSE)
     )
)
SELECT b.call, min_by(a.call, a.place) AS twin
FROM open_groups AS b
JOIN counted_firsts AS a
  ON a.place < b.place
 AND a.tenant IS NOT DISTINCT FROM b.tenant
 AND a.model IS NOT DISTINCT FROM b.model
 AND a.prompt_tokens_min = b.prompt_tokens_min
 AND a.prompt_tokens_max = b.prompt_tokens_max
 AND a.started_earliest <= b.started_latest + 2000000
 AND b.started_earliest <= a.started_latest + 2000000
 AND NOT list_has_any(a.kinds, b.kinds)
 AND NOT (
     a.format = b.format
     AND coalesce(a."key" <> b."key" OR a."user" <> b."user" OR a.client_ip <> b.client_ip, FALSE)
 )
GROUP BY b.call
