-- title: Every call is counted once
-- question: Is there a call that is not outside and does not have exactly one record to stand for it?
-- parameters: none
-- limits: A row is a bug.
WITH standing AS (
    SELECT
        call,
        count(*) FILTER (disposition IN ('affected', 'possible', 'excluded', 'replay') OR guessed) AS standing,
        count(*) FILTER (disposition = 'outside') AS outside,
        count(*) AS records
    FROM dispositions
    GROUP BY call
)
SELECT call, standing, outside, records
FROM standing
WHERE NOT ((outside = records AND standing = 0) OR (outside = 0 AND standing = 1))
ORDER BY call
