-- title: Prompts that were cut in silence
-- question: Which prompts did prefill cut, so that decode may have read positions that were never sent?
-- parameters: none
-- limits: A second path to stale memory, read from the source and not tested: needs review, apart from the main signatures.
SELECT
    'review' AS signature,
    NULL::VARCHAR AS rid,
    NULL::BIGINT AS room,
    min(node) AS node,
    prompt_tokens AS tokens_low,
    prompt_tokens AS tokens_high,
    'needs review: ' || coalesce((prompt_tokens - "limit")::VARCHAR || ' tokens', 'some tokens')
        || ' were not sent' AS reading,
    min(source) AS source,
    arg_min(line, (source, line)) AS line
FROM engine_records
WHERE kind = 'truncated'
GROUP BY prompt_tokens, "limit", local_us // 1000000
ORDER BY source, line
