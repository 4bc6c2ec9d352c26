-- 70 Quarantine: messages and readings that could not be used, with the reason.
--
-- Reads   quarantine, rejected_reading.
-- Writes  nothing. Returns the rows of the datasets quarantine (one for each message) and rejected_reading
--         (one for each day, import, device, source, field and reason).
-- Why     Nothing is lost silently.

-- name: count_quarantine
-- Counts the new quarantined messages by month (UTC) of their quarantine, in the batches after
-- $after_batch_id up to $through_batch_id.
SELECT strftime(make_timestamp_ms(quarantined_at_ms), '%Y-%m') AS month, count(*)::DOUBLE AS row_count
FROM quarantine
WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
GROUP BY ALL
ORDER BY ALL;

-- name: select_quarantine
-- Selects the quarantined messages of one month ($start_ms, $end_ms: range of quarantine times, end excluded)
-- in the batches after $after_batch_id up to $through_batch_id.
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
ORDER BY device, event_time_ms, stream_offset, field;

-- name: find_rejected_days
-- Returns every UTC day on which readings were rejected, YYYY-MM-DD.
SELECT day::VARCHAR AS day
FROM (SELECT DISTINCT make_timestamp_ms(day_start_ms)::DATE AS day FROM rejected_reading)
ORDER BY day;

-- name: count_rejected
-- Counts the rows of rejected_reading from $start_ms up to $end_ms (excluded).
SELECT count(*)::DOUBLE AS row_count
FROM rejected_reading
WHERE day_start_ms >= $start_ms::BIGINT AND day_start_ms < $end_ms::BIGINT;

-- name: select_rejected_readings
-- Selects the rejected readings of UTC days from $start_ms up to $end_ms (excluded): one row for each day,
-- import, device, source, field and reason.
-- Columns:
--   day, device, source, field, reason
--   readings    how many
--   first_event_time, last_event_time
--   samples     some of them, with the value as received
--   import_id   null: from the stream
SELECT
  make_timestamp_ms(day_start_ms)::DATE AS day,
  device,
  source,
  field,
  reason,
  readings,
  make_timestamptz(first_ms * 1000) AS first_event_time,
  make_timestamptz(last_ms * 1000) AS last_event_time,
  list_transform(samples, lambda sample: {
    'event_time': make_timestamptz(sample.event_time_ms * 1000), 'stream_offset': sample.stream_offset,
    'value': sample."text",
    'batch_id': sample.batch_id
  }) AS samples,
  nullif(import_id, 0) AS import_id
FROM rejected_reading
WHERE day_start_ms >= $start_ms::BIGINT AND day_start_ms < $end_ms::BIGINT
ORDER BY day_start_ms, device, source, field, reason, import_id;
