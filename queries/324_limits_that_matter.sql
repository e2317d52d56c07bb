-- title: Moved limits that matter
-- question: Which limits were moved over a bound of the start or of the prompt of any record?
-- parameters: none
-- limits: No part of any other record changes with the limit. The ends are within; NULL is a limit that was not moved.
SELECT code
FROM moved_limits AS m
WHERE EXISTS (
    SELECT 1
    FROM varied_records AS r
    WHERE r.started_earliest BETWEEN m.since_us AND m.until_us
       OR r.started_latest BETWEEN m.since_us AND m.until_us
       OR r.prompt_tokens_min BETWEEN m.tokens_from AND m.tokens_to
       OR r.prompt_tokens_max BETWEEN m.tokens_from AND m.tokens_to
)
ORDER BY code
