-- title: Sources read in a stated zone
-- question: Which sources have times that would be wider without the zone that somebody stated for them?
-- parameters: none
-- limits: Only records that were kept are looked at.
SELECT DISTINCT source
FROM records
WHERE unzoned_earliest IS NOT NULL OR unzoned_latest IS NOT NULL
ORDER BY source
