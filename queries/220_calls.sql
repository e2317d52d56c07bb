-- title: The four parts of each call
-- question: What do all records of a call say together, and which of them carries the verdict?
-- parameters: none
-- limits: A part is known if a record knows it and no other contradicts. A call that a replay record makes a replay is
--   carried by such a record. The tenant is the carrier's, else the first that another record of the call names.
WITH grouped AS (
    SELECT
        m.call,
        any_value(m.size) AS size,
        bool_or(m.replay) AS replay,
        min_by(p.n, ((m.replay AND p.from_cache IS NOT TRUE), 4 - p.known, p.n)) AS carrier,
        bool_and(p.on_model) AS all_model, bool_or(p.on_model) AS any_model,
        bool_and(p.in_window) AS all_window, bool_or(p.in_window) AS any_window,
        bool_and(p.over_threshold) AS all_over, bool_or(p.over_threshold) AS any_over,
        bool_and(p.served) AS all_served, bool_or(p.served) AS any_served,
        min_by(p.tenant, p.n) FILTER (p.tenant IS NOT NULL) AS first_tenant
    FROM members AS m
    JOIN parts AS p ON p.n = m.n
    WHERE m.size > 1
    GROUP BY m.call
)
SELECT
    m.call, m.n AS carrier, m.size, m.replay, p.on_model, p.in_window, p.over_threshold, p.served,
    FALSE AS model_disagrees, FALSE AS window_disagrees, FALSE AS over_disagrees, FALSE AS served_disagrees,
    p.tenant
FROM members AS m
JOIN parts AS p ON p.n = m.n
WHERE m.size = 1
UNION ALL
SELECT
    g.call, g.carrier, g.size, g.replay,
    CASE WHEN g.all_model = g.any_model THEN g.all_model END,
    CASE WHEN g.all_window = g.any_window THEN g.all_window END,
    CASE WHEN g.all_over = g.any_over THEN g.all_over END,
    CASE WHEN g.all_served = g.any_served THEN g.all_served END,
    coalesce(g.all_model <> g.any_model, FALSE),
    coalesce(g.all_window <> g.any_window, FALSE),
    coalesce(g.all_over <> g.any_over, FALSE),
    coalesce(g.all_served <> g.any_served, FALSE),
    coalesce(p.tenant, g.first_tenant)
FROM grouped AS g
JOIN parts AS p ON p.n = g.carrier
