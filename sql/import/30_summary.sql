-- 30 Summary: the results of imports.
--
-- Reads   import_file, batch, message, reading, rejected_reading, daily_energy, series, energy_stream, name.
-- Writes  nothing. Energy in Wh, instants in ms since 1970.
-- Why     A person sees at once whether the file was read correctly: its fields, days and devices, and the
--         energy.

-- name: find_newest
-- Returns the newest imports that count and landed since $since_ms; at most $imports_max.
SELECT import_id::DOUBLE AS import_id, path, table_name, rows_landed::DOUBLE AS rows_landed, rows_rejected::DOUBLE AS rows_rejected,
  updated_at_ms::DOUBLE AS landed_at_ms
FROM import_file
WHERE state = 'landed' AND updated_at_ms >= $since_ms::BIGINT
ORDER BY import_id DESC
LIMIT $imports_max;

-- name: find_batches
-- Returns the batches of imports that count. $import_ids; $batches_max: number of ids that each import has.
SELECT b.batch_id::DOUBLE AS batch_id
FROM import_file f
JOIN batch b ON b.batch_id BETWEEN f.import_id * $batches_max::BIGINT + 1 AND f.last_batch_id
WHERE f.state = 'landed' AND list_contains($import_ids::BIGINT[], f.import_id)
ORDER BY b.batch_id;

-- name: find_range
-- Returns the first and last event time of some batches ($batches), and their number of devices; nulls if
-- there are none. It reads the messages, or the used readings if the messages are no longer kept.
WITH own AS (
  SELECT event_time_ms, device FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
  UNION ALL
  SELECT r.event_time_ms, s.device FROM reading r JOIN series s USING (series_id) WHERE r.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT min(event_time_ms)::DOUBLE AS first_ms, max(event_time_ms)::DOUBLE AS last_ms, count(DISTINCT device)::DOUBLE AS devices FROM own;

-- name: count_fields
-- Returns the fields of the messages of some batches ($batches), with the number of numeric and other values;
-- no rows if the messages are no longer kept.
WITH own AS (
  SELECT field_ids, other FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
)
SELECT field, sum(value_count)::DOUBLE AS value_count
FROM (
  SELECT n.name AS field, count(*) AS value_count
  FROM (SELECT unnest(field_ids) AS name_id FROM own) JOIN name n USING (name_id)
  GROUP BY n.name
  UNION ALL
  SELECT field, count(*) FROM (SELECT unnest(try(json_keys(other))) AS field FROM own WHERE other IS NOT NULL) GROUP BY field
)
GROUP BY field
ORDER BY field;

-- name: count_readings
-- Counts the used readings of some batches ($batches) by the configured energy stream. A reading that another
-- one of the same device, source and instant replaces is not used.
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, count(*)::DOUBLE AS readings
FROM reading r
JOIN series s USING (series_id)
JOIN energy_stream e USING (stream_id)
WHERE r.batch_id IN (SELECT unnest($batches::BIGINT[])) AND e.settings IS NOT NULL
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
  SELECT m.device, coalesce(n.name, 'default') AS source
  FROM message m LEFT JOIN name n ON n.name_id = m.source_id
  WHERE m.batch_id IN (SELECT unnest($batches::BIGINT[])) AND m.kind = 0
  UNION
  SELECT s.device, s.source FROM reading r JOIN series s USING (series_id) WHERE r.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT strftime(d.day, '%Y-%m') AS month, d.source, sum(d.energy_wh)::DOUBLE AS energy_wh, count(DISTINCT d.device)::DOUBLE AS devices,
  count(DISTINCT d.day)::DOUBLE AS days
FROM daily_energy d
JOIN own USING (device, source)
WHERE d.day BETWEEN $first_day::DATE AND $last_day::DATE
GROUP BY month, d.source
ORDER BY month, d.source;
