-- title: The threshold of the node that served each record
-- question: Which threshold held on the node that served a request, when it was served?
-- parameters: prompt_tokens_over, uncertain_from
-- limits: Only for incidents that give thresholds by node; other records have no row and take the incident's own. Where
--   the node or the time is not told, or the node is not one of those named, all that may have held are kept as one
--   range, the incident's own among them: the highest to be over for sure, the lowest to be under for sure. A request
--   whose node is not told is under for sure where it is under on all nodes that are named.
WITH keyed AS (
    SELECT
        source, line, started_earliest, started_latest,
        -- A bare number is a rank inside a node, as engines log it, and tells no node unless the incident names it.
        CASE
            WHEN NOT regexp_full_match(node, '[0-9]+') OR node IN (SELECT t.node FROM node_thresholds AS t)
                THEN lower(regexp_replace(node, ':[0-9]+$', ''))
        END AS told,
        lower(regexp_extract(source, '[^/]*$')) AS file
    FROM records
    WHERE EXISTS (SELECT 1 FROM node_thresholds)
),
placed AS (
    SELECT
        k.source, k.line, k.started_earliest, k.started_latest, k.told,
        CASE
            WHEN k.told IN (SELECT node FROM node_thresholds) THEN k.told
            WHEN k.told IS NULL AND k.file IN (SELECT node FROM node_thresholds) THEN k.file
        END AS node
    FROM keyed AS k
),
held AS (
    SELECT
        p.source, p.line, t.prompt_tokens_over, t.uncertain_from,
        -- The own one holds on nodes without one, and at times for which a node has none.
        p.node IS NOT NULL
        AND (t.since_us IS NULL OR coalesce(p.started_earliest >= t.since_us, FALSE))
        AND (t.until_us IS NULL OR coalesce(p.started_latest < t.until_us, FALSE)) AS for_sure,
        p.told IS NULL AND p.node IS NULL AS untold
    FROM placed AS p
    JOIN node_thresholds AS t
        ON (p.node IS NULL OR t.node = p.node)
        AND (p.started_latest IS NULL OR t.since_us IS NULL OR p.started_latest >= t.since_us)
        AND (p.started_earliest IS NULL OR t.until_us IS NULL OR p.started_earliest < t.until_us)
)
SELECT
    source,
    line,
    greatest(
        max(prompt_tokens_over), CASE WHEN NOT bool_or(for_sure) THEN $prompt_tokens_over END
    ) AS prompt_tokens_over,
    least(
        min(uncertain_from), CASE WHEN NOT bool_or(for_sure) AND NOT bool_or(untold) THEN $uncertain_from END
    ) AS uncertain_from
FROM held
GROUP BY source, line
ORDER BY source, line
