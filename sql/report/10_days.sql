-- 10 Days: the days of an answer.
--
-- Reads   files of daily_energy of one generation of the lake; device_source (see
--         balance/find_device_source); rise_fall (see balance/sum_rise_fall).
-- Writes  chosen, counted, source_day and the inputs of rise_fall. These are tables of one statement whose
--         end is a later chapter. Energy in Wh.
-- Why     All answers about days begin with the same rows.
--
-- Joins by ranges of days compare with coalesce(valid_from, ...) and not with OR: with OR, DuckDB compares
-- each day with each source. Each join repeats the condition, also in balance/sum_device_day, because the
-- published views contain these statements, and programs that read the views do not have our macros.

-- name: select_days
-- Selects daily energy from $start_day to $end_day (both included) from the files of one generation ($files).
-- A day lies in one file, sorted by device and source, so file_row_number is its order. Other statements read
-- it as "chosen".
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at, file_row_number
FROM read_parquet($files, hive_partitioning = false, file_row_number = true)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE;

-- name: count_values
-- Counts the rows of "chosen".
SELECT count(*)::DOUBLE AS value_count FROM chosen;

-- name: select_split_days
-- Selects the sources and days of "chosen" whose rise or fall alone counts for the device. Reads chosen and
-- device_source. balance/find_read_from reads it as "wanted".
SELECT chosen.device, chosen.source, chosen.day AS own_day
FROM chosen
JOIN device_source ON device_source.device = chosen.device AND device_source.source = chosen.source
  AND chosen.day >= coalesce(device_source.valid_from, DATE '-infinity')
  AND chosen.day <= coalesce(device_source.valid_to, DATE 'infinity')
WHERE device_source.counts AND device_source.part <> 'whole';

-- name: select_own_days
-- Selects the local days of the workgroup. $own_days, $own_starts_ms, $own_ends_ms: from the time zone
-- database. balance/find_own_slot reads it as "own_day".
SELECT unnest($own_days::VARCHAR[])::DATE AS day, unnest($own_starts_ms::BIGINT[]) AS start_ms,
  unnest($own_ends_ms::BIGINT[]) AS end_ms;

-- name: select_source_day
-- Selects the rows of "chosen" in the form of balance/sum_device_day. Reads chosen and rise_fall (see
-- balance/sum_rise_fall).
SELECT chosen.day, chosen.day AS reported_day, chosen.device, chosen.source, chosen.energy_wh, rise_fall.rise_wh,
  rise_fall.fall_wh,
  [chosen.method] AS methods, chosen.flags, chosen.coverage, chosen.status, chosen.version, chosen.computed_at
FROM chosen
LEFT JOIN rise_fall
  ON rise_fall.day = chosen.day AND rise_fall.device = chosen.device AND rise_fall.source = chosen.source;

-- name: select_counted
-- Selects the rows of "chosen" that count for their device, with the part that counts. Reads chosen and
-- device_source (see balance/find_device_source). A source that is not in device_source counts as a whole.
SELECT chosen.*, coalesce(device_source.part, 'whole') AS part
FROM chosen
LEFT JOIN device_source ON device_source.device = chosen.device AND device_source.source = chosen.source
  AND chosen.day >= coalesce(device_source.valid_from, DATE '-infinity')
  AND chosen.day <= coalesce(device_source.valid_to, DATE 'infinity')
WHERE coalesce(device_source.counts, true);
