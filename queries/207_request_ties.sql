-- title: Ties by ids of a request
-- question: Which calls of different sources, or of a parent and a child span, share an id of their request?
-- parameters: none
-- limits: Such an id can span retries and whole conversations. A source takes part with its only call, or with the only
--   one that did not fail; calls whose own ids differ are not tied; and where it stays ambiguous, nothing is.
WITH members AS (
    SELECT n, label AS call FROM labels WHERE label IN (SELECT call FROM contested_ids)
    UNION
    SELECT n, call FROM contested_ids
),
fates AS (
    SELECT m.call, coalesce(NOT bool_or(p.served), FALSE) AS failed
    FROM members AS m
    JOIN parts AS p ON p.n = m.n
    GROUP BY m.call
),
own AS (
    SELECT DISTINCT
        m.call,
        CASE u.id.kind
            WHEN 'request_id' THEN 'request_id:' || p.format
            WHEN 'upstream_id' THEN 'response_id'
            ELSE u.id.kind
        END AS scope,
        u.id.value AS value
    FROM members AS m
    JOIN parts AS p ON p.n = m.n
    CROSS JOIN unnest(p.ids) AS u(id)
    WHERE u.id.kind IN ('cf_aig_log_id', 'cf_ai_req_id', 'response_id', 'cf_ray', 'upstream_id', 'request_id')
      -- The stored answer's ids of a replay are another call's.
      AND NOT (p.from_cache IS TRUE AND u.id.kind IN ('cf_ai_req_id', 'response_id', 'upstream_id'))
),
per_source AS (
    SELECT DISTINCT h.kind || '=' || h.value AS k, h.source_no, h.call, f.failed
    FROM contested_ids AS h
    JOIN fates AS f ON f.call = h.call
    WHERE h.kind NOT IN ('span_id', 'parent_span_id')
),
counted AS (
    SELECT
        k, call, failed,
        count(*) OVER (PARTITION BY k, source_no) AS calls,
        count(*) FILTER (NOT failed) OVER (PARTITION BY k, source_no) AS live
    FROM per_source
),
chosen AS (
    SELECT DISTINCT k, call, failed
    FROM counted
    WHERE calls = 1 OR (live = 1 AND NOT failed)
),
spans AS MATERIALIZED (
    SELECT s.kind, s.call, t.value AS trace, s.value AS span
    FROM contested_ids AS s
    JOIN contested_ids AS t ON t.n = s.n AND t.kind = 'trace_id'
    WHERE s.kind IN ('span_id', 'parent_span_id')
),
families AS (
    SELECT DISTINCT 'family=' || p.trace || '=' || p.span AS k, p.call AS parent, c.call AS child, f.failed
    FROM spans AS p
    JOIN spans AS c ON c.trace = p.trace AND c.span = p.span AND c.kind = 'parent_span_id'
    JOIN fates AS f ON f.call = c.call
    WHERE p.kind = 'span_id'
),
pairs AS (
    SELECT a.k, a.call AS one, b.call AS other, a.failed OR b.failed AS with_failed
    FROM chosen AS a
    JOIN chosen AS b ON b.k = a.k AND a.call < b.call
    UNION
    SELECT k, parent, child, failed
    FROM families
    WHERE parent <> child
),
-- Kept apart, or the kinds of ids, of which there are few, would be joined before the calls.
facing AS MATERIALIZED (
    SELECT p.k, p.one, p.other, p.with_failed, x.scope, x.value
    FROM pairs AS p
    JOIN own AS x ON x.call = p.one
),
clashes AS (
    SELECT f.k, f.one, f.other, f.with_failed
    FROM facing AS f
    JOIN own AS y ON y.call = f.other AND y.scope = f.scope
    GROUP BY f.k, f.one, f.other, f.with_failed, f.scope
    HAVING NOT bool_or(f.value = y.value)
),
across AS (
    SELECT c.k, c.call
    FROM chosen AS c
    WHERE NOT (c.failed AND c.k IN (SELECT k FROM clashes))
      AND c.k NOT IN (SELECT k FROM clashes WHERE NOT with_failed)
),
-- A parent with several live children sums them up; it joins the first, so that the children stay different calls.
related AS (
    SELECT
        f.k, f.parent, f.child, f.failed,
        row_number() OVER (PARTITION BY f.k, f.parent ORDER BY f.failed, f.child) AS place,
        count(*) OVER (PARTITION BY f.k, f.parent) AS children
    FROM families AS f
    ANTI JOIN clashes AS x ON x.k = f.k AND x.one = f.parent AND x.other = f.child
    WHERE (f.k, f.parent) NOT IN (SELECT (k, parent) FROM families WHERE parent = child)
),
found AS (
    SELECT k, call FROM across
    UNION
    SELECT k || '=' || parent, unnest([parent, child])
    FROM related
    WHERE place = 1 AND (NOT failed OR children = 1)
)
SELECT k, call AS n
FROM found
WHERE k IN (SELECT k FROM found GROUP BY k HAVING min(call) < max(call))
