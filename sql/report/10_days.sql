-- 10 Days: the days of an answer.
--
-- Reads   files of daily_energy of one generation of the lake; role_day (see balance/find_role_days);
--         rise_fall (see balance/sum_rise_fall).
-- Writes  chosen, counted, source_day and the inputs of rise_fall. Each is a step of one WITH clause, whose
--         last SELECT is in a later chapter. Energy in Wh.
-- Why     All answers about days begin with the same rows.
--
-- chooseDays of src/report/day-report.ts composes the statement. For devices it is:
--   WITH chosen AS (select_days),
--     device_source AS (the file of the generation), role_day AS (balance/find_role_days),
--     counted AS (select_counted),
--     rise_fall AS (balance/sum_rise_fall, over select_split_days and select_own_days),
--     source_day AS (select_source_day), device_day AS (balance/sum_device_day)
--   the statement of the report, such as answer_by_device

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
-- Selects the sources and days of role_day whose rise or fall alone counts for the device.
-- balance/find_read_from reads it as "wanted".
SELECT device, source, day AS own_day FROM role_day WHERE part <> 'whole';

-- name: select_own_days
-- Selects the local days of the workgroup. $own_days, $own_starts_ms, $own_ends_ms: from the time zone
-- database. balance/find_own_slot reads it as "own_day".
SELECT unnest($own_days::VARCHAR[])::DATE AS day, unnest($own_starts_ms::BIGINT[]) AS start_ms,
  unnest($own_ends_ms::BIGINT[]) AS end_ms;

-- name: select_source_day
-- Selects the rows of role_day in the form of balance/sum_device_day. Reads role_day and rise_fall (see
-- balance/sum_rise_fall).
SELECT role_day.*, role_day.day AS reported_day, rise_fall.rise_wh, rise_fall.fall_wh, [role_day.method] AS methods
FROM role_day
LEFT JOIN rise_fall
  ON rise_fall.day = role_day.day AND rise_fall.device = role_day.device AND rise_fall.source = role_day.source;

-- name: select_counted
-- Selects the rows of role_day that count for their device, with the part that counts.
SELECT * FROM role_day WHERE counts;
