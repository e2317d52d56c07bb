-- title: Strata by sampling rate
-- question: How many calls are affected, and how many flagged at all, for each rate at which they were logged?
-- parameters: none
-- limits: Excluded calls are not counted. A call that a complete log has too is in the stratum of rate 1.
SELECT
    rate,
    count(*) FILTER (disposition = 'affected') AS observed,
    count(*) FILTER (disposition <> 'excluded') AS flagged,
    count(DISTINCT tenant) FILTER (disposition = 'affected') AS tenants,
    count(DISTINCT tenant) FILTER (disposition <> 'excluded') AS flagged_tenants
FROM flagged_calls
GROUP BY rate
ORDER BY rate DESC
