-- title: Affected calls that may be one
-- question: Which pairs of affected calls does nothing in their records tell apart?
-- parameters: most
-- limits: Told apart by different ids of a kind that names a call (in one format of any kind but traces), by tenants, by
--   sizes, by starts more than 2 s apart, and in one format by key, user or address. At most `most` pairs: one more than
--   allowed says that there are too many to look at.
WITH sure AS (
    SELECT
        f.n, f.call, f.tenant, f.format, f."key", f."user", f.client_ip, f.started_earliest, f.started_latest,
        f.prompt_tokens_min AS low, coalesce(f.prompt_tokens_max, 9223372036854775807) AS high,
        list_concat(
            list_filter(
                list_transform(f.ids, lambda i: {
                    'kind': CASE
                        WHEN i.kind IN ('cf_aig_log_id', 'cf_ai_req_id', 'response_id', 'cf_ray', 'upstream_id') THEN i.kind
                        WHEN i.kind NOT IN ('trace_id', 'parent_span_id', 'cf_aig_otel_trace_id') THEN i.kind || ':' || f.format
                    END,
                    'value': i.value
                }),
                lambda i: i.kind IS NOT NULL
            ),
            CASE
                WHEN f.record_id IS NULL OR list_contains(list_transform(f.ids, lambda i: i.value), f.record_id) THEN []
                ELSE [{'kind': 'record:' || f.format, 'value': f.record_id}]
            END
        ) AS ids
    FROM flagged_calls AS f
    WHERE f.disposition = 'affected'
),
named AS (
    SELECT *, list_transform(ids, lambda i: i.kind) AS kinds FROM sure
)
SELECT a.call AS one, b.call AS other
FROM named AS a
JOIN named AS b
  ON a.started_earliest <= b.started_latest + 2000000
 AND b.started_earliest <= a.started_latest + 2000000
 AND a.n < b.n
WHERE a.low <= b.high AND b.low <= a.high
  AND coalesce(a.tenant = b.tenant, TRUE)
  AND len(list_filter(a.ids, lambda i: list_contains(b.kinds, i.kind) AND NOT list_contains(b.ids, i))) = 0
  AND NOT (
      a.format = b.format
      AND coalesce(a."key" <> b."key" OR a."user" <> b."user" OR a.client_ip <> b.client_ip, FALSE)
  )
ORDER BY one, other
LIMIT $most::BIGINT
