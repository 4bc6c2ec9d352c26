-- Daily energy of the days from $start_day to $end_day, both included, from the files of one generation ($files).
-- Read as "chosen" by by-source, by-device and by-device-with-totals.
SELECT day, device, source, energy_wh
FROM read_parquet($files, hive_partitioning = false)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE
