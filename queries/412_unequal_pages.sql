-- title: One page sent where many were reserved (S2)
-- question: Which transfers sent a stub to a request that had reserved many pages?
-- parameters: page_size
-- limits: For sparse-attention models over Mooncake in 0.5.11 to 0.5.19: every rank prints it, so recall is full there and
--   nothing elsewhere. The page count brackets the length, (K - 1) * page < N <= K * page; there is no id. Copies of one
--   line in other dresses are one event: same count, and rank and time equal where both are told.
WITH lines AS (
    SELECT *, row_number() OVER (ORDER BY source, line) AS n
    FROM engine_records
    WHERE kind = 'unequal_pages' AND pages = 1 AND other_pages > 2
),
timed AS (
    SELECT other_pages, coalesce(dp, tp) AS place, local_us // 1000000 AS second, min(n) AS n, list(DISTINCT utc_us) AS utcs
    FROM lines
    WHERE local_us IS NOT NULL
    GROUP BY ALL
),
loose AS (
    SELECT l.other_pages, l.utc_us, min(l.n) AS n
    FROM lines AS l
    WHERE l.local_us IS NULL AND NOT EXISTS (
        SELECT 1
        FROM timed AS t
        WHERE t.other_pages = l.other_pages
            AND (coalesce(l.dp, l.tp) IS NULL OR t.place IS NULL OR t.place = coalesce(l.dp, l.tp))
            -- Offsets are whole quarters of an hour; two seconds of delay are allowed.
            AND (
                l.utc_us IS NULL
                OR (t.second * 1000000 - l.utc_us + 902000000 + 86400000000) % 900000000 < 4000000
            )
    )
    GROUP BY l.other_pages, l.utc_us
),
events AS (
    SELECT n FROM timed
    UNION ALL
    SELECT n FROM loose
)
SELECT
    'S2' AS signature,
    NULL::VARCHAR AS rid,
    NULL::BIGINT AS room,
    l.node,
    (l.other_pages - 1) * $page_size + 1 AS tokens_low,
    l.other_pages * $page_size AS tokens_high,
    'affected' AS reading,
    l.source,
    l.line
FROM events AS e
JOIN lines AS l ON l.n = e.n
ORDER BY l.source, l.line
