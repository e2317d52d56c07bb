-- title: What canary and checksum saw (S14, S15)
-- question: Where did the engine itself notice foreign or changed pages?
-- parameters: none
-- limits: A canary line is direct evidence. A checksum line means that the request was aborted, so nothing was disclosed;
--   some layouts misfire in 0.5.21.
SELECT
    CASE kind WHEN 'canary' THEN 'S14' ELSE 'S15' END AS signature,
    rid,
    room,
    node,
    NULL::BIGINT AS tokens_low,
    NULL::BIGINT AS tokens_high,
    CASE kind WHEN 'canary' THEN 'foreign tokens in a page' ELSE 'exposure attempt, aborted' END AS reading,
    source,
    line
FROM engine_records
WHERE kind IN ('canary', 'checksum')
ORDER BY source, line
