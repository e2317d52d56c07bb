-- title: Calls by the tenants that an alias file names
-- question: Which tenant does each call belong to, once keys, users and accounts stand for tenants?
-- parameters: none
-- limits: The log's own tenant is looked up first, then key, then user, in the carrier before the other records of the
--   call. A call that no alias fits keeps the name of the log.
WITH found AS (
    SELECT m.call, a.tenant, m.n <> c.carrier AS other, a.rank, m.n
    FROM members AS m
    JOIN calls AS c ON c.call = m.call
    JOIN parts AS p ON p.n = m.n
    JOIN aliases AS a
      ON (a.kind = 'account' AND a.value = p.tenant)
      OR (a.kind = 'key' AND a.value = p."key")
      OR (a.kind = 'user' AND a.value = p."user")
),
best AS (
    SELECT call, min_by(tenant, (other, rank, n)) AS tenant
    FROM found
    GROUP BY call
)
SELECT c.* REPLACE (coalesce(b.tenant, c.tenant) AS tenant)
FROM calls AS c
LEFT JOIN best AS b ON b.call = c.call
