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
SELECT bt.batch_id::DOUBLE AS batch_id
FROM import_file
JOIN batch bt ON bt.batch_id BETWEEN import_file.import_id * $batches_max::BIGINT + 1 AND import_file.last_batch_id
WHERE import_file.state = 'landed' AND list_contains($import_ids::BIGINT[], import_file.import_id)
ORDER BY bt.batch_id;

-- name: find_range
-- Returns the first and last event time of some batches ($batches), and their number of devices; nulls if
-- there are none. It reads the messages, or the used readings if the messages are no longer kept.
WITH own AS (
  -- The messages and readings of the batches.
  SELECT event_time_ms, device FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
  UNION ALL BY NAME
  SELECT rd.event_time_ms, se.device
  FROM reading rd
  JOIN series se USING (series_id)
  WHERE rd.batch_id IN (SELECT unnest($batches::BIGINT[]))
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
  SELECT nm.name AS field, count(*) AS value_count
  FROM (SELECT unnest(field_ids) AS name_id FROM own) JOIN name nm USING (name_id)
  GROUP BY nm.name
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
SELECT json_extract(es.settings, '$.position')::INTEGER AS position, count(*)::DOUBLE AS readings
FROM reading rd
JOIN series se USING (series_id)
JOIN energy_stream es USING (stream_id)
WHERE rd.batch_id IN (SELECT unnest($batches::BIGINT[])) AND es.settings IS NOT NULL
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
  SELECT message.device, coalesce(nm.name, 'default') AS source
  FROM message LEFT JOIN name nm ON nm.name_id = message.source_id
  WHERE message.batch_id IN (SELECT unnest($batches::BIGINT[])) AND message.kind = 0
  UNION
  SELECT se.device, se.source
  FROM reading rd
  JOIN series se USING (series_id)
  WHERE rd.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT strftime(de.day, '%Y-%m') AS month, de.source, sum(de.energy_wh)::DOUBLE AS energy_wh,
  count(DISTINCT de.device)::DOUBLE AS devices, count(DISTINCT de.day)::DOUBLE AS days
FROM daily_energy de
JOIN own USING (device, source)
WHERE de.day BETWEEN $first_day::DATE AND $last_day::DATE
GROUP BY month, de.source
ORDER BY month, de.source;
