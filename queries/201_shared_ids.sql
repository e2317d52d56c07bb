-- title: Ids that several records share
-- question: Which ids occur in more than one record, and in which records?
-- parameters: none
-- limits: Equal text of the same kind only; a router's `upstream_id` is the provider's response id. A log's own id counts
--   within its format alone, and a record's identical raw bytes across sources alone, the first copy in one source with
--   the first in another.
WITH listed AS (
    SELECT n, source_no, format, id.kind AS kind, id.value AS value
    FROM (SELECT n, source_no, format, unnest(ids) AS id FROM parts)
    UNION ALL
    SELECT n, source_no, format, 'request_id', record_id
    FROM parts
    WHERE record_id IS NOT NULL
      AND NOT coalesce(list_contains(list_transform(ids, lambda i: i.value), record_id), FALSE)
),
scoped AS (
    SELECT
        n, source_no, format, kind, value,
        CASE kind
            WHEN 'request_id' THEN 'request_id:' || format
            WHEN 'parent_span_id' THEN 'span_id'
            WHEN 'upstream_id' THEN 'response_id'
            ELSE kind
        END AS scope
    FROM listed
    WHERE value <> ''
),
-- Nearly every id occurs once. Numbers are counted faster than text, so text is compared only where numbers repeat.
candidates AS (
    SELECT c.*
    FROM scoped AS c
    SEMI JOIN (
        SELECT digest
        FROM (SELECT hash(scope, value) AS digest FROM scoped)
        GROUP BY digest
        HAVING count(*) > 1
    ) AS d ON d.digest = hash(c.scope, c.value)
    -- What a log writes where it has no id must not tie strangers together.
    WHERE NOT regexp_full_match(lower(c.value), '[-0]+|null|none|nil|undefined|n/a|unknown')
),
shared AS (
    SELECT scope, value
    FROM candidates
    GROUP BY scope, value
    HAVING min(n) < max(n)
),
copies AS (
    SELECT
        n, source_no, format,
        sha256 || ':' || row_number() OVER (PARTITION BY sha256, source_no ORDER BY n) AS value
    FROM parts
    WHERE sha256 IN (
        SELECT sha256 FROM parts WHERE sha256 IS NOT NULL GROUP BY sha256 HAVING min(source_no) < max(source_no)
    )
)
SELECT DISTINCT c.n, c.source_no, c.format, c.kind, c.value, c.scope
FROM candidates AS c
SEMI JOIN shared AS s ON s.scope = c.scope AND s.value = c.value
UNION ALL
SELECT n, source_no, format, 'raw_record', value, 'raw_record'
FROM copies
