-- title: Outside
-- question: How many records are outside, by the first part that is known to be FALSE?
-- parameters: off_model_dropped
-- limits: By what a record says itself, where that takes it out, else by its call. Records on another model that the reader
--   counted but did not keep are added to `on_model`.
WITH told AS (
    SELECT CASE WHEN NOT p.on_model THEN 'on_model' ELSE coalesce(p.part, d.part) END AS part
    FROM dispositions AS d
    JOIN parts AS p ON p.n = d.n
    WHERE d.disposition = 'outside'
)
SELECT
    count(*) FILTER (part = 'on_model') + $off_model_dropped::BIGINT AS on_model,
    count(*) FILTER (part = 'in_window') AS in_window,
    count(*) FILTER (part = 'over_threshold') AS over_threshold,
    count(*) FILTER (part = 'served') AS served
FROM told
