-- title: Requests handed over, without a decode record
-- question: Of which requests does prefill speak and decode does not?
-- parameters: none
-- limits: Shows what the decode logs lack only where prefill logs are whole; a request that decode refused is here too.
SELECT room, prefill_rid, prefill_node, prefill_tokens
FROM rooms
WHERE decode_rid IS NULL AND prefill_rid IS NOT NULL
ORDER BY room
