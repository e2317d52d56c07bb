-- title: What speaks for or against a finding
-- question: How fast was each flagged answer, and what else does its record say about it?
-- parameters: most
-- limits: Of all records of the call, the first that tells a value. `total` is how many flagged calls there are.
WITH told AS (
    SELECT
        f.n, f.source, f.line, f.disposition, f.prompt_tokens_min AS tokens,
        min_by(r.first_token_us, m.n) FILTER (r.first_token_us IS NOT NULL) AS first_token_us,
        min_by(r.duration_us, m.n) FILTER (r.duration_us IS NOT NULL) AS duration_us,
        min_by(r.cached_tokens, m.n) FILTER (r.cached_tokens IS NOT NULL) AS cached_tokens,
        min_by(r.completion_tokens, m.n) FILTER (r.completion_tokens IS NOT NULL) AS completion_tokens,
        min_by(r.response_bytes, m.n) FILTER (r.response_bytes IS NOT NULL) AS response_bytes,
        min_by(r.finish_reason, m.n) FILTER (r.finish_reason IS NOT NULL) AS finish_reason
    FROM flagged_calls AS f
    JOIN members AS m ON m.call = f.call
    JOIN sources AS s ON s.source_no = m.n >> 40
    JOIN records AS r ON r.source = s.source AND r.line = m.n & 1099511627775
    WHERE f.disposition IN ('affected', 'possible')
    GROUP BY f.n, f.source, f.line, f.disposition, f.prompt_tokens_min
)
SELECT *, count(*) OVER () AS total
FROM told
ORDER BY disposition, n
LIMIT $most::BIGINT
