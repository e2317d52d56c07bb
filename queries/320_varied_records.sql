-- title: Records that a changed rule could bring in
-- question: Which records belong to calls that could be flagged with another window, another zone or other rules?
-- parameters: none
-- limits: A superset. Calls that are known to be on another model, below the uncertain band, or not answered stay outside
--   whatever the window is; so do not replays, and what they repeat.
WITH alone AS (
    SELECT p.n
    FROM parts AS p
    ANTI JOIN labels AS l ON l.n = p.n
    WHERE p.from_cache
       OR (p.on_model IS NOT FALSE AND p.over_threshold IS NOT FALSE AND p.served IS NOT FALSE)
),
grouped AS (
    SELECT l.label
    FROM labels AS l
    JOIN parts AS p ON p.n = l.n
    GROUP BY l.label
    HAVING bool_or(p.from_cache)
        OR (
            bool_or(p.on_model IS NOT FALSE) AND bool_or(p.over_threshold IS NOT FALSE)
            AND bool_or(p.served IS NOT FALSE)
        )
),
repeated AS (
    SELECT call AS n FROM replay_targets
    UNION
    SELECT target FROM replay_targets
),
wanted AS (
    SELECT n FROM alone
    UNION
    SELECT l.n FROM labels AS l SEMI JOIN grouped AS g ON g.label = l.label
    UNION
    SELECT n FROM repeated
    UNION
    SELECT l.n
    FROM labels AS l
    SEMI JOIN (SELECT o.label FROM labels AS o JOIN repeated AS t ON t.n = o.n) AS g ON g.label = l.label
)
SELECT r.*
FROM records AS r
JOIN sources AS s ON s.source = r.source
SEMI JOIN wanted AS w ON w.n = (s.source_no << 40) + r.line
ORDER BY s.source_no, r.line
