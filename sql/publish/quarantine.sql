-- The quarantined messages of one month ($start_ms, $end_ms: a half-open window of quarantine times) in the batches after $after_batch_id, up to
-- $through_batch_id.
SELECT
  make_timestamptz(quarantined_at_ms * 1000) AS quarantined_at,
  stage,
  reason,
  detail,
  device,
  source,
  field,
  make_timestamptz(event_time_ms * 1000) AS event_time,
  stream_offset,
  bytes,
  batch_id
FROM quarantine
WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
  AND quarantined_at_ms >= $start_ms::BIGINT AND quarantined_at_ms < $end_ms::BIGINT
ORDER BY device, event_time_ms, stream_offset, field
