-- title: Sum of labels
-- question: Have labels changed since the last round?
-- parameters: none
-- limits: Labels only ever fall, so an equal sum means no change.
SELECT coalesce(sum(label), 0)::VARCHAR AS total
FROM labels
