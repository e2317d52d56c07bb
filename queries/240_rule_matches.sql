-- title: Records that exclusion rules match
-- question: Which records does each exclusion rule match, and is each of them within the rule's validity?
-- parameters: none
-- limits: All matchers of a rule must hold, each by any of its values; a record without the field does not match.
--   Records that are on another model, and tied to no call that may be on it, are not looked at.
--   `holds` is FALSE where the possible starts of a record straddle an edge of the validity, or are not known.
WITH candidates AS (
    SELECT *
    FROM parts
    WHERE on_model IS NOT FALSE OR n IN (SELECT n FROM members)
),
needed AS (
    SELECT rule_id, count(DISTINCT field) AS fields
    FROM rule_values
    GROUP BY rule_id
),
agents AS (
    SELECT v.rule_id, a.user_agent
    FROM rule_values AS v
    JOIN (SELECT DISTINCT user_agent FROM candidates WHERE user_agent IS NOT NULL) AS a
      ON lower(a.user_agent) GLOB lower(v.value)
    WHERE v.field = 'user_agent'
),
hits AS (
    SELECT v.rule_id, v.field, p.n
    FROM candidates AS p
    JOIN rule_values AS v ON v.field = 'tenant' AND v.value = p.tenant
    UNION
    SELECT v.rule_id, v.field, p.n
    FROM candidates AS p
    JOIN rule_values AS v ON v.field = 'key' AND v.value = p."key"
    UNION
    SELECT v.rule_id, v.field, p.n
    FROM candidates AS p
    JOIN rule_values AS v ON v.field = 'user' AND v.value = p."user"
    UNION
    SELECT v.rule_id, v.field, p.n
    FROM candidates AS p
    JOIN rule_values AS v ON v.field = 'request_id' AND v.value = p.record_id
    UNION
    SELECT v.rule_id, v.field, i.n
    FROM (
        SELECT n, unnest(ids) AS id
        FROM candidates
        WHERE (SELECT count(*) FROM rule_values WHERE field = 'request_id') > 0
    ) AS i
    JOIN rule_values AS v ON v.field = 'request_id' AND v.value = i.id.value
    UNION
    SELECT v.rule_id, v.field, t.n
    FROM (
        SELECT n, unnest(tags) AS tag
        FROM candidates
        WHERE (SELECT count(*) FROM rule_values WHERE field = 'tag') > 0
    ) AS t
    JOIN rule_values AS v ON v.field = 'tag' AND v.value = t.tag
    UNION
    SELECT a.rule_id, 'user_agent', p.n
    FROM candidates AS p
    JOIN agents AS a ON a.user_agent = p.user_agent
    UNION
    SELECT i.rule_id, 'client_ip', p.n
    FROM candidates AS p
    JOIN rule_ips AS i ON i.client_ip = p.client_ip
),
matched AS (
    SELECT h.rule_id, h.n
    FROM hits AS h
    JOIN needed AS d ON d.rule_id = h.rule_id
    GROUP BY h.rule_id, h.n
    HAVING count(DISTINCT h.field) = any_value(d.fields)
),
placed AS (
    SELECT
        m.rule_id, r.ordinal, m.n,
        (r.valid_from IS NULL OR p.started_earliest >= r.valid_from)
        AND (r.valid_until IS NULL OR p.started_latest < r.valid_until) AS inside,
        coalesce(p.started_latest < r.valid_from, FALSE) OR coalesce(p.started_earliest >= r.valid_until, FALSE) AS apart
    FROM matched AS m
    JOIN rules AS r ON r.rule_id = m.rule_id
    JOIN parts AS p ON p.n = m.n
)
SELECT rule_id, ordinal, n, coalesce(inside, FALSE) AS holds
FROM placed
WHERE coalesce(inside, FALSE) OR NOT apart
