-- What was rejected from $start_ms up to, not including, $end_ms: UTC days of the rejection. One row for each day, import, device, source, field
-- and reason. samples: some of them, with the value as it came.
SELECT
  make_timestamp(day_start_ms * 1000)::DATE AS day,
  device,
  source,
  field,
  reason,
  readings,
  make_timestamptz(first_ms * 1000) AS first_event_time,
  make_timestamptz(last_ms * 1000) AS last_event_time,
  list_transform(samples, lambda x: {
    'event_time': make_timestamptz(x.event_time_ms * 1000), 'stream_offset': x.stream_offset, 'value': x."text", 'batch_id': x.batch_id
  }) AS samples,
  nullif(import_id, 0) AS import_id
FROM rejected_reading
WHERE day_start_ms >= $start_ms::BIGINT AND day_start_ms < $end_ms::BIGINT
ORDER BY day_start_ms, device, source, field, reason, import_id
