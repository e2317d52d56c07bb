-- title: Number of new ties
-- question: Did the last look at the ids of requests tie anything?
-- parameters: none
-- limits: Counts records in ties, not ties.
SELECT count(*) AS ties
FROM request_ties
