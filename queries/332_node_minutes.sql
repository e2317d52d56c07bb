-- title: Minutes of each node
-- question: In which minutes does each node have a record?
-- parameters: most
-- limits: Only records that may be on the model, as whether others are kept is an option, and whose start is known to within
--   a minute or so; the first `most` nodes by name.
WITH seen AS (
    SELECT DISTINCT node, started_earliest // 60000000 AS minute
    FROM records
    WHERE node IS NOT NULL AND model_match IS NOT FALSE AND started_latest - started_earliest < 120000000
),
named AS (
    SELECT node FROM seen GROUP BY node ORDER BY node LIMIT $most::BIGINT
)
SELECT node, minute
FROM seen
SEMI JOIN named USING (node)
ORDER BY node, minute
