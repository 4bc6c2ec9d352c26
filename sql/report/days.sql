-- Daily energy of the days from $start_day to $end_day, both included, from the files of one generation ($files).
-- A day lies in one file, sorted by device and source, so that file_row_number is its order.
-- Read as "chosen" by the statements that make answers of it.
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at, file_row_number
FROM read_parquet($files, hive_partitioning = false, file_row_number = true)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE
