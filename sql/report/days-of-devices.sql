-- As days, of some devices only ($devices, a list of UUIDs as text).
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at, file_row_number
FROM read_parquet($files, hive_partitioning = false, file_row_number = true)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE AND device IN (SELECT unnest($devices::UUID[]))
