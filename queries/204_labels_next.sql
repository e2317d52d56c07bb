-- title: Next labels
-- question: Which call does each tied record belong to, one round of looking further on?
-- parameters: none
-- limits: Run until nothing changes. Each tie offers its lowest label to its records and to the records that they point
--   to, and every pointer is then followed once, so that long chains of ties need few rounds.
WITH lowest AS (
    SELECT t.k, min(l.label) AS label
    FROM ties AS t
    JOIN labels AS l ON l.n = t.n
    GROUP BY t.k
),
offers AS (
    SELECT t.n, g.label FROM ties AS t JOIN lowest AS g ON g.k = t.k
    UNION ALL
    SELECT l.label AS n, g.label
    FROM ties AS t
    JOIN labels AS l ON l.n = t.n
    JOIN lowest AS g ON g.k = t.k
),
hooked AS (
    SELECT l.n, least(l.label, o.label) AS label
    FROM labels AS l
    JOIN (SELECT n, min(label) AS label FROM offers GROUP BY n) AS o ON o.n = l.n
)
SELECT h.n, least(h.label, up.label) AS label
FROM hooked AS h
JOIN hooked AS up ON up.n = h.label
