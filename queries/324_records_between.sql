-- title: Records between an old limit and a new one
-- question: How many records have a bound of their start or of their prompt where a limit was moved over it?
-- parameters: since_us, until_us, tokens_from, tokens_to
-- limits: No part of any other record changes with the limit. The ends are within; NULL is a limit that was not moved.
SELECT count(*) AS records
FROM varied_records
WHERE started_earliest BETWEEN $since_us AND $until_us
   OR started_latest BETWEEN $since_us AND $until_us
   OR prompt_tokens_min BETWEEN $tokens_from AND $tokens_to
   OR prompt_tokens_max BETWEEN $tokens_from AND $tokens_to
