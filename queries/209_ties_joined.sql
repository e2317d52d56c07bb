-- title: All ties so far
-- question: Which ties are known after another look at the ids of requests?
-- parameters: none
-- limits: Ties are only ever added.
SELECT k, n FROM ties
UNION
SELECT k, n FROM request_ties
