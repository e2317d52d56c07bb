-- title: Findings
-- question: Which records are not outside, and what is known of each?
-- parameters: none
-- limits: The parts are those of the whole call for the record that carries it, and the record's own for a duplicate. So is
--   the tenant: where the record that carries a call names none, another record of the call may; once an alias file says
--   which names are one tenant, it is the call's for all records. Parts that are not known are named in `reasons`, except for replays, whose own time and tokens do not count.
WITH kept AS (
    SELECT
        d.n, d.disposition, d.guessed, s.source, d.n & 1099511627775 AS line,
        CASE WHEN d.n = c.carrier THEN c.on_model ELSE p.on_model END AS on_model,
        CASE WHEN d.n = c.carrier THEN c.in_window ELSE p.in_window END AS in_window,
        CASE WHEN d.n = c.carrier THEN c.over_threshold ELSE p.over_threshold END AS over_threshold,
        CASE WHEN d.n = c.carrier THEN c.served ELSE p.served END AS served,
        d.n = c.carrier AND c.model_disagrees AS model_disagrees,
        d.n = c.carrier AND c.window_disagrees AS window_disagrees,
        d.n = c.carrier AND c.over_disagrees AS over_disagrees,
        d.n = c.carrier AND c.served_disagrees AS served_disagrees,
        CASE WHEN d.disposition = 'excluded' THEN x.excluded_by ELSE [] END AS excluded_by,
        CASE WHEN d.disposition = 'duplicate' THEN o.source || ':' || (d.counted & 1099511627775) END AS duplicate_of,
        t.source || ':' || (v.repeats & 1099511627775) AS repeats,
        d.n = c.carrier AS carries, c.tenant AS call_tenant
    FROM dispositions AS d
    JOIN parts AS p ON p.n = d.n
    JOIN calls AS c ON c.call = d.call
    JOIN verdicts AS v ON v.call = d.call
    JOIN sources AS s ON s.source_no = d.n >> 40
    JOIN sources AS o ON o.source_no = d.counted >> 40
    LEFT JOIN excluded_calls AS x ON x.call = d.call
    LEFT JOIN sources AS t ON t.source_no = v.repeats >> 40
    WHERE d.disposition <> 'outside'
)
SELECT
    r.source, r.line, r.byte_offset, r.byte_length, r.sha256, r.format, r.record_id, r.ids, r.started_earliest,
    r.started_latest, r.time_text, r.time_basis, r.model_text, r.provider_text, r.host_text, r.model_match,
    r.prompt_tokens_min, r.prompt_tokens_max, r.token_basis, r.completion_tokens, r.status, r.http_status, r.outcome,
    r.error_status, r.has_output,
    CASE WHEN k.carries OR EXISTS (SELECT 1 FROM aliases) THEN k.call_tenant ELSE coalesce(r.tenant, k.call_tenant) END AS tenant,
    r."key", r."user", r.client_ip, r.user_agent, r.tags, r.node, r.from_cache,
    coalesce(k.repeats, r.replay_of) AS replay_of,
    r.sample_interval,
    list_concat(coalesce(r.reasons, []), list_filter([
        CASE WHEN k.disposition IN ('possible', 'excluded') AND k.on_model IS NULL THEN
            CASE WHEN k.model_disagrees THEN 'on_model: records_disagree' ELSE 'on_model: unknown' END END,
        CASE WHEN k.disposition IN ('possible', 'excluded') AND k.in_window IS NULL THEN
            CASE WHEN k.window_disagrees THEN 'in_window: records_disagree' ELSE 'in_window: unknown' END END,
        CASE WHEN k.disposition IN ('possible', 'excluded') AND k.over_threshold IS NULL THEN
            CASE WHEN k.over_disagrees THEN 'over_threshold: records_disagree' ELSE 'over_threshold: unknown' END END,
        CASE WHEN k.disposition IN ('possible', 'excluded') AND k.served IS NULL THEN
            CASE WHEN k.served_disagrees THEN 'served: records_disagree' ELSE 'served: unknown' END END,
        CASE WHEN k.guessed THEN 'possible_duplicate_without_id' END
    ], lambda reason: reason IS NOT NULL)) AS reasons,
    k.disposition, k.on_model, k.in_window, k.over_threshold, k.served, k.excluded_by, k.duplicate_of
FROM kept AS k
JOIN records AS r ON r.source = k.source AND r.line = k.line
ORDER BY k.n
