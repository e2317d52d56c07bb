-- title: Tenants
-- question: How many tenants are affected or possibly so, and how many answers name none?
-- parameters: none
-- limits: A tenant is what the log calls one; two spellings of the same tenant are two. An answer without a tenant can
--   belong to any, so each one adds one to the upper bound and all of them together at most one to the lower.
WITH flagged AS (
    SELECT d.disposition, d.guessed, c.tenant
    FROM dispositions AS d
    JOIN calls AS c ON c.call = d.call
    WHERE d.disposition IN ('affected', 'possible', 'replay', 'excluded') OR d.guessed
),
known AS (
    SELECT
        tenant,
        bool_or(disposition = 'affected') AS affected,
        bool_or(disposition IN ('possible', 'replay')) AS possible,
        bool_or(disposition = 'excluded') AS excluded
    FROM flagged
    WHERE tenant IS NOT NULL
    GROUP BY tenant
),
nameless AS (
    SELECT
        count(*) FILTER (disposition = 'affected') AS affected,
        count(*) FILTER (disposition IN ('affected', 'possible', 'replay')) AS flagged,
        count(*) FILTER (guessed) AS guessed
    FROM flagged
    WHERE tenant IS NULL
)
SELECT
    count(*) FILTER (k.affected) AS affected,
    count(*) FILTER (k.possible AND NOT k.affected) AS possible,
    greatest(count(*) FILTER (k.affected), CASE WHEN any_value(s.affected) > 0 THEN 1 ELSE 0 END) AS lower,
    count(*) FILTER (k.affected OR k.possible) + any_value(s.flagged) + any_value(s.guessed) AS upper,
    any_value(s.flagged) AS unknown_records,
    count(*) FILTER (k.excluded) AS excluded
FROM nameless AS s
LEFT JOIN known AS k ON TRUE
