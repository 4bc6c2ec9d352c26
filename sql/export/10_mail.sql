-- 10 Mail: what a mail in the morning says about devices and gaps.
--
-- Reads   day_row (the days of devices as rows, see rows/select_days_by_device); files of the lake.
-- Writes  a row for each device or gap.
-- Why     A mail has one line for each device, so all days of a device become one row here.

-- name: list_device_weeks
-- Returns one row for each device with a day in the rows. $day: the reported day. $doubtful_flags: an earlier
-- day with one of them says nothing about the usual energy.
-- Columns:
--   device
--   energies   JSON object, Wh by day, without doubtful earlier days
--   flags      of $day, separated by spaces
--   coverage   of $day; null without a row
--   last_day   the newest day before $day with energy
SELECT
  device::VARCHAR AS device,
  to_json(map_from_entries(list(row(day::VARCHAR, energy_wh)) FILTER (
    day = $day::DATE OR NOT list_has_any(flags, $doubtful_flags::VARCHAR[])
  )))::VARCHAR AS energies,
  coalesce(any_value(array_to_string(flags, ' ')) FILTER (day = $day::DATE), '') AS flags,
  any_value(coverage) FILTER (day = $day::DATE)::DOUBLE AS coverage,
  (max(day) FILTER (day < $day::DATE AND energy_wh IS NOT NULL))::VARCHAR AS last_day
FROM day_row
GROUP BY device
ORDER BY device;

-- name: list_open_gaps
-- Returns the open gaps of the stream that touch the time from $start_ms to $end_ms, the first one first,
-- at most $rows_max. A gap without times has the time at which it was found.
SELECT
  epoch_ms(coalesce(from_time, detected_at))::DOUBLE AS from_ms,
  epoch_ms(coalesce(to_time, detected_at))::DOUBLE AS to_ms,
  reason
FROM read_parquet($files, hive_partitioning = false)
WHERE closed_at IS NULL
  AND epoch_ms(coalesce(from_time, detected_at)) < $end_ms::BIGINT
  AND epoch_ms(coalesce(to_time, detected_at)) >= $start_ms::BIGINT
ORDER BY from_ms
LIMIT $rows_max::BIGINT;
