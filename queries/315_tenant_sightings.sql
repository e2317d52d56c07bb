-- title: Sightings of each affected tenant
-- question: How many affected responses were seen of each tenant, and does only a key or user stand for it?
-- parameters: none
-- limits: Responses without a tenant are left out.
SELECT tenant, count(*) AS seen, bool_and(by_key) AS by_key
FROM flagged_calls
WHERE disposition = 'affected' AND tenant IS NOT NULL
GROUP BY tenant
ORDER BY tenant
