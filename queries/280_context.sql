-- title: Records that the judgement leans on
-- question: Which records of other models are tied, through any chain of shared ids, to one that may be on the model?
-- parameters: none
-- limits: Without them the same questions to the records on the model could be answered otherwise; all other records of
--   other models are outside whatever happens. Replays are tied to what they name as well.
WITH RECURSIVE pointers AS (
    SELECT n, replay_of AS value
    FROM parts
    WHERE replay_of IS NOT NULL
),
named AS (
    SELECT n, record_id AS value
    FROM parts
    WHERE record_id IN (SELECT value FROM pointers)
    UNION ALL
    SELECT i.n, i.id.value
    FROM (SELECT n, unnest(ids) AS id FROM parts WHERE (SELECT count(*) FROM pointers) > 0) AS i
    WHERE i.id.value IN (SELECT value FROM pointers)
),
shared AS (
    SELECT n, scope, value FROM shared_ids
    UNION ALL
    SELECT n, 'replay_of', value FROM pointers
    UNION ALL
    SELECT n, 'replay_of', value FROM named
),
-- An id is a node as well, with a negative number, so that a record that shares it is reached in two steps, not by pairs.
numbered AS MATERIALIZED (
    SELECT n, -dense_rank() OVER (ORDER BY scope, value) AS id
    FROM shared
),
edges AS MATERIALIZED (
    SELECT n AS node, id AS next FROM numbered
    UNION ALL
    SELECT id, n FROM numbered
),
reached(node) AS (
    SELECT DISTINCT p.n
    FROM parts AS p
    JOIN numbered AS s ON s.n = p.n
    WHERE p.on_model IS NOT FALSE
    UNION
    SELECT e.next
    FROM reached AS r
    JOIN edges AS e ON e.node = r.node
)
SELECT s.source, p.n & 1099511627775 AS line
FROM reached AS r
JOIN parts AS p ON p.n = r.node
JOIN sources AS s ON s.source_no = p.source_no
WHERE NOT p.on_model
ORDER BY p.n
