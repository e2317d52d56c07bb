-- title: Duplicates point to a counted record
-- question: Is there a duplicate of something that is not counted itself?
-- parameters: none
-- limits: A row is a bug.
SELECT d.n, d.counted, o.disposition
FROM dispositions AS d
LEFT JOIN dispositions AS o ON o.n = d.counted
WHERE d.disposition = 'duplicate'
  AND o.disposition IS DISTINCT FROM 'affected' AND o.disposition IS DISTINCT FROM 'possible'
  AND o.disposition IS DISTINCT FROM 'excluded' AND o.disposition IS DISTINCT FROM 'replay'
ORDER BY d.n
