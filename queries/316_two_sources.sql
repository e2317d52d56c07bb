-- title: Two sources of the same traffic
-- question: How many affected calls has each of two sets of logs, and how many do both have?
-- parameters: none
-- limits: Matched by the ids that tie records to one call. A likely duplicate without an id counts as matched to its twin.
WITH seen AS (
    SELECT DISTINCT f.call, v.side
    FROM flagged_calls AS f
    JOIN members AS m ON m.call = f.call
    JOIN sources AS s ON s.source_no = m.n >> 40
    JOIN sides AS v ON v.source = s.source
    WHERE f.disposition = 'affected'
    UNION
    SELECT t.call, v.side
    FROM dispositions AS d
    JOIN dispositions AS t ON t.n = d.counted AND t.disposition = 'affected'
    JOIN members AS m ON m.call = d.call
    JOIN sources AS s ON s.source_no = m.n >> 40
    JOIN sides AS v ON v.source = s.source
    WHERE d.guessed
),
sided AS (
    SELECT call, bool_or(side = 1) AS in_first, bool_or(side = 2) AS in_second
    FROM seen
    GROUP BY call
)
SELECT
    count(*) FILTER (in_first) AS in_first,
    count(*) FILTER (in_second) AS in_second,
    count(*) FILTER (in_first AND in_second) AS in_both
FROM sided
