-- title: What happened to each tenant
-- question: How many responses of each tenant are flagged, when, how long, and on which lines is the evidence?
-- parameters: most, evidence
-- limits: NULL is: the log does not tell. The first `most` tenants, most affected first, and `evidence` lines of each;
--   `tenants` and `lines` are how many there are. Sums of tokens are over affected and possible responses, NULL where one of
--   them is not known. Days are those of the earliest possible start.
WITH lines AS (
    SELECT
        tenant, disposition, started_earliest, started_latest, prompt_tokens_min, prompt_tokens_max,
        source || ':' || line AS place, n,
        CASE disposition WHEN 'affected' THEN 0 WHEN 'possible' THEN 1 WHEN 'replay' THEN 2 WHEN 'guessed' THEN 3 ELSE 4 END AS rank
    FROM flagged_calls
),
summed AS (
    SELECT
        tenant,
        count(*) FILTER (disposition = 'affected') AS affected,
        count(*) FILTER (disposition IN ('possible', 'guessed')) AS possible,
        count(*) FILTER (disposition = 'replay') AS replays,
        count(*) FILTER (disposition = 'excluded') AS excluded,
        min(started_earliest) AS first_us,
        max(started_latest) AS last_us,
        CASE
            WHEN count(*) FILTER (disposition IN ('affected', 'possible') AND prompt_tokens_min IS NULL) = 0
            THEN sum(prompt_tokens_min) FILTER (disposition IN ('affected', 'possible'))::BIGINT
        END AS tokens_min,
        CASE
            WHEN count(*) FILTER (disposition IN ('affected', 'possible') AND prompt_tokens_max IS NULL) = 0
            THEN sum(prompt_tokens_max) FILTER (disposition IN ('affected', 'possible'))::BIGINT
        END AS tokens_max,
        max(prompt_tokens_min) FILTER (disposition IN ('affected', 'possible')) AS longest,
        list_sort(list(DISTINCT started_earliest // 86400000000) FILTER (started_earliest IS NOT NULL)) AS days,
        list(place ORDER BY rank, n)[1:$evidence::BIGINT] AS evidence,
        count(*) AS lines
    FROM lines
    GROUP BY tenant
)
SELECT *, count(*) OVER () AS tenants
FROM summed
ORDER BY affected DESC, possible DESC, replays DESC, excluded DESC, tenant NULLS LAST
LIMIT $most::BIGINT
