-- title: Records without the zones that were stated
-- question: When may each record have started, had nobody stated the zone of its log?
-- parameters: none
-- limits: Only times that a stated zone settled become wider.
SELECT
    r.* REPLACE (
        coalesce(r.unzoned_earliest, r.started_earliest) AS started_earliest,
        coalesce(r.unzoned_latest, r.started_latest) AS started_latest
    )
FROM varied_records AS r
