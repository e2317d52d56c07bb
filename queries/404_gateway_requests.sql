-- title: Requests that the gateway and decode both saw
-- question: Which line of the gateway is about which handed-over request?
-- parameters: none
-- limits: The gateway's request id is not the engine's and it prints no room, so they are tied by time alone: the first
--   token within two seconds, the time to it within a tenth of a second and a twentieth. Only where each fits one other.
WITH pairs AS (
    SELECT g.rid AS gateway_id, g.source, g.line, g.status, g.latency_us, r.room
    FROM engine_records AS g
    JOIN rooms AS r
        ON g.utc_us BETWEEN r.first_token_us - 2000000 AND r.first_token_us + 2000000
        AND abs(g.latency_us - (r.first_token_us - r.received_us)) <= 100000 + g.latency_us // 20
    WHERE g.kind = 'gateway_end'
)
SELECT room, gateway_id, status, latency_us, source, line
FROM pairs
QUALIFY count(*) OVER (PARTITION BY room) = 1 AND count(*) OVER (PARTITION BY gateway_id) = 1
ORDER BY room
