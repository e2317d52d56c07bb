-- title: How many requests each side saw
-- question: How many requests do prefill, decode and gateway speak of, and how many are joined?
-- parameters: none
-- limits: Prefill and decode are joined by room, which is certain; the gateway by time, which is not.
SELECT
    (SELECT count(*) FROM rooms WHERE prefill_rid IS NOT NULL) AS on_prefill,
    (SELECT count(*) FROM rooms WHERE decode_rid IS NOT NULL) AS on_decode,
    (SELECT count(*) FROM rooms WHERE prefill_rid IS NOT NULL AND decode_rid IS NOT NULL) AS on_both,
    (SELECT count(*) FROM engine_records WHERE kind = 'gateway_end') AS at_gateway,
    (SELECT count(*) FROM gateway_requests) AS joined_to_gateway,
    (SELECT count(*) FROM engine_records WHERE kind = 'prefill_batch') AS prefill_batches
