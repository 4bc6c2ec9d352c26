-- 10 Names: tables, fields, units and sources of the configuration that the data does not contain, or
-- contains differently.
--
-- Reads   energy_stream, series, interval_energy, rejected_reading, message, name.
-- Writes  nothing. Returns one row for each stream, field, table, unit or device; energy in Wh.
-- Why     A misspelt name causes no error: its energy is just missing. So similar names are suggested.

-- name: find_streams
-- Returns the configured energy streams in order, with the number of devices and sources that have readings,
-- and the highest index of the newest $newest_ms (Wh; null if none).
SELECT
  json_extract(e.settings, '$.position')::INTEGER AS position,
  count(DISTINCT s.series_id)::INTEGER AS series_count,
  max(i.last_value) AS highest_wh
FROM energy_stream e
LEFT JOIN series s USING (stream_id)
LEFT JOIN interval_energy i ON i.series_id = s.series_id AND i.interval_start_ms > (SELECT max(last_ms) FROM series) - $newest_ms::BIGINT
  AND json_extract(e.settings, '$.modulus') IS NOT NULL
WHERE e.settings IS NOT NULL
GROUP BY position
ORDER BY position;

-- name: find_rejected
-- Returns devices and sources for which every reading of a field is rejected, so no energy stream of that
-- field has a valid one. Nulls do not count.
-- Columns:
--   table_name   of the first sample; null if its message is no longer kept: the readings then count for each
--                table with the field
--   field, device, source
--   reason       the most frequent one
--   readings     how many
--   text         a received value
WITH told AS (
  SELECT r.field, r.device, r.source, r.reason, r.readings, r.samples[1]."text" AS text, n.name AS table_name
  FROM rejected_reading r
  LEFT JOIN message m ON m.batch_id = r.samples[1].batch_id AND m.stream_offset = r.samples[1].stream_offset
  LEFT JOIN name n ON n.name_id = m.table_id
  WHERE r.reason <> 'null' AND r.device IS NOT NULL
)
SELECT q.table_name, q.field, q.device::VARCHAR AS device, q.source, max_by(q.reason, q.readings) AS reason, sum(q.readings)::DOUBLE AS readings,
  min(q.text) AS text
FROM (
  SELECT table_name, field, device, source, reason, sum(readings) AS readings, min(text) AS text
  FROM told
  GROUP BY table_name, field, device, source, reason
) AS q
WHERE NOT EXISTS (
  SELECT 1 FROM series s JOIN energy_stream e USING (stream_id)
  WHERE s.device = q.device AND (s.source = q.source OR json_extract_string(e.identity, '$.as') IS NOT NULL)
    AND json_extract_string(e.identity, '$.field') = q.field
    AND coalesce(json_extract_string(e.identity, '$.table') = q.table_name, true)
)
GROUP BY q.table_name, q.field, q.device, q.source
ORDER BY readings DESC, q.field, q.device, q.source
LIMIT $rows_max::BIGINT;

-- name: find_tables
-- Returns the tables of the kept telemetry with their message counts, those with names similar to $table
-- first.
SELECT n.name AS table_name, m.message_count::DOUBLE AS messages
FROM (SELECT table_id, count(*) AS message_count FROM message WHERE kind = 0 GROUP BY table_id) AS m
JOIN name n ON n.name_id = m.table_id
ORDER BY jaro_winkler_similarity(lower(n.name), lower($table)) DESC, n.name;

-- name: find_fields
-- Returns the fields of the newest kept messages of a table ($table), those with names similar to $field
-- first.
WITH newest AS (
  SELECT field_ids, other FROM message
  WHERE kind = 0 AND table_id = (SELECT name_id FROM name WHERE name = $table)
  ORDER BY batch_id DESC, stream_offset DESC
  LIMIT $messages_max::BIGINT
)
SELECT field FROM (
  SELECT name AS field FROM name WHERE name_id IN (SELECT DISTINCT unnest(field_ids) FROM newest)
  UNION
  SELECT DISTINCT unnest(try(json_keys(other))) FROM newest WHERE other IS NOT NULL
)
ORDER BY jaro_winkler_similarity(lower(field), lower($field)) DESC, field;

-- name: find_units
-- Returns the units that a field next to the readings names, in the newest kept messages. $table,
-- $unit_pointer: JSON pointer.
SELECT DISTINCT try(json_extract_string(other, $unit_pointer)) AS unit
FROM (
  SELECT other FROM message
  WHERE kind = 0 AND other IS NOT NULL AND table_id = (SELECT name_id FROM name WHERE name = $table)
  ORDER BY batch_id DESC, stream_offset DESC
  LIMIT $messages_max::BIGINT
)
WHERE unit IS NOT NULL
ORDER BY unit
LIMIT $units_max::BIGINT;

-- name: find_sources
-- Returns the sources of devices that have energy.
SELECT device::VARCHAR AS device, list_sort(list(DISTINCT source)) AS sources FROM series GROUP BY device;

-- name: find_source_clashes
-- Returns sources to which a stream books its energy (as) although messages of the same table name them too,
-- for another stream.
-- Columns:
--   position                of the stream with as
--   source, device
--   field, other_position   of the other stream
SELECT json_extract(own.settings, '$.position')::INTEGER AS position, s.source, min(s.device)::VARCHAR AS device,
  min(json_extract_string(other.settings, '$.field')) AS field, min(json_extract(other.settings, '$.position'))::INTEGER AS other_position
FROM energy_stream own
JOIN energy_stream other ON other.settings IS NOT NULL AND json_extract_string(other.settings, '$.as') IS NULL
  AND json_extract_string(other.settings, '$.table') = json_extract_string(own.settings, '$.table')
JOIN series s ON s.stream_id = other.stream_id AND s.source = json_extract_string(own.settings, '$.as')
WHERE own.settings IS NOT NULL
GROUP BY position, s.source
ORDER BY position;

-- name: find_merged_sources
-- Returns devices whose newest messages name several sources with a field ($table, $field) that is booked as
-- one source. The readings of several registers would be mixed.
WITH newest AS (
  SELECT device, source_id, field_ids, other FROM message
  WHERE kind = 0 AND device IS NOT NULL AND table_id = (SELECT name_id FROM name WHERE name = $table)
  ORDER BY batch_id DESC, stream_offset DESC
  LIMIT $messages_max::BIGINT
)
SELECT m.device::VARCHAR AS device, list_sort(list(DISTINCT coalesce(n.name, 'default'))) AS sources
FROM newest m
LEFT JOIN name n ON n.name_id = m.source_id
WHERE list_contains(m.field_ids, (SELECT name_id FROM name WHERE name = $field)) OR list_contains(json_keys(m.other), $field)
GROUP BY m.device
HAVING count(DISTINCT coalesce(n.name, 'default')) > 1
ORDER BY device
LIMIT $devices_max::BIGINT;
