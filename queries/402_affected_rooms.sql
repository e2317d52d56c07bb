-- title: Affected requests, by room
-- question: Which requests were answered by decode although prefill had sent nothing but a stub?
-- parameters: first_rejected, certain_from
-- limits: Certain where both sides are in the evidence (prefill saw one token, decode many). Where prefill's side is not,
--   the length decides (`population`): as good as `first_rejected`, the length from which prefill refused, and as the
--   belief that its version was a vulnerable one. Below `certain_from` only some of the prefill nodes refused it. Refused
--   and aborted requests are none.
SELECT
    room,
    decode_rid AS rid,
    CASE
        WHEN prefill_tokens IS NOT NULL THEN 'both sides'
        WHEN decode_tokens >= $certain_from THEN 'population'
        ELSE 'population, by the lowest limit'
    END AS basis
FROM rooms
WHERE decode_tokens > 1
    AND decode_rid IS NOT NULL
    AND NOT coalesce(aborted, FALSE)
    AND (prefill_tokens = 1 OR (prefill_tokens IS NULL AND decode_tokens >= $first_rejected))
ORDER BY room
