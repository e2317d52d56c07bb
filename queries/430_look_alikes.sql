-- title: What looks like it and is not
-- question: Which lines look like the bug and are something else?
-- parameters: none
-- limits: Rejections by decode and capacity checks end in an abort. Transport failures belong to another hazard (a late write
--   into pages that were given away) that no prompt length bounds.
SELECT
    kind,
    CASE
        WHEN kind IN ('transfer_failed', 'metadata_collision') THEN 'another hazard: late or misdirected transfers'
        WHEN kind = 'index_mismatch' THEN 'the transfer failed, so nothing leaked'
        ELSE 'refused, so nothing leaked'
    END AS reading,
    count(*) AS lines,
    min(source) AS source,
    arg_min(line, (source, line)) AS line
FROM engine_records
WHERE kind IN (
    'decode_rejected', 'queue_capacity', 'metadata_collision', 'transfer_failed', 'context_refused', 'index_mismatch'
)
GROUP BY kind
ORDER BY kind
