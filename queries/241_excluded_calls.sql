-- title: Calls that rules exclude
-- question: Which calls does at least one exclusion rule take out, and which rules?
-- parameters: none
-- limits: A rule that matches one record of a call takes out the call. Calls that are outside anyway are not listed.
WITH pairs AS (
    SELECT DISTINCT m.call, r.rule_id, r.ordinal
    FROM rule_matches AS r
    JOIN members AS m ON m.n = r.n
    JOIN verdicts AS v ON v.call = m.call
    WHERE r.holds AND v.verdict <> 'outside'
)
SELECT call, list(rule_id ORDER BY ordinal) AS excluded_by
FROM pairs
GROUP BY call
