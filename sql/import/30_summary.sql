-- 30 Summary: the results of imports.
--
-- Reads   import_file, batch, message, reading, rejected_reading, daily_energy, series, energy_stream, name.
-- Writes  nothing. Energy in Wh, instants in ms since 1970.
-- Why     A person sees at once whether the file was read correctly: its fields, days and devices, and the
--         energy.

-- name: find_newest
-- Returns the newest imports that count and landed since $since_ms; at most $imports_max.
SELECT import_id::DOUBLE AS import_id, path, table_name, rows_landed::DOUBLE AS rows_landed,
  rows_rejected::DOUBLE AS rows_rejected, updated_at_ms::DOUBLE AS landed_at_ms
FROM import_file
WHERE state = 'landed' AND updated_at_ms >= $since_ms::BIGINT
ORDER BY import_id DESC
LIMIT $imports_max;

-- name: find_batches
-- Returns the batches of imports that count. $import_ids; $batches_max: number of ids that each import has.
SELECT batch.batch_id::DOUBLE AS batch_id
FROM import_file
JOIN batch ON batch.batch_id BETWEEN import_file.import_id * $batches_max::BIGINT + 1 AND import_file.last_batch_id
WHERE import_file.state = 'landed' AND list_contains($import_ids::BIGINT[], import_file.import_id)
ORDER BY batch.batch_id;

-- name: find_range
-- Returns the first and last event time of some batches ($batches), and their number of devices; nulls if
-- there are none. It reads the messages, or the used readings if the messages are no longer kept.
WITH own AS (
  -- The messages and readings of the batches.
  SELECT event_time_ms, device FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
  UNION ALL BY NAME
  SELECT reading.event_time_ms, series.device
  FROM reading
  JOIN series USING (series_id)
  WHERE reading.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT min(event_time_ms)::DOUBLE AS first_ms, max(event_time_ms)::DOUBLE AS last_ms,
  count(DISTINCT device)::DOUBLE AS devices
FROM own;

-- name: count_fields
-- Returns the fields of the messages of some batches ($batches), with the number of numeric and other values;
-- no rows if the messages are no longer kept.
WITH own AS (
  -- The messages of the batches.
  SELECT field_ids, other FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
)
SELECT field, sum(value_count)::DOUBLE AS value_count
FROM (
  SELECT name.name AS field, count(*) AS value_count
  FROM (SELECT unnest(field_ids) AS name_id FROM own) JOIN name USING (name_id)
  GROUP BY name.name
  UNION ALL BY NAME
  SELECT field, count(*) AS value_count
  FROM (SELECT unnest(try(json_keys(other))) AS field FROM own WHERE other IS NOT NULL)
  GROUP BY field
)
GROUP BY field
ORDER BY field;

-- name: count_readings
-- Counts the used readings of some batches ($batches) by the configured energy stream. A reading that another
-- one of the same device, source and instant replaces is not used.
SELECT json_extract(energy_stream.settings, '$.position')::INTEGER AS position, count(*)::DOUBLE AS readings
FROM reading
JOIN series USING (series_id)
JOIN energy_stream USING (stream_id)
WHERE reading.batch_id IN (SELECT unnest($batches::BIGINT[])) AND energy_stream.settings IS NOT NULL
GROUP BY position
ORDER BY position;

-- name: count_rejected
-- Counts the rejected readings of imports ($batches: their batches; $batches_max: ids reserved for an import)
-- by field and reason. A reading that several energy streams reject counts once.
SELECT field, reason, sum(readings)::DOUBLE AS readings
FROM rejected_reading
WHERE import_id IN (SELECT DISTINCT unnest($batches::BIGINT[]) // $batches_max::BIGINT)
GROUP BY field, reason
ORDER BY field, reason;

-- name: sum_energy
-- Sums the energy of the devices and sources of some batches ($batches) by month and source, on the local
-- days from $first_day to $last_day (both included).
-- Columns:
--   month     YYYY-MM
--   source, energy_wh
--   devices   number of devices with energy
--   days      number of days on which any of them has energy
WITH own AS (
  -- The devices and sources of the batches.
  SELECT message.device, coalesce(name.name, 'default') AS source
  FROM message LEFT JOIN name ON name.name_id = message.source_id
  WHERE message.batch_id IN (SELECT unnest($batches::BIGINT[])) AND message.kind = 0
  UNION
  SELECT series.device, series.source
  FROM reading
  JOIN series USING (series_id)
  WHERE reading.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT strftime(daily_energy.day, '%Y-%m') AS month, daily_energy.source,
  sum(daily_energy.energy_wh)::DOUBLE AS energy_wh,
  count(DISTINCT daily_energy.device)::DOUBLE AS devices, count(DISTINCT daily_energy.day)::DOUBLE AS days
FROM daily_energy
JOIN own USING (device, source)
WHERE daily_energy.day BETWEEN $first_day::DATE AND $last_day::DATE
GROUP BY month, daily_energy.source
ORDER BY month, daily_energy.source;
