-- title: Prompt tokens that prefill never saw (S9)
-- question: By how many tokens do the two sides of handed-over requests differ?
-- parameters: none
-- limits: Aggregate evidence: says that something was not read, not which request. Only rooms with both sides count.
SELECT
    count(*) AS rooms,
    coalesce(sum(prefill_tokens), 0)::BIGINT AS prefill_tokens,
    coalesce(sum(decode_tokens), 0)::BIGINT AS decode_tokens,
    coalesce(sum(decode_tokens - prefill_tokens) FILTER (WHERE prefill_tokens = 1), 0)::BIGINT AS stub_drift
FROM rooms
WHERE prefill_tokens IS NOT NULL AND decode_tokens > 1
HAVING count(*) > 0
