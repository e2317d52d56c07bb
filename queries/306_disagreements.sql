-- title: Records that disagree
-- question: In how many calls that are not outside do records contradict each other about a part?
-- parameters: none
-- limits: Contradictions in a call that another part takes out change nothing, and are not counted.
SELECT
    count(*) FILTER (c.model_disagrees) AS on_model,
    count(*) FILTER (c.window_disagrees) AS in_window,
    count(*) FILTER (c.over_disagrees) AS over_threshold,
    count(*) FILTER (c.served_disagrees) AS served,
    count(*) FILTER (c.model_disagrees OR c.window_disagrees OR c.over_disagrees OR c.served_disagrees) AS calls
FROM calls AS c
JOIN verdicts AS v ON v.call = c.call
WHERE v.verdict <> 'outside'
