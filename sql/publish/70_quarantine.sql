-- 70 Quarantine: what could not be used, with the reason.
--
-- Reads   quarantine, rejected_reading.
-- Writes  the rows of the datasets quarantine, one for each message, and rejected_reading, one for each day, import, device, source, field and reason.
-- Why     Nothing is lost silently.

-- name: count_quarantine
-- How many quarantined messages are new, by month (UTC) of their quarantine: those of the batches after $after_batch_id, up to $through_batch_id.
SELECT strftime(make_timestamp(quarantined_at_ms * 1000), '%Y-%m') AS month, count(*)::DOUBLE AS row_count
FROM quarantine
WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
GROUP BY ALL
ORDER BY ALL;

-- name: select_quarantine
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

-- name: find_rejected_days
-- Every UTC day on which readings were rejected, by its first instant.
SELECT DISTINCT day_start_ms::DOUBLE AS day_start_ms FROM rejected_reading ORDER BY ALL;

-- name: count_rejected
-- How many rows rejected_reading has from $start_ms up to, not including, $end_ms.
SELECT count(*)::DOUBLE AS row_count FROM rejected_reading WHERE day_start_ms >= $start_ms::BIGINT AND day_start_ms < $end_ms::BIGINT;

-- name: select_rejected_readings
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
