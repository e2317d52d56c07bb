-- title: Flagged responses by node, key or user agent
-- question: How many responses of each node, key or user agent are flagged?
-- parameters: attribute, most
-- limits: `attribute` is node, key or user_agent. NULL is: the carrying record does not tell.
WITH told AS (
    SELECT
        tenant, disposition,
        CASE $attribute::VARCHAR WHEN 'node' THEN node WHEN 'key' THEN "key" WHEN 'user_agent' THEN user_agent END AS name
    FROM flagged_calls
)
SELECT
    name,
    count(*) FILTER (disposition = 'affected') AS affected,
    count(*) FILTER (disposition IN ('possible', 'guessed')) AS possible,
    count(*) FILTER (disposition = 'replay') AS replays,
    count(*) FILTER (disposition = 'excluded') AS excluded,
    count(DISTINCT tenant) FILTER (disposition <> 'excluded') AS tenants,
    count(*) OVER () AS buckets
FROM told
GROUP BY name
ORDER BY affected DESC, possible DESC, replays DESC, excluded DESC, name NULLS LAST
LIMIT $most::BIGINT
