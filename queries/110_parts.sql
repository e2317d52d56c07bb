-- title: The four parts of each record
-- question: Was each record on the model, in the window, over the threshold, and served?
-- parameters: start_us, end_us, uncertain_until_us, prompt_tokens_over, uncertain_from
-- limits: Judges each record by itself; NULL is "the record does not say", also where its own numbers contradict
--   each other. `n` numbers the records in total order, as source number and line.
--   `part` is the first one known to be FALSE, for records that are no replay.
WITH judged AS (
    SELECT
        (s.source_no << 40) + r.line AS n,
        s.source_no,
        r.format,
        r.record_id,
        r.ids,
        r.sha256,
        r.model_match AS on_model,
        CASE
            WHEN r.started_earliest > r.started_latest THEN NULL
            WHEN r.started_earliest >= $start_us AND r.started_latest < $end_us THEN TRUE
            WHEN r.started_latest < $start_us OR r.started_earliest >= $uncertain_until_us THEN FALSE
        END AS in_window,
        CASE
            WHEN r.prompt_tokens_min > r.prompt_tokens_max THEN NULL
            WHEN r.prompt_tokens_min > coalesce(t.prompt_tokens_over, $prompt_tokens_over) THEN TRUE
            WHEN r.prompt_tokens_max < coalesce(t.uncertain_from, $uncertain_from) THEN FALSE
        END AS over_threshold,
        -- An HTTP status below 100 is a log's way to say that there was none.
        CASE
            WHEN r.http_status BETWEEN 200 AND 299 THEN TRUE
            WHEN r.http_status = 499 OR r.outcome = 'aborted' THEN NULL
            WHEN r.http_status >= 100 THEN CASE WHEN r.has_output THEN NULL ELSE FALSE END
            WHEN r.outcome = 'ok' THEN TRUE
            WHEN r.outcome = 'failed' OR (r.outcome IS NULL AND r.error_status IS NOT NULL)
                THEN CASE WHEN r.error_status = 499 OR r.has_output THEN NULL ELSE FALSE END
            WHEN r.has_output THEN TRUE
        END AS served,
        r.from_cache,
        r.replay_of,
        r.tenant,
        r."key",
        r."user",
        r.client_ip,
        r.user_agent,
        r.tags,
        r.model_text,
        r.started_earliest,
        r.started_latest,
        r.prompt_tokens_min,
        r.prompt_tokens_max
    FROM records AS r
    JOIN sources AS s ON s.source = r.source
    LEFT JOIN thresholds AS t ON t.source = r.source AND t.line = r.line
)
SELECT
    *,
    (on_model IS NOT NULL)::INTEGER + (in_window IS NOT NULL)::INTEGER
    + (over_threshold IS NOT NULL)::INTEGER + (served IS NOT NULL)::INTEGER AS known,
    CASE
        WHEN from_cache THEN NULL
        WHEN NOT on_model THEN 'on_model'
        WHEN NOT in_window THEN 'in_window'
        WHEN NOT over_threshold THEN 'over_threshold'
        WHEN NOT served THEN 'served'
    END AS part
FROM judged
