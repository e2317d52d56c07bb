-- title: Believable prefill rate
-- question: How fast did the same logs read prompts that nobody doubts?
-- parameters: over, least_tokens
-- limits: On the model, answered, not over `over` tokens, uncached part of at least `least_tokens`: tokens not read from the
--   cache by the time to the first token, else by the whole duration. The 99th percentile, as a maximum is one broken clock.
WITH rated AS (
    SELECT
        (r.prompt_tokens_min - coalesce(r.cached_tokens, 0)) * 1000000.0
            / greatest(coalesce(r.first_token_us, r.duration_us), 1) AS rate
    FROM records AS r
    WHERE r.model_match IS TRUE AND r.from_cache IS NOT TRUE AND r.http_status BETWEEN 200 AND 299
      AND r.prompt_tokens_min = r.prompt_tokens_max AND r.prompt_tokens_max <= $over
      AND r.prompt_tokens_min - coalesce(r.cached_tokens, 0) >= $least_tokens
      AND coalesce(r.first_token_us, r.duration_us) > 0
)
SELECT quantile_disc(rate, 0.99) AS rate, count(*) AS records
FROM rated
