-- title: Parts that a variation changes
-- question: Of how many records does a variation change a part?
-- parameters: none
-- limits: Compares `parts` with `stated_parts`, the parts of the same records as the run was stated.
SELECT count(*) AS records
FROM parts AS p
JOIN stated_parts AS s ON s.n = p.n
WHERE p.in_window IS DISTINCT FROM s.in_window OR p.over_threshold IS DISTINCT FROM s.over_threshold
