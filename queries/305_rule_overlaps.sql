-- title: Overlap of exclusion rules
-- question: How many records do two exclusion rules both match?
-- parameters: none
-- limits: Counts records on the model or possibly so, each pair in both directions.
SELECT a.rule_id, b.rule_id AS other_id, count(*) AS records
FROM rule_matches AS a
JOIN rule_matches AS b ON b.n = a.n AND b.rule_id <> a.rule_id AND b.holds
JOIN parts AS p ON p.n = a.n
LEFT JOIN members AS m ON m.n = a.n
LEFT JOIN verdicts AS v ON v.call = m.call
WHERE a.holds AND (p.on_model IS NOT FALSE OR coalesce(v.verdict <> 'outside', FALSE))
GROUP BY a.rule_id, a.ordinal, b.rule_id, b.ordinal
ORDER BY a.ordinal, b.ordinal
