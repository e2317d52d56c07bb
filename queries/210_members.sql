-- title: Records of each call
-- question: Which model call does each record belong to, and is that call a replay from a response cache?
-- parameters: none
-- limits: A call is named by its first record. A record that says replay makes the whole call one, unless another record
--   of it says it was none; then the two are kept apart, as a replay is no evidence about a real call. A record that is outside by itself and
--   tied to no other is not listed.
WITH tied AS (
    SELECT
        l.n, l.label, p.from_cache,
        p.from_cache IS TRUE AND coalesce(bool_or(NOT p.from_cache) OVER (PARTITION BY l.label), FALSE) AS apart
    FROM labels AS l
    JOIN parts AS p ON p.n = l.n
),
split AS (
    SELECT
        n,
        min(n) OVER (PARTITION BY label, apart) AS call,
        count(*) OVER (PARTITION BY label, apart) AS size,
        coalesce(bool_or(from_cache) OVER (PARTITION BY label, apart), FALSE) AS replay
    FROM tied
)
SELECT
    p.n,
    coalesce(s.call, p.n) AS call,
    coalesce(s.size, 1) AS size,
    coalesce(s.replay, p.from_cache, FALSE) AS replay
FROM parts AS p
LEFT JOIN split AS s ON s.n = p.n
WHERE s.n IS NOT NULL OR p.part IS NULL
