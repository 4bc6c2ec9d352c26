-- The quarantined items of one month ($start_ms, $end_ms: a half-open window of quarantine times) among the rows from $from_row up
-- to, not including, $to_row.
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
WHERE rowid >= $from_row::BIGINT AND rowid < $to_row::BIGINT
  AND quarantined_at_ms >= $start_ms::BIGINT AND quarantined_at_ms < $end_ms::BIGINT
ORDER BY device, event_time_ms, stream_offset, field
