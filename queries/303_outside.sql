-- title: Outside
-- question: How many records are outside, by the first part that is known to be FALSE?
-- parameters: off_model_dropped
-- limits: Records on another model that the reader counted but did not keep are added to `on_model`.
SELECT
    count(*) FILTER (part = 'on_model') + $off_model_dropped::BIGINT AS on_model,
    count(*) FILTER (part = 'in_window') AS in_window,
    count(*) FILTER (part = 'over_threshold') AS over_threshold,
    count(*) FILTER (part = 'served') AS served
FROM dispositions
WHERE disposition = 'outside'
