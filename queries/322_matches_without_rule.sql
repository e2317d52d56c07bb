-- title: Rule matches with one rule left out
-- question: Which records do the other exclusion rules match?
-- parameters: rule_id
-- limits: NULL leaves out every rule.
SELECT *
FROM all_rule_matches
WHERE rule_id <> $rule_id::VARCHAR
