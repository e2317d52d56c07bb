-- title: What each exclusion rule does
-- question: How many records does each rule match, how many answers would it take out, and how many does it miss by validity?
-- parameters: none
-- limits: `hits` and `straddling` count records on the model or possibly so; `would_be_affected` counts calls that would
--   be affected, possible or replay.
WITH relevant AS (
    SELECT r.rule_id, r.n, r.holds, m.call, v.verdict
    FROM rule_matches AS r
    JOIN parts AS p ON p.n = r.n
    LEFT JOIN members AS m ON m.n = r.n
    LEFT JOIN verdicts AS v ON v.call = m.call
    WHERE p.on_model IS NOT FALSE OR coalesce(v.verdict <> 'outside', FALSE)
)
SELECT
    u.rule_id,
    count(x.n) FILTER (x.holds) AS hits,
    count(DISTINCT x.call) FILTER (x.holds AND x.verdict <> 'outside') AS would_be_affected,
    count(x.n) FILTER (NOT x.holds) AS straddling
FROM rules AS u
LEFT JOIN relevant AS x ON x.rule_id = u.rule_id
GROUP BY u.rule_id, u.ordinal
ORDER BY u.ordinal
