-- title: What each call would be
-- question: Would each call be affected, possible, a replay or outside, before exclusions and likely duplicates?
-- parameters: none
-- limits: A replay is outside if every first call behind it is known to be, or by its own model, or if it failed itself;
--   its own time and tokens do not count. `part` is the first part known to be FALSE.
WITH RECURSIVE plain AS (
    SELECT
        call,
        CASE
            WHEN NOT on_model THEN 'on_model'
            WHEN NOT replay AND NOT in_window THEN 'in_window'
            WHEN NOT replay AND NOT over_threshold THEN 'over_threshold'
            WHEN NOT served THEN 'served'
        END AS part
    FROM calls
),
reached(call, target) AS (
    SELECT call, target FROM replay_targets
    UNION
    SELECT r.call, t.target
    FROM reached AS r
    JOIN replay_targets AS t ON t.call = r.target
),
-- The ends of the chains: real calls, also those that are outside by themselves, and replays of something unknown.
ends AS (
    SELECT r.call, r.target, coalesce(p.part, CASE WHEN c.call IS NULL THEN a.part END) AS part
    FROM reached AS r
    JOIN parts AS a ON a.n = r.target
    LEFT JOIN calls AS c ON c.call = r.target
    LEFT JOIN plain AS p ON p.call = r.target
    WHERE c.replay IS NOT TRUE OR r.target NOT IN (SELECT call FROM replay_targets)
),
repeated AS (
    SELECT call, min(target) AS target, bool_and(part IS NOT NULL) AS all_outside, min_by(part, target) AS part
    FROM ends
    GROUP BY call
)
SELECT
    c.call,
    CASE
        WHEN p.part IS NOT NULL OR r.all_outside THEN 'outside'
        WHEN c.replay THEN 'replay'
        WHEN c.on_model AND c.in_window AND c.over_threshold AND c.served THEN 'affected'
        ELSE 'possible'
    END AS verdict,
    coalesce(p.part, CASE WHEN r.all_outside THEN r.part END) AS part,
    coalesce(t.carrier, r.target) AS repeats
FROM calls AS c
JOIN plain AS p ON p.call = c.call
LEFT JOIN repeated AS r ON r.call = c.call
LEFT JOIN calls AS t ON t.call = r.target
