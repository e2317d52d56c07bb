-- title: Flagged responses by time
-- question: How many responses of each day or hour are flagged?
-- parameters: unit_us, most
-- limits: `unit_us` is the length of a bucket in microseconds, in UTC. A start that is not known to within one bucket is in
--   the row without a time.
WITH placed AS (
    SELECT
        tenant, disposition,
        CASE WHEN started_earliest // $unit_us::BIGINT = started_latest // $unit_us::BIGINT
            THEN (started_earliest // $unit_us::BIGINT) * $unit_us::BIGINT
        END AS at_us
    FROM flagged_calls
)
SELECT
    at_us,
    count(*) FILTER (disposition = 'affected') AS affected,
    count(*) FILTER (disposition IN ('possible', 'guessed')) AS possible,
    count(*) FILTER (disposition = 'replay') AS replays,
    count(*) FILTER (disposition = 'excluded') AS excluded,
    count(DISTINCT tenant) FILTER (disposition <> 'excluded') AS tenants,
    count(*) OVER () AS buckets
FROM placed
GROUP BY at_us
ORDER BY at_us NULLS LAST
LIMIT $most::BIGINT
