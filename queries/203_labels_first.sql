-- title: First labels
-- question: Which records are tied to any other?
-- parameters: none
-- limits: Each starts as a call of its own.
SELECT DISTINCT n, n AS label
FROM ties
