-- The days of the workgroup of the devices of "member", by source, as they were computed: "chosen" for source-day. $day_files: of the
-- generation.
SELECT day, device, source, energy_wh, method, coverage, flags, status, version, computed_at
FROM read_parquet($day_files, hive_partitioning = false)
WHERE day >= $start_day::DATE AND day <= $end_day::DATE AND device IN (SELECT device FROM member)
