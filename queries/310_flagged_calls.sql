-- title: Flagged calls
-- question: Which calls are affected, possible, a replay, excluded, or a likely duplicate, and at which rate were they logged?
-- parameters: none
-- limits: One row a call; node, key, user and user agent are the carrying record's, else the first that another record of the
--   call names. `rate` is the largest at which one of its records was kept: the stated rate of its source or what
--   the row's sampling interval says, whichever is smaller, as nested samplers are not multiplied. `by_key` says that only a
--   key or a user stands for the tenant.
WITH kept AS (
    SELECT d.n, d.call, d.disposition, d.guessed
    FROM dispositions AS d
    WHERE d.disposition IN ('affected', 'possible', 'replay', 'excluded') OR d.guessed
),
rated AS (
    SELECT
        m.call,
        max(least(coalesce(t.rate, 1.0), 1.0 / greatest(coalesce(r.sample_interval, 1.0), 1.0))) AS rate,
        min_by(r.node, m.n) FILTER (r.node IS NOT NULL) AS node,
        min_by(r."key", m.n) FILTER (r."key" IS NOT NULL) AS "key",
        min_by(r."user", m.n) FILTER (r."user" IS NOT NULL) AS "user",
        min_by(r.user_agent, m.n) FILTER (r.user_agent IS NOT NULL) AS user_agent
    FROM kept AS k
    JOIN members AS m ON m.call = k.call
    JOIN sources AS s ON s.source_no = m.n >> 40
    JOIN records AS r ON r.source = s.source AND r.line = m.n & 1099511627775
    LEFT JOIN rates AS t ON t.source = s.source
    GROUP BY m.call
)
SELECT
    k.n, k.call,
    CASE WHEN k.guessed THEN 'guessed' ELSE k.disposition END AS disposition,
    c.tenant, s.source, r.line, t.rate, r.started_earliest, r.started_latest, r.prompt_tokens_min, r.prompt_tokens_max,
    coalesce(r.node, t.node) AS node, coalesce(r."key", t."key") AS "key", coalesce(r."user", t."user") AS "user",
    coalesce(r.user_agent, t.user_agent) AS user_agent, r.client_ip, r.format, r.ids, r.record_id,
    coalesce(c.tenant = r."key" OR c.tenant = r."user", FALSE) AS by_key
FROM kept AS k
JOIN calls AS c ON c.call = k.call
JOIN rated AS t ON t.call = k.call
JOIN sources AS s ON s.source_no = k.n >> 40
JOIN records AS r ON r.source = s.source AND r.line = k.n & 1099511627775
ORDER BY k.n
