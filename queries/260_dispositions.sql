-- title: The disposition of each record
-- question: What is each record: affected, possible, excluded, duplicate, replay or outside?
-- parameters: none
-- limits: Exactly one each. `counted` is the record that stands for the call.
SELECT
    m.n,
    m.call,
    CASE WHEN d.call IS NULL THEN c.carrier ELSE t.carrier END AS counted,
    CASE
        WHEN v.verdict = 'outside' THEN 'outside'
        WHEN m.n <> c.carrier THEN 'duplicate'
        WHEN x.call IS NOT NULL THEN 'excluded'
        WHEN d.call IS NOT NULL THEN 'duplicate'
        ELSE v.verdict
    END AS disposition,
    v.part,
    d.call IS NOT NULL AND m.n = c.carrier AND v.verdict <> 'outside' AND x.call IS NULL AS guessed
FROM members AS m
JOIN calls AS c ON c.call = m.call
JOIN verdicts AS v ON v.call = m.call
LEFT JOIN excluded_calls AS x ON x.call = m.call
LEFT JOIN possible_duplicates AS d ON d.call = m.call
LEFT JOIN calls AS t ON t.call = d.twin
UNION ALL
SELECT n, n, n, 'outside', part, FALSE
FROM parts
WHERE n NOT IN (SELECT n FROM members)
