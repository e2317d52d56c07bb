-- title: What replays repeat
-- question: Which call does each replay hand out again?
-- parameters: none
-- limits: Found by the id that the replay names, or by an id of the answer that it shares with another call. A replay
--   whose first call is not in the evidence has no row.
WITH pointers AS (
    SELECT m.call, p.replay_of AS value
    FROM members AS m
    JOIN parts AS p ON p.n = m.n
    WHERE m.replay AND p.replay_of IS NOT NULL
),
wanted AS (
    SELECT DISTINCT value FROM pointers
),
named AS (
    SELECT p.n, p.record_id AS value
    FROM parts AS p
    SEMI JOIN wanted AS w ON w.value = p.record_id
    UNION
    SELECT i.n, i.id.value
    FROM (SELECT n, unnest(ids) AS id FROM parts WHERE (SELECT count(*) FROM wanted) > 0) AS i
    SEMI JOIN wanted AS w ON w.value = i.id.value
),
found AS (
    SELECT r.call, coalesce(m.call, d.n) AS target
    FROM pointers AS r
    JOIN named AS d ON d.value = r.value
    LEFT JOIN members AS m ON m.n = d.n
    UNION
    SELECT r.call, coalesce(m.call, o.n)
    FROM shared_ids AS s
    JOIN members AS r ON r.n = s.n AND r.replay
    JOIN shared_ids AS o ON o.scope = s.scope AND o.value = s.value
    LEFT JOIN members AS m ON m.n = o.n
    WHERE s.kind IN ('cf_ai_req_id', 'response_id', 'upstream_id') AND m.replay IS NOT TRUE
)
SELECT call, target
FROM found
WHERE call <> target
