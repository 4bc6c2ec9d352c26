-- 10 Days: the days that an answer is made of.
--
-- Reads   files of daily_energy of one generation of the lake; device_source (see balance/find_device_source); rise_fall (see
--         balance/sum_rise_fall).
-- Writes  chosen, counted, source_day and the inputs of rise_fall: tables of the statement whose end a later chapter is. Energy in Wh.
-- Why     All answers about days begin with the same rows, whatever they make of them.

-- name: select_days
-- Daily energy of the days from $start_day to $end_day, both included, from the files of one generation ($files).
-- A day lies in one file, sorted by device and source, so that file_row_number is its order.
-- Read as "chosen" by the statements that make answers of it.
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at, file_row_number
FROM read_parquet($files, hive_partitioning = false, file_row_number = true)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE

-- name: select_days_of_devices
-- As select_days, of some devices only ($devices, a list of UUIDs as text).
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at, file_row_number
FROM read_parquet($files, hive_partitioning = false, file_row_number = true)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE AND device IN (SELECT unnest($devices::UUID[]))

-- name: count_values
-- How many values "chosen" has.
SELECT count(*)::DOUBLE AS value_count FROM chosen

-- name: select_split_days
-- The sources and days of "chosen" whose device counts a part of them. Reads chosen; device_source. Read as "wanted" by balance/find_read_from.
SELECT c.device, c.source, c.day AS own_day
FROM chosen c
JOIN device_source s ON s.device = c.device AND s.source = c.source
  AND (s.valid_from IS NULL OR c.day >= s.valid_from) AND (s.valid_to IS NULL OR c.day <= s.valid_to)
WHERE s.counts AND s.part <> 'whole'

-- name: select_own_days
-- Local days of the workgroup. $own_days, $own_starts_ms, $own_ends_ms: from the tz database. Read as "own_day" by balance/find_own_slot.
SELECT unnest($own_days::VARCHAR[])::DATE AS day, unnest($own_starts_ms::BIGINT[]) AS start_ms, unnest($own_ends_ms::BIGINT[]) AS end_ms

-- name: select_source_day
-- The rows of "chosen" as balance/sum_device_day reads them. Reads chosen; rise_fall (see balance/sum_rise_fall).
SELECT c.day, c.day AS reported_day, c.device, c.source, c.energy_wh, r.rise_wh, r.fall_wh, [c.method] AS methods, c.flags, c.coverage, c.status, c.version, c.computed_at
FROM chosen c
LEFT JOIN rise_fall r ON r.day = c.day AND r.device = c.device AND r.source = c.source

-- name: select_counted
-- The rows of "chosen" that count in their device, each with the part of it that does. Reads chosen; device_source (see
-- balance/find_device_source); what that does not know counts as a whole.
SELECT c.*, coalesce(s.part, 'whole') AS part
FROM chosen c
LEFT JOIN device_source s ON s.device = c.device AND s.source = c.source
  AND (s.valid_from IS NULL OR c.day >= s.valid_from) AND (s.valid_to IS NULL OR c.day <= s.valid_to)
WHERE coalesce(s.counts, true)
