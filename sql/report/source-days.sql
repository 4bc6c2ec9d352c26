-- The days of the workgroup of the devices of "member", by source, as they were computed. $day_files: of the generation.
SELECT day, device, source, energy_wh, coverage, flags, version
FROM read_parquet($day_files, hive_partitioning = false)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE AND device IN (SELECT device FROM member)
