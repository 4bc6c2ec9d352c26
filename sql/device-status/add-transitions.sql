-- The transitions among the device status messages of the batches after $after_batch_id, up to $through_batch_id.
INSERT INTO device_status (device, state, reason, event_time_ms, store_time_ms, stream_offset, batch_id)
WITH said AS (
  SELECT device, try(other->>'state') AS state, try(other->>'reason') AS reason, event_time_ms, store_time_ms, stream_offset, batch_id
  FROM message
  WHERE kind = 1 AND batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
    AND try(other->>'state') IS NOT NULL
)
SELECT s.device, s.state, s.reason, s.event_time_ms, s.store_time_ms, s.stream_offset, s.batch_id
FROM said s
LEFT JOIN device_state d USING (device)
QUALIFY s.state IS DISTINCT FROM
  coalesce(lag(s.state) OVER (PARTITION BY s.device ORDER BY s.batch_id, s.stream_offset), d.state)
ORDER BY s.batch_id, s.stream_offset;
