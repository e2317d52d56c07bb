-- title: Likely duplicates without an id
-- question: Which counted calls look like another one that no id ties them to?
-- parameters: none
-- limits: A guess by tenant, model, equal prompt tokens and starts within 2 s of each other, for calls that share no kind
--   of id. The lower bound takes it, the upper bound does not. In one format, differing keys, users or addresses refute it;
--   in one source, each record's own id does, unless it is one of its other ids, which each may tell of another kind.
WITH firsts AS MATERIALIZED (
    -- Calls that are equal in everything that is compared have the same twins, so the first of them stands for all.
    SELECT *
    FROM compared_calls
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
FROM compared_calls AS b
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
