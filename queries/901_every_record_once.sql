-- title: Every record has one disposition
-- question: Is there a record without exactly one disposition?
-- parameters: none
-- limits: A row is a bug, or two records at the same source and line.
WITH given AS (
    SELECT
        (SELECT count(*) FROM records) AS records,
        count(*) AS dispositions,
        count(DISTINCT n) AS different
    FROM dispositions
)
SELECT records, dispositions, different
FROM given
WHERE records <> dispositions OR records <> different
