-- title: No affected call without all four parts
-- question: Is there a call that is affected with a part that is not TRUE, or outside without a part that is FALSE?
-- parameters: none
-- limits: A row is a bug. A replay is outside by a part of the call that it repeats.
SELECT d.call, d.disposition, d.part
FROM dispositions AS d
LEFT JOIN calls AS c ON c.call = d.call
WHERE (d.disposition = 'affected' AND NOT coalesce(c.on_model AND c.in_window AND c.over_threshold AND c.served, FALSE))
   OR (d.disposition = 'outside' AND d.part IS NULL)
   OR (
       d.disposition IN ('affected', 'possible', 'excluded') AND NOT coalesce(c.replay, FALSE)
       AND (c.on_model AND c.in_window AND c.over_threshold AND c.served) IS FALSE
   )
ORDER BY d.call
