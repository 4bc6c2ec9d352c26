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
  json_extract(energy_stream.settings, '$.position')::INTEGER AS position,
  count(DISTINCT series.series_id)::INTEGER AS series_count,
  max(interval_energy.last_value) AS highest_wh
FROM energy_stream
LEFT JOIN series USING (stream_id)
LEFT JOIN interval_energy
  ON interval_energy.series_id = series.series_id
  AND interval_energy.interval_start_ms > (SELECT max(last_ms) FROM series) - $newest_ms::BIGINT
  AND json_extract(energy_stream.settings, '$.modulus') IS NOT NULL
WHERE energy_stream.settings IS NOT NULL
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
--   text         a received value with this reason
WITH rejection AS (
  -- The rejected readings, with the table of their first sample.
  SELECT rejected_reading.field, rejected_reading.device, rejected_reading.source, rejected_reading.reason,
    rejected_reading.readings, rejected_reading.samples[1]."text" AS text, name.name AS table_name
  FROM rejected_reading
  LEFT JOIN message
    ON message.batch_id = rejected_reading.samples[1].batch_id
    AND message.stream_offset = rejected_reading.samples[1].stream_offset
  LEFT JOIN name ON name.name_id = message.table_id
  WHERE rejected_reading.reason <> 'null' AND rejected_reading.device IS NOT NULL
)
SELECT rejected.table_name, rejected.field, rejected.device::VARCHAR AS device, rejected.source,
  max_by(rejected.reason, rejected.readings) AS reason, sum(rejected.readings)::DOUBLE AS readings,
  max_by({'text': rejected.text}, rejected.readings)['text'] AS text
FROM (
  SELECT table_name, field, device, source, reason, sum(readings) AS readings, min(text) AS text
  FROM rejection
  GROUP BY table_name, field, device, source, reason
) AS rejected
WHERE NOT EXISTS (
  SELECT 1 FROM series JOIN energy_stream USING (stream_id)
  WHERE series.device = rejected.device
    AND (series.source = rejected.source OR json_extract_string(energy_stream.identity, '$.as') IS NOT NULL)
    AND json_extract_string(energy_stream.identity, '$.field') = rejected.field
    AND coalesce(json_extract_string(energy_stream.identity, '$.table') = rejected.table_name, true)
)
GROUP BY rejected.table_name, rejected.field, rejected.device, rejected.source
ORDER BY readings DESC, rejected.field, rejected.device, rejected.source
LIMIT $rows_max::BIGINT;

-- name: find_tables
-- Returns the tables of the kept telemetry with their message counts, those with names similar to $table
-- first.
SELECT name.name AS table_name, counted.message_count::DOUBLE AS messages
FROM (SELECT table_id, count(*) AS message_count FROM message WHERE kind = 0 GROUP BY table_id) AS counted
JOIN name ON name.name_id = counted.table_id
ORDER BY jaro_winkler_similarity(lower(name.name), lower($table)) DESC, name.name;

-- name: find_fields
-- Returns the fields of the newest kept messages of a table ($table), those with names similar to $field
-- first.
WITH newest AS (
  -- The newest messages of the table.
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
-- Returns sources that two streams of a table fill: one by `as`, the other because its messages name them.
-- Columns:
--   position                of the stream with as
--   source
--   device                  the first one with readings of the other stream
--   field, other_position   of the other stream, the first of several
SELECT position, source, clash.device, clash.field, clash.position AS other_position
FROM (
  SELECT json_extract(own.settings, '$.position')::INTEGER AS position, series.source,
    min({
      position: json_extract(other.settings, '$.position')::INTEGER,
      device: series.device::VARCHAR,
      field: json_extract_string(other.settings, '$.field')
    }) AS clash
  FROM energy_stream AS own
  JOIN energy_stream AS other ON other.settings IS NOT NULL AND json_extract_string(other.settings, '$.as') IS NULL
    AND json_extract_string(other.settings, '$.table') = json_extract_string(own.settings, '$.table')
  JOIN series ON series.stream_id = other.stream_id AND series.source = json_extract_string(own.settings, '$.as')
  WHERE own.settings IS NOT NULL
  GROUP BY position, series.source
)
ORDER BY position;

-- name: find_merged_sources
-- Returns devices whose newest messages name several sources with a field ($table, $field) that is booked as
-- one source. The readings of several registers would be mixed.
WITH newest AS (
  -- The newest messages of the table.
  SELECT device, source_id, field_ids, other FROM message
  WHERE kind = 0 AND device IS NOT NULL AND table_id = (SELECT name_id FROM name WHERE name = $table)
  ORDER BY batch_id DESC, stream_offset DESC
  LIMIT $messages_max::BIGINT
)
SELECT newest.device::VARCHAR AS device, list_sort(list(DISTINCT coalesce(name.name, 'default'))) AS sources
FROM newest
LEFT JOIN name ON name.name_id = newest.source_id
WHERE list_contains(newest.field_ids, (SELECT name_id FROM name WHERE name = $field))
  OR list_contains(json_keys(newest.other), $field)
GROUP BY newest.device
HAVING count(DISTINCT coalesce(name.name, 'default')) > 1
ORDER BY device
LIMIT $devices_max::BIGINT;
